// What is compiled when: rules that end, labels that are filled in, and child namespaces.

import assert from "node:assert/strict";
import test from "node:test";
import { CompiledAcl, type CompileOptions, type PolicyInForce } from "./compile.ts";
import { decide } from "./decide.ts";
import { parseAclDocument } from "./document.ts";

function policy(text: string, more: Partial<PolicyInForce> = {}): PolicyInForce {
  const document = parseAclDocument(text);
  return { name: "p", namespaceId: "root", document, written: 10n, expires: null, ...more };
}

function reads(acl: CompiledAcl, path: string): boolean {
  return decide(acl, { path, capability: "read", sudo: false, data: {}, wrapTtl: null }).allowed;
}

function read(labels: readonly string[], more: Partial<PolicyInForce> = {}): PolicyInForce {
  return policy(labels.map((label) => `path "${label}" { policy = "read" }`).join("\n"), more);
}

const SECOND = 1_000_000_000n;
const T1 = 1_800_000_000n * SECOND;

test("a rule is left out from its expiration on, and the other rules with its label stay", () => {
  const text = `
    path "a" { capabilities = ["deny"] expiration = "2027-01-15T08:00:00Z" }
    path "a" { capabilities = ["read"] }
    path "b" { capabilities = ["read"] expiration = "2027-01-15T08:00:00Z" }
    path "b*" { capabilities = [] }`;
  const at = (now: bigint) => CompiledAcl.compile([policy(text)], { now });
  const before = at(T1 - 1n);
  assert.deepEqual([reads(before, "a"), reads(before, "b")], [false, true]);
  const after = at(T1);
  assert.deepEqual([reads(after, "a"), reads(after, "b")], [true, false]);
});

test("a compiled set says for which times it holds, also when the clock is set back", () => {
  const text = `
    path "a" { policy = "read" expiration = "2027-01-15T08:00:00Z" }
    path "b" { policy = "read" expiration = "2027-01-15T08:00:10Z" }`;
  const compile = (now: bigint) => CompiledAcl.compile([policy(text)], { now });
  const [early, middle, late] = [compile(T1 - 1n), compile(T1), compile(T1 + 10n * SECOND)];
  const times = [0n, T1 - 1n, T1, T1 + 10n * SECOND - 1n, T1 + 10n * SECOND, 2n * T1];
  const covered = (acl: CompiledAcl) => times.map((now) => acl.covers(now));
  assert.deepEqual(covered(early), [true, true, false, false, false, false]);
  assert.deepEqual(covered(middle), [false, false, true, true, false, false]);
  assert.deepEqual(covered(late), [false, false, false, false, true, true]);
  assert.ok(times.every((now) => CompiledAcl.compile([policy("")], { now: 0n }).covers(now)));
});

test("a policy that has ended counts as absent", () => {
  const ending = read(["a"], { expires: T1 });
  assert.equal(reads(CompiledAcl.compile([ending], { now: T1 - 1n }), "a"), true);
  const acl = CompiledAcl.compile([ending], { now: T1 });
  assert.equal(reads(acl, "a"), false);
  assert.equal(acl.covers(T1 - 1n), false);
});

function inChild(policies: readonly PolicyInForce[], path: string, created = 5n): CompiledAcl {
  const options: CompileOptions = { now: 0n, child: { path, created } };
  return CompiledAcl.compile(policies, options);
}

test("a rule reaches a child namespace if its literal text leads into it", () => {
  const acl = inChild([read(["team/secret/*", "team/+/cfg", "/team/x"])], "team");
  assert.deepEqual(
    ["secret/a", "any/cfg", "x"].map((path) => reads(acl, path)),
    [true, true, true],
  );
  for (const label of [
    "*",
    "te*",
    "team*",
    "+/secret/a",
    "+/+/a",
    "team",
    "teams/secret/a",
    "secret/a",
  ]) {
    assert.equal(reads(inChild([read([label])], "team"), "secret/a"), false, label);
  }
  assert.equal(reads(inChild([read(["a/b/secret/*"])], "a/b"), "secret/x"), true);
  assert.equal(reads(inChild([read(["a/+/secret/*"])], "a/b"), "secret/x"), false);
});

test("T-A09: a policy does not reach a namespace that was made after its last write", () => {
  const old = read(["team/+/cfg"]);
  assert.equal(reads(inChild([old], "team", 11n), "x/cfg"), false);
  assert.equal(reads(inChild([old], "team", 10n), "x/cfg"), false);
  assert.equal(reads(inChild([old], "team", 9n), "x/cfg"), true);
});

test("in a child namespace rules keep their kind and their order", () => {
  const text = `
    path "team/+b/c"  { policy = "read" }
    path "team/k/*"   { policy = "read" }
    path "team/k/+/x" { policy = "deny" }
    path "team/k/+/*" { policy = "deny" }`;
  const acl = inChild([policy(text)], "team");
  assert.equal(reads(acl, "+b/c"), true);
  assert.equal(reads(acl, "xb/c"), false);
  assert.equal(reads(acl, "k/1/x"), false); // (b)
  assert.equal(reads(acl, "k/1/y"), true); // (c)
});

function filled(label: string, values: Readonly<Record<string, string>>, path: string): boolean {
  const directives = (name: string) => values[name];
  const acl = CompiledAcl.compile([read([label, "other"])], { now: 0n, directives });
  assert.equal(reads(acl, "other"), true); // only that rule is ever dropped
  return reads(acl, path);
}

test("labels are filled in for the token", () => {
  const values = { "token.name": "ann", "token.accessor_id": "1-2" };
  assert.equal(filled("kv/{{ token.name }}/*", values, "kv/ann/x"), true);
  assert.equal(filled("kv/{{token.name}}/*", values, "kv/bob/x"), false);
  assert.equal(filled("{{token.name}}-{{token.accessor_id}}", values, "ann-1-2"), true);
});

test("a value that is missing, empty or could widen the rule drops it", () => {
  assert.equal(filled("kv/{{token.name}}*", {}, "kv/x"), false);
  for (const name of ["", "*", "a*", "+", "a/b", "a+"]) {
    assert.equal(filled("kv/{{token.name}}*", { "token.name": name }, `kv/${name}x`), false, name);
  }
});

test("the most specific prefix is found among many that share their beginnings", () => {
  const texts = ["", "a", "ab", "abc/", "abc/d", "abd", "abc/de/f", "b"];
  const document = texts.map((text) => `path "${text}*" { policy = "deny" }`).join("\n");
  const acl = CompiledAcl.compile([policy(document)], { now: 0n });
  for (const path of [
    "",
    "a",
    "ab",
    "abc",
    "abc/",
    "abc/d",
    "abc/dx",
    "abc/de/f/g",
    "abx",
    "abd1",
    "c",
  ]) {
    const longest = texts
      .filter((text) => path.startsWith(text))
      .toSorted((a, b) => b.length - a.length)[0];
    assert.equal(acl.prefixes.longest(path)?.pattern.text, longest, path);
  }
});
