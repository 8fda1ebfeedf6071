// Why a request is denied: rule, line and column, what stood in the way, who lost and why; and the
// smallest rule that would allow it, which allows it, and changes nothing else.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type AclCapability, CAPABILITIES } from "./capability.ts";
import { CompiledAcl, type CompileOptions, type PolicyInForce } from "./compile.ts";
import { type AclQuestion, decide } from "./decide.ts";
import { parseAclDocument } from "./document.ts";
import { explain, type Explanation } from "./explain.ts";

const SECOND = 1_000_000_000n;
const NOW = 1_800_000_000n * SECOND;

function policy(name: string, text: string, more: Partial<PolicyInForce> = {}): PolicyInForce {
  const document = parseAclDocument(text);
  return { name, namespaceId: "root", document, written: 10n, expires: null, ...more };
}

function compiled(texts: Record<string, string>, more: Partial<CompileOptions> = {}): CompiledAcl {
  const policies = Object.entries(texts).map(([name, text]) => policy(name, text));
  return CompiledAcl.compile(policies, { now: NOW, ...more });
}

function asking(
  capability: AclQuestion["capability"],
  path: string,
  more: Partial<AclQuestion> = {},
): AclQuestion {
  return { capability, path, sudo: false, data: {}, wrapTtl: null, ...more };
}

/** Of one policy `p` alone. */
function why(text: string, question: AclQuestion): Explanation {
  return explain(compiled({ p: text }), question);
}

test("what decides is named by policy, label, line and column", () => {
  const text = `# first
path "kv/*" {
  capabilities = ["read"]
}
  path "kv/a/*" { capabilities = ["read", "list"] }`;
  const { allowed, rule, reason } = why(text, asking("update", "kv/a/b"));
  assert.equal(allowed, false);
  assert.deepEqual(rule, {
    label: "kv/a/*",
    policies: [{ name: "p", namespaceId: "root", label: "kv/a/*", line: 5, column: 3 }],
    capabilities: ["list", "read"],
  });
  assert.equal(
    reason,
    '"kv/a/*" of policy "p" on line 5, column 3 grants list, read, but not update',
  );
});

test("a rule that several policies make together names each of their blocks", () => {
  const acl = compiled({
    one: 'path "kv/*" { capabilities = ["read"] }',
    two: '\npath "kv/*" { capabilities = ["deny"] }',
  });
  const { rule, reason } = explain(acl, asking("read", "kv/x"));
  assert.deepEqual(rule?.capabilities, ["deny"]);
  assert.deepEqual(
    rule?.policies.map(({ name, line }) => [name, line]),
    [
      ["one", 1],
      ["two", 2],
    ],
  );
  assert.match(reason, /^"kv\/\*" of policy "one" .* \(and one more block\) denies everything$/);
});

test("what is allowed says which rule grants it, and needs no suggestion", () => {
  const { allowed, reason, suggestion } = why(
    'path "s" { capabilities = ["read", "sudo"] }',
    asking("read", "s", { sudo: true }),
  );
  assert.deepEqual([allowed, suggestion], [true, null]);
  assert.equal(reason, '"s" of policy "p" on line 1, column 1 grants read and sudo');
});

