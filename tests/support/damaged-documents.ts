// Documents as people write them, and damaged copies of them: what the parser is tried on, and timed.

import fc from "fast-check";

export const documents: Readonly<Record<string, string>> = {
  "a policy for one application": `# Read what the shop needs, and nothing else.
path "secret/data/shop/*" {
  capabilities = ["read", "list"]
}

path "secret/metadata/shop/*" { capabilities = ["list"] }
`,
  "every key of a rule": `
name = "everything"
path "secret/data/app/*" {
  capabilities        = ["create", "update"]   # no delete
  required_parameters = ["reason"]
  allowed_parameters  = { "ttl" = ["1h", "2h"], "*" = [] }
  denied_parameters   = {
    "force": []
  }
  min_wrapping_ttl    = "1s"
  max_wrapping_ttl    = 600
  expiration          = "2030-01-01T00:00:00Z"
  comment             = "why"
}`,
  "one line": `path "a" { capabilities = ["read"] } path "b" { policy = "write" } path "b" { policy = "deny" }`,
  "wildcards and templates": `path "+/creds/*" { capabilities = ["read"] }
path "users/{{identity.entity.name}}/+/x*" { policy = "sudo" }
path "*" { capabilities = ["deny"] }`,
  "what was commented out": `path "sys/*" {
  capabilities = [
    "read",
    // "update",
    /* "delete", */ "list" # last
    # "sudo"
  ]
  # policy = "write"
}
/* path "gone/*" {
  capabilities = ["read"]
} */`,
  "bodies without =": `path "auth/token/create" {
  capabilities = ["update"]
  allowed_parameters {
    "policies" = ["dev", "ops"]
    "ttl" = []
  }
  control_group = {
    factor "ops" { identity { group_names = ["ops"], approvals = 2 } }
  }
}`,
  "text of all kinds": String.raw`path "a\u00e9\U0001F600\x41\101\"\\\n" {
  comment = "${"$"}{env:HOME} and ${"$"}{f("x", {y = 1})} {{token.name}}"
  more    = <<EOT
several "lines"
  # not a comment
EOT
  less = <<-X
      indented
        more
      X
}`,
  numbers:
    "a = [0, -1, 2.50, 1e6, -1.5E-3, 0x1F]\nb = [true, false, [], [[1], [2]], {}, { c = 1 }]",
  "a server's configuration": `api_addr = "https://vault.example:8200"
storage "raft" {
  path    = "/var/lib/holdfast"
  node_id = "a"

  retry_join { leader_api_addr = "https://b.example:8200" }
  retry_join { leader_api_addr = "https://c.example:8200" }
}
listener "tcp" {
  address = "127.0.0.1:8200"
  tls_disable = true
  custom_response_headers { "default" = { "X-Frame" = ["deny"] } }
}
audit "file" "main" { options { file_path = "/var/log/audit.log" } }
initialize "first" {
  request "policy" {
    operation = "update"
    path = "sys/policies/acl/x"
    data = { policy = <<EOP
path "x" { capabilities = ["read"] }
EOP
    }
  }
}
default_lease_ttl = "768h"
ui = true`,
  "other line ends and a BOM":
    '\ufeff# a\r\npath "x" {\r\n\tpolicy = "read"\t// b\r\n}\r\n\r\n# c\r\n',
  JSON: `{
  "name": "j",
  "path": {
    "secret/*": {"capabilities": ["read", "list"], "max_wrapping_ttl": 1.5e2},
    "a\\u00e9\\ud83d\\ude00\\/": {"allowed_parameters": {"x": [1, true, "\\n"], "*": []}}
  }
}`,
  "JSON with a path twice":
    '{"path": [{"a": {"policy": "read"}}, {"a": [{"policy": "deny"}, {}]}]}',
};

const bits = [
  ...'{ } [ ] , = : " # // /* */ \\ ${ $ <<E << <<- 0 0x1 1.5 -1 e true path "a" é 😀 \\u00e9 \\x41 \\ud800'.split(
    " ",
  ),
  ..." |\t|\n|\r\n|\r|\0|\u001b|\ufeff|\ud83d|\ude00|\nE\n|\nEOT\n|<<E\nx\nE\n".split("|"),
];
const edits = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, fc.nat(3), fc.nat(60)),
    inserted: fc.oneof(
      { arbitrary: fc.constant(""), weight: 2 },
      { arbitrary: fc.constantFrom(...bits), weight: 3 },
      fc.string({ maxLength: 4, unit: "binary" }),
    ),
    copied: fc.oneof({ arbitrary: fc.constant(0), weight: 6 }, fc.nat(80)),
  }),
  { minLength: 1, maxLength: 3 },
);

interface Edit {
  readonly at: number;
  readonly removed: number;
  readonly inserted: string;
  readonly copied: number;
}

function damage(text: string, how: readonly Edit[]): string {
  return how.reduce((current, { at, removed, inserted, copied }) => {
    const place = Math.floor(at * current.length);
    const copy = current.slice(current.length - place, current.length - place + copied);
    return current.slice(0, place) + copy + inserted + current.slice(place + removed);
  }, text);
}

/** One of the documents with one to three places damaged. */
export const damagedDocuments: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(...Object.values(documents)), edits)
  .map(([document, how]) => damage(document, how));
