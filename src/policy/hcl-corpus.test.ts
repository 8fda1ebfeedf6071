// Documents as people write them, and what becomes of them when they are damaged: thousands of mutations,
// none of which may crash, hang, or be read as something that does not survive printing.
// HOLDFAST_FUZZ_RUNS=100000 runs more of them.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { parseDocument } from "./document.ts";
import { DocumentFailure } from "./document-failure.ts";
import { type BodyShape, NO_BLOCKS } from "./document-shape.ts";
import type { Body, HclDocument, Value } from "./hcl-node.ts";
import { parseHcl } from "./hcl-parser.ts";
import { printHcl } from "./hcl-printer.ts";
import { POLICY_LIMITS, SourceText } from "./source-text.ts";

const RUNS = Number(process.env["HOLDFAST_FUZZ_RUNS"] ?? 20_000);
const LIMITS = { ...POLICY_LIMITS, bytes: 64 * 1024 * 1024 };
const SHAPE: BodyShape = new Map([
  ["path", { labels: 1, body: NO_BLOCKS }],
  ["storage", { labels: 1, body: new Map([["retry_join", { labels: 0, body: NO_BLOCKS }]]) }],
]);

const documents: Readonly<Record<string, string>> = {
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

function isJson(text: string): boolean {
  return text.trimStart().startsWith("{");
}

/** Nothing but what was said: no positions, and text in one form. */
function plain(body: Body): unknown {
  return body.items.map((item) =>
    item.kind === "block"
      ? [item.type.text, ...item.labels.map(({ text }) => text), plain(item.body)]
      : [item.key.text, "=", plainValue(item.value)],
  );
}

function plainValue(value: Value): unknown {
  if (value.kind === "object") return { object: plain(value.body) };
  if (value.kind === "list") return { list: value.elements.map(plainValue) };
  return value.kind === "bool" ? value.value : { [value.kind]: value.text };
}

function commentsOf({ notes }: HclDocument): string[] {
  const lists = [...notes.values()].flatMap(({ before, after, closing }) => [
    before,
    after,
    closing,
  ]);
  return lists
    .flat()
    .map(({ text }) => text)
    .toSorted();
}

/** Printing loses neither tree nor comments, and a second time changes nothing. */
function checkPrinting(text: string): void {
  const document = parseHcl(new SourceText(text, LIMITS));
  const printed = printHcl(document);
  const again = parseHcl(new SourceText(printed, LIMITS));
  assert.deepEqual(plain(again.body), plain(document.body));
  assert.deepEqual(commentsOf(again), commentsOf(document));
  assert.equal(printHcl(again), printed);
}

for (const [name, text] of Object.entries(documents)) {
  test(`${name}: read, and unchanged by printing`, () => {
    assert.ok(parseDocument(new SourceText(text), SHAPE).items.length > 0);
    if (!isJson(text)) checkPrinting(text);
  });
}

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

/** Milliseconds of the processor: those of a busy machine's clock would say nothing. */
function timeOf(run: () => void): number {
  const start = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
}

function readOrRefuse(text: string): boolean {
  try {
    parseDocument(new SourceText(text), SHAPE);
    return true;
  } catch (error) {
    assert.ok(error instanceof DocumentFailure, String(error));
    const { position, message } = error;
    assert.ok(position !== null && position.offset <= text.length);
    assert.ok(message.startsWith(`At ${position.line}:${position.column}: `), message);
    assert.ok(message.length < 300, message);
    return false;
  }
}

test(`of ${RUNS} damaged documents each is read or refused, with a position, in under 50 ms`, () => {
  let read = 0;
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(documents)), edits, (document, how) => {
      const text = damage(document, how);
      // A collection may fall into one run, but not into three.
      const times = [1, 2, 3].values().map(() => timeOf(() => readOrRefuse(text)));
      assert.ok(times.some((time) => time < 50));
      if (!readOrRefuse(text)) return;
      read += 1;
      if (!isJson(text.replace("\ufeff", ""))) checkPrinting(text);
    }),
    { numRuns: RUNS },
  );
  // Were all of them refused at once, nothing would have been tried.
  assert.ok(read > RUNS / 10, `${read} were read`);
});