const AT = '"p" of policy "p" on line 1, column 1';
const reasons: readonly [
  says: string,
  body: string,
  reason: string,
  question: Partial<AclQuestion>,
][] = [
  ["a deny", 'capabilities = ["read", "deny"]', `${AT} denies everything`, {}],
  ["nothing granted", "", `${AT} grants nothing, but not update`, {}],
  [
    "no sudo",
    'policy = "write"',
    `${AT} grants create, delete, list, read, update, but this path needs sudo besides`,
    { sudo: true },
  ],
  [
    "no wrapping",
    'policy = "write" min_wrapping_ttl = "1s"',
    `${AT}: the answer must be wrapped (min_wrapping_ttl 1s), and no wrapping was asked for`,
    {},
  ],
  [
    "no wrapping, with a maximum",
    'policy = "write" max_wrapping_ttl = "90s"',
    `${AT}: the answer must be wrapped (max_wrapping_ttl 1m30s), and no wrapping was asked for`,
    {},
  ],
  [
    "wrapping too short",
    'policy = "write" min_wrapping_ttl = "10s"',
    `${AT}: wrapping for 9s is shorter than min_wrapping_ttl 10s`,
    { wrapTtl: 9n * SECOND },
  ],
  [
    "wrapping too long",
    'policy = "write" max_wrapping_ttl = "90s"',
    `${AT}: wrapping for 1m31s is longer than max_wrapping_ttl 1m30s`,
    { wrapTtl: 91n * SECOND },
  ],
  [
    "a parameter missing",
    'policy = "write" required_parameters = ["id", "Name"]',
    `${AT}: parameter "name" is missing and required_parameters names it`,
    { data: { ID: 1 } },
  ],
  [
    "any parameter",
    'policy = "write" denied_parameters = { "*" = [] }',
    `${AT}: denied_parameters has "*", so no parameter may be given, and "x" was`,
    { data: { X: 1 } },
  ],
  [
    "a denied parameter",
    'policy = "write" denied_parameters = { bar = [] }',
    `${AT}: parameter "bar" stands in denied_parameters`,
    { data: { a: 1, Bar: "secret" } },
  ],
  [
    "a denied value",
    'policy = "write" denied_parameters = { bar = ["x", "secret"] }',
    `${AT}: the value of parameter "bar" stands in denied_parameters`,
    { data: { bar: "secret" } },
  ],
  [
    "another parameter",
    'policy = "write" allowed_parameters = { bar = [] }',
    `${AT}: parameter "baz" does not stand in allowed_parameters`,
    { data: { bar: 1, baz: "secret" } },
  ],
  [
    "another value",
    'policy = "write" allowed_parameters = { bar = ["zip"] }',
    `${AT}: the value of parameter "bar" is none of those in allowed_parameters`,
    { data: { bar: "secret" } },
  ],
];
for (const [says, body, reason, question] of reasons) {
  test(`a denial for ${says} says so`, () => {
    const found = why(`path "p" { ${body} }`, asking("update", "p", question));
    assert.equal(found.allowed, false);
    assert.equal(found.reason, reason);
  });
}

test("bounds that contradict each other after merging are told as that", () => {
  const acl = compiled({
    one: 'path "p" { policy = "read" min_wrapping_ttl = "100s" }',
    two: 'path "p" { policy = "read" max_wrapping_ttl = "50s" }',
  });
  const { reason, suggestion } = explain(acl, asking("read", "p", { wrapTtl: 70n * SECOND }));
  assert.match(reason, /max_wrapping_ttl 50s is below min_wrapping_ttl 1m40s, so nothing passes$/);
  assert.match(
    suggestion?.text ?? "",
    /min_wrapping_ttl = "1m10s"\n {2}max_wrapping_ttl = "1m10s"/,
  );
});

test("where nothing matches, a rule that has expired is told", () => {
  const text = 'path "kv/*" { policy = "read" expiration = "2026-01-01T00:00:00Z" }';
  const { rule, reason, candidates } = why(text, asking("read", "kv/a"));
  assert.equal(rule, null);
  assert.equal(reason, 'no rule matches "kv/a"; of kv/*, it expired at 2026-01-01T00:00:00Z');
  assert.deepEqual(candidates, [
    {
      label: "kv/*",
      policies: [{ name: "p", namespaceId: "root", label: "kv/*", line: 1, column: 1 }],
      capabilities: ["list", "read"],
      why: "it expired at 2026-01-01T00:00:00Z",
    },
  ]);
  assert.equal(why(text, asking("read", "other")).reason, 'no rule matches "other"');
});

test("an expired policy, a label without a value and a policy older than the namespace are told", () => {
  const whys = (acl: CompiledAcl, path: string) =>
    explain(acl, asking("read", path)).candidates.map(({ why: text }) => text);
  const ended = policy("p", 'path "a" { policy = "read" }', { expires: NOW });
  assert.deepEqual(whys(CompiledAcl.compile([ended], { now: NOW }), "a"), [
    "its policy has expired",
  ]);
  const templated = compiled({ p: 'path "kv/{{token.name}}/*" { policy = "read" }' });
  assert.deepEqual(whys(templated, "kv/ann/x"), [
    "the token has no value that its label could be filled in with",
  ]);
  assert.deepEqual(whys(templated, "other"), []);
  const child = { path: "team", created: 10n };
  assert.deepEqual(whys(compiled({ p: 'path "team/*" { policy = "read" }' }, { child }), "x"), [
    'policy "p" was last written before this namespace was made',
  ]);
});

const contests: readonly [labels: readonly string[], path: string, lost: readonly string[]][] = [
  [["a/b", "a/*"], "a/b", ["a/*: an exact label decides before any pattern"]],
  [
    ["foo/bar/*", "foo/+/bar", "foo/*"],
    "foo/bar/bar",
    [
      "foo/+/bar: the weaker of the two: its first wildcard stands earlier",
      "foo/*: the weaker of the two: its first wildcard stands earlier",
    ],
  ],
  [
    ["1/2/+", "1/2/*"],
    "1/2/3",
    ["1/2/*: the weaker of the two: it ends in * and the other does not"],
  ],
  [["s/*", "s/+/p*"], "s/a/p1", ["s/+/p*: the weaker of the two: it has more + segments"]],
  [["f/+/ba*", "f/+/b*"], "f/x/baz", ["f/+/b*: the weaker of the two: it is shorter"]],
  [["f/+/b/c", "f/+/+/c"], "f/x/b/c", ["f/+/+/c: the weaker of the two: it has more + segments"]],
];
for (const [labels, path, lost] of contests) {
  test(`${labels[0]} wins ${path}, and the others are told why they lost`, () => {
    const text = labels.map((label) => `path "${label}" { policy = "read" }`).join("\n");
    const { rule, candidates } = why(text, asking("read", path));
    assert.equal(rule?.label, labels[0]);
    assert.deepEqual(
      candidates.map((other) => `${other.label}: ${other.why}`),
      lost,
    );
  });
}

test("for a list it is told who hides nobody, and which form of an exact label decides", () => {
  const text = 'path "kv/*" { capabilities = ["list"] }\npath "kv/private/*" { policy = "read" }';
  const bare = text.replace('policy = "read"', 'capabilities = ["read"]');
  const found = why(bare, asking("list", "kv/private/"));
  assert.deepEqual([found.allowed, found.rule?.label], [true, "kv/*"]);
  assert.deepEqual(
    found.candidates.map(({ label, why: reason }) => [label, reason]),
    [["kv/private/*", "it neither grants nor denies listing, and so hides nobody who does"]],
  );
  const both = 'path "a" { policy = "read" }\npath "a/" { capabilities = ["deny"] }';
  const [other] = why(both, asking("list", "a")).candidates;
  assert.equal(other?.why, "for a list the label with the slash decides first");
});

test("the losers shown are bounded", () => {
  const labels = Array.from(
    { length: 60 },
    (_, i) => `path "${"a".repeat(i)}*" { policy = "read" }`,
  );
  assert.equal(why(labels.join("\n"), asking("update", "a".repeat(60))).candidates.length, 20);
});

// --- the smallest rule ---

const suggestions: readonly [text: string, question: AclQuestion, wanted: string | null][] = [
  ["", asking("update", "secret/data/x"), 'path "secret/data/x" { capabilities = ["update"] }'],
  ["", asking("list", "secret/x"), 'path "secret/x/" { capabilities = ["list"] }'],
  ["", asking("read", "s", { sudo: true }), 'path "s" { capabilities = ["read", "sudo"] }'],
  // What held there stays.
  [
    'path "kv/*" { policy = "read" }',
    asking("update", "kv/x"),
    'path "kv/x" { capabilities = ["list", "read", "update"] }',
  ],
  // A deny is answered by what is needed alone.
  [
    'path "kv/*" { capabilities = ["deny"] }',
    asking("read", "kv/x"),
    'path "kv/x" { capabilities = ["read"] }',
  ],
  // Beside an exact rule what is missing is enough.
  [
    'path "kv/x" { policy = "read" }',
    asking("update", "kv/x"),
    'path "kv/x" { capabilities = ["update"] }',
  ],
  // Listing does not come with the rest where it was denied.
  [
    'path "kv/*" { policy = "read" }\npath "kv/x/*" { capabilities = ["deny"] }',
    asking("update", "kv/x"),
    'path "kv/x" { capabilities = ["read", "update"] }',
  ],
  // Paths that no label says.
  ["", asking("read", "secret/*"), null],
  ["", asking("read", "secret/+/x"), null],
  ["", asking("read", "secret/{{a}}"), null],
  ["", asking("list", ""), null],
];
for (const [text, question, wanted] of suggestions) {
  test(`for ${question.capability} ${question.path} beside ${text || "nothing"}: ${wanted}`, () => {
    assert.equal(why(text, question).suggestion?.text ?? null, wanted);
  });
}

test("constraints of the rule that is hidden go along, opened no further than needed", () => {
  const text = `path "kv/*" {
    policy = "write"
    required_parameters = ["name", "id"]
    allowed_parameters = { name = ["a*", 10, true, ["x"], { k = -2.5 }] "*" = [] }
    denied_parameters = { name = ["ab", "ac"], force = [] }
    min_wrapping_ttl = "10s"
    max_wrapping_ttl = "60s"
  }`;
  const question = asking("update", "kv/x", {
    data: { name: "ab", force: true },
    wrapTtl: 90n * SECOND,
  });
  assert.equal(
    why(text, question).suggestion?.text,
    `path "kv/x" {
  capabilities = ["create", "delete", "read", "update"]
  required_parameters = ["name"]
  allowed_parameters = {
    name = ["a*", 10, true, ["x"], { k = -25e-1 }]
    "*" = []
  }
  denied_parameters = {
    name = ["ac"]
  }
  min_wrapping_ttl = "10s"
  max_wrapping_ttl = "1m30s"
}
path "kv/x/" {
  capabilities = ["list"]
  min_wrapping_ttl = "10s"
  max_wrapping_ttl = "1m0s"
}`,
  );
});

test("where all parameters were denied, those that are given become the allowed ones", () => {
  const text = 'path "kv/*" { policy = "write" denied_parameters = { "*" = [] } }';
  const { suggestion } = why(text, asking("update", "kv/x", { data: { A: "secret", b: 1 } }));
  assert.match(
    suggestion?.text ?? "",
    /allowed_parameters = \{\n {4}a = \[\]\n {4}b = \[\]\n {2}\}\n\}$/,
  );
});

test("beside an exact rule a parameter is added, but what it denies must be replaced", () => {
  const allowing = 'path "p" { policy = "write" allowed_parameters = { a = ["x"] } }';
  const added = why(allowing, asking("update", "p", { data: { b: 1 } })).suggestion;
  assert.deepEqual(added?.replaces, []);
  assert.deepEqual(added?.capabilities, []);
  assert.match(added?.text ?? "", /allowed_parameters = \{\n {4}b = \[\]\n {2}\}/);
  const denying = 'path "p" { policy = "write" denied_parameters = { a = [] } }';
  const replaced = why(denying, asking("update", "p", { data: { a: 1 } })).suggestion;
  assert.deepEqual(
    replaced?.replaces.map(({ name, line }) => [name, line]),
    [["p", 1]],
  );
  assert.equal(
    replaced?.text,
    'path "p" { capabilities = ["create", "delete", "list", "read", "update"] }',
  );
  const forbidding = why('path "p" { capabilities = ["deny"] }', asking("read", "p")).suggestion;
  assert.equal(forbidding?.replaces.length, 1);
  assert.equal(forbidding?.text, 'path "p" { capabilities = ["read"] }');
});

test("listing that comes from elsewhere, with sudo or bounds of its own, keeps a block of its own", () => {
  const text = `path "+/" { capabilities = ["list", "sudo"] min_wrapping_ttl = "5s" }`;
  assert.equal(
    why(text, asking("create", "a")).suggestion?.text,
    `path "a" { capabilities = ["create"] }
path "a/" {
  capabilities = ["list", "sudo"]
  min_wrapping_ttl = "5s"
}`,
  );
});

test("for a child namespace the suggestion is written for the namespace of the policies", () => {
  const child = { path: "team/a", created: 5n };
  const { suggestion } = explain(compiled({ p: "" }, { child }), asking("read", "kv/x"));
  assert.equal(suggestion?.text, 'path "team/a/kv/x" { capabilities = ["read"] }');
});

// --- for everything that can be thought of ---

const segment = fc.constantFrom("a", "b", "ab");
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const label = fc
  .tuple(
    fc.array(fc.oneof(segment, fc.constant("+")), { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "*", "/", "/*"),
  )
  .map(([parts, end]) => parts.join("/") + end)
  .filter((text) => !text.includes("+*"));
const word = fc.constantFrom(...CAPABILITIES, "deny");
const rule = fc
  .tuple(label, fc.array(word, { maxLength: 3 }))
  .map(([of, words]) => ({ label: of, text: block(of, words) }));
const capability = fc.constantFrom(
  ...CAPABILITIES.filter((one): one is Exclude<AclCapability, "sudo"> => one !== "sudo"),
);
const question = fc
  .record({ capability, path, sudo: fc.boolean() })
  .map(({ sudo, ...query }) => asking(query.capability, query.path, { sudo }));

function block(of: string, words: readonly string[], more = ""): string {
  return `path "${of}" { capabilities = ${JSON.stringify(words)} ${more} }`;
}

/** The policies with the suggestion in one of its own, without what it stands instead of. */
function amended(texts: readonly string[], { suggestion }: Explanation): CompiledAcl | null {
  if (suggestion === null) return null;
  const gone = new Set(suggestion.replaces.map(({ name }) => name));
  const kept = texts.filter((_, i) => !gone.has(`p${i}`));
  return compiledEach([...kept, suggestion.text]);
}

/** Each rule is a policy of its own, called after its place. */
function compiledEach(texts: readonly string[]): CompiledAcl {
  return CompiledAcl.compile(
    texts.map((text, i) => policy(`p${i}`, text)),
    { now: NOW },
  );
}

test("the suggestion allows the request and changes no other answer: 2,000 sets of rules", () => {
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 6 }),
      question,
      fc.array(question, { minLength: 20, maxLength: 20 }),
      (rules, query, others) => {
        const texts = rules.map(({ text }) => text);
        const before = compiledEach(texts);
        const found = explain(before, query);
        assert.equal(found.allowed, decide(before, query).allowed);
        if (found.allowed) return;
        const after = amended(texts, found);
        assert.ok(after !== null);
        assert.equal(decide(after, query).allowed, true);
        if (found.suggestion?.replaces.length !== 0) return; // a deny went, and with it what it held
        for (const other of others) {
          const was = decide(before, other).allowed;
          const part = was ? isListedApart(other) : isPartOf(other, query);
          const same: boolean = was === decide(after, other).allowed;
          assert.ok(same || part, JSON.stringify([other.path, other.capability]));
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

/** Whether what was asked for brings this along. */
function isPartOf(other: AclQuestion, query: AclQuestion): boolean {
  if (other.path !== query.path) return false;
  // `sudo` is not for one capability: whoever gets it there has it for all that they have there.
  return other.capability === query.capability || (query.sudo && other.sudo);
}

/** Of list and scan, where `sudo` goes with one of them alone, it is left to neither. */
function isListedApart({ capability: of, sudo }: AclQuestion): boolean {
  return sudo && (of === "list" || of === "scan");
}

const parameters = fc.constantFrom(
  "",
  'required_parameters = ["x"]',
  "allowed_parameters = { y = [1] }",
  'allowed_parameters = { x = ["a*"] "*" = [] }',
  'denied_parameters = { "*" = [] }',
  'denied_parameters = { x = [] y = ["b"] }',
  'min_wrapping_ttl = "10s"',
  'max_wrapping_ttl = "5s"',
);
const data: fc.Arbitrary<JsonObject> = fc.constantFrom(
  {},
  { x: "ab" },
  { X: "b", y: 1 },
  { y: ["b", 2] },
);
const wrapTtl = fc.constantFrom(null, 4n * SECOND, 20n * SECOND);

test("the suggestion allows what parameters and wrapping bounds stood in the way of", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(label, fc.array(word, { maxLength: 3 }), parameters), { maxLength: 5 }),
      question,
      data,
      wrapTtl,
      (rules, query, sent, ttl) => {
        const texts = rules.map(([of, words, more]) => block(of, words, more));
        const whole = { ...query, data: sent, wrapTtl: ttl };
        const found = explain(compiledEach(texts), whole);
        if (found.allowed) return;
        const after = amended(texts, found);
        assert.ok(after !== null);
        assert.equal(decide(after, whole).allowed, true, found.suggestion?.text ?? "");
      },
    ),
    { numRuns: 2_000 },
  );
});
