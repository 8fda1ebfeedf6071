// Which rule decides: cases 1 to 50 of docs/cases/policies.md and its examples, at the decision function.

import assert from "node:assert/strict";
import test from "node:test";
import type { AclCapability } from "./capability.ts";
import { CompiledAcl } from "./compile.ts";
import { type AclDecision, capabilitiesOn, decide } from "./decide.ts";
import { parseAclDocument } from "./document.ts";

const WORDS: Readonly<Record<string, string>> = {
  r: "read",
  l: "list",
  c: "create",
  u: "update",
  d: "delete",
  p: "patch",
  s: "sudo",
  X: "deny",
};

/** The notation of that page: `path`:r,u · `path`:X | another policy. */
function textOf(policy: string): string {
  const blocks = policy.split("·").map((rule) => {
    const at = rule.lastIndexOf(":");
    const letters = rule.slice(at + 1).trim();
    const words = letters === "∅" ? [] : letters.split(",").map((letter) => WORDS[letter.trim()]);
    return `path "${rule.slice(0, at).trim()}" { capabilities = ${JSON.stringify(words)} }`;
  });
  return blocks.join("\n");
}

function compiled(...texts: readonly string[]): CompiledAcl {
  const policies = texts.map((text, i) => ({
    name: `p${i}`,
    namespaceId: "root",
    document: parseAclDocument(text),
    written: 1n,
    expires: null,
  }));
  return CompiledAcl.compile(policies, { now: 0n });
}

type Operation = Exclude<AclCapability, "sudo">;

function isCapability(word: string | undefined): word is Operation {
  return word !== undefined && Object.values(WORDS).includes(word) && word !== "sudo";
}

function ask(acl: CompiledAcl, request: string, sudo = false): AclDecision {
  const [capability, path] = request.split(" ");
  assert.ok(isCapability(capability) && path !== undefined, request);
  return decide(acl, { capability, path, sudo, data: {}, wrapTtl: null });
}

type Case = readonly [id: string, rules: string, request: string, want: "allow" | "deny"];
const ALL = "c,r,u,d,l,p,s";

const cases: readonly Case[] = [
  ["1", "secret/*:r,u,d,l · secret/foo:l", "read secret/foo", "deny"],
  ["2", "secret/*:r · secret/x:X", "read secret/x", "deny"],
  ["3", "secret/*:r · secret/x:X", "read secret/x/y", "allow"],
  ["4", "secret/*:c,r,u · secret/a/*:r", "update secret/a/b", "deny"],
  ["5", "secret/*:r | secret/*:u", "update secret/a", "allow"],
  ["6", "secret/*:r,s | secret/*:X", "read secret/a", "deny"],
  ["7", "secret/fo*:r", "read secret/food/z", "allow"],
  ["8", "secret/bar/*:r", "read secret/bars/zip", "deny"],
  ["9", "secret/bar/*:r", "read secret/bar", "deny"],
  ["10", "secret/bar/*:r", "read secret/bar/", "allow"],
  ["11", "secret/*/db:r", "read secret/a/db", "deny"],
  ["12", "secret/*/db:r", "read secret/*/db", "allow"],
  ["13", "secret/+/teamb:r", "read secret/a/teamb", "allow"],
  ["14", "secret/+/teamb:r", "read secret/a/b/teamb", "deny"],
  ["15", "secret/+:r", "read secret/", "allow"],
  ["16", "secret/a+b:r", "read secret/axb", "deny"],
  ["17", "secret/+b/c:r", "read secret/xb/c", "deny"],
  ["18", "1/2/*:c · 1/2/+:r", "create 1/2/3", "deny"],
  ["19", "1/2/*:c · 1/2/+:r", "read 1/2/3", "allow"],
  ["20", "1/2/*:c · 1/2/+/+:u", "update 1/2/3/4", "allow"],
  ["21", "secret/*:l · secret/+/prefix-*:c,u", "update secret/alice/prefix-x", "deny"],
  ["22", "foo/+/bar:r · foo/b+/x:l · foo/bar/*:u", "update foo/bar/bar", "allow"],
  ["23", "+/*:r · *:u", "update foo/bar", "allow"],
  ["24", "foo/bar/+/b*:r · foo/bar/+/ba*:u", "update foo/bar/x/baz", "allow"],
  ["25", "test/+/w/*:r", "read test/a/w", "deny"],
  ["26", "test/+/w/*:r", "read test/a/w/", "allow"],
  ["27", "secret/foo:l", "list secret/foo/", "allow"],
  ["28", "secret/foo/:l", "list secret/foo/", "allow"],
  ["29", "secret/foo:l · secret/foo/:X", "list secret/foo/", "deny"],
  ["30", "kv/+:l", "list kv/private/", "allow"],
  ["31", "kv/*:l | kv/private/*:X", "list kv/private/", "deny"],
  ["32", "kv/*:X | kv/private/*:l", "list kv/private/", "allow"],
  ["33", "kv/*:l · kv/+:X", "list kv/private/", "deny"],
  ["34", "kv/*:l · kv/private/*:r", "list kv/private/", "allow"],
  ["35", "kv/*:l · kv/private/*:r", "list kv/private/sub/", "deny"],
  ["36", "secret/foo:r", "read secret/foo/", "deny"],
  ["37", "/secret/foo:r", "read secret/foo", "allow"],
  ["38", "secret/*:r · secret/a:∅", "read secret/a", "deny"],
  ["43", "s/*:c,u", "patch s/x", "deny"],
  ["44", "s/*:c", "update s/x", "deny"],
  ["45 (revoking is an update)", "sys/leases/revoke/*:u", "update sys/leases/revoke/x", "allow"],
  ["47", `sys/leases/lookup:u | sys/leases/*:${ALL}`, "read sys/leases/lookup", "deny"],
  ["48", "Secret/a:r", "read secret/a", "deny"],
  ["49", "*:r", "read any/thing/at/all", "allow"],
  ["50", "+:r", "read foo/bar", "deny"],
  ["e1", "secret/*:r,u · secret/foo:l", "read secret/foo", "deny"],
  ["e2", "secret/*:c,r,u · secret/a/*:r", "update secret/a/b", "deny"],
  ["e3", "1/2/*:c · 1/2/+:r", "create 1/2/3", "deny"],
  ["e4", "1/2/*:c · 1/2/+:r", "create 1/2/3/4", "allow"],
  ["e5", "secret/*:l · secret/+/prefix-*:u", "update secret/alice/prefix-x", "deny"],
  ["e6", "+/*:r · *:u", "update a/b", "allow"],
  ["e7", "foo/+/bar:r · foo/bar/*:u", "update foo/bar/bar", "allow"],
  ["e8", "foo/bar/+/b*:r · foo/bar/+/ba*:u", "update foo/bar/x/baz", "allow"],
  ["e9", "s/*:r,s | s/*:X", "read s/x", "deny"],
  ["e10", `sys/leases/lookup:u | sys/leases/*:${ALL}`, "read sys/leases/lookup", "deny"],
  ["e11", "secret/bar/*:r", "read secret/bar", "deny"],
  ["e12", "kv/+:l", "list kv/private/", "allow"],
  ["e13", "kv/*:l · kv/private/*:X", "list kv/private/", "deny"],
  ["T-A06 with the slash", "a/*:l · a/private/*:X", "list a/private/", "deny"],
  ["T-A06 without the slash", "a/*:l · a/private/*:X", "list a/private", "deny"],
  ["T-A07 a prefix does not reach beyond its slash", "x/ab/*:d", "delete x/abc", "deny"],
  ["T-A07 nor the folder's own name", "x/ab/*:d", "delete x/ab", "deny"],
  ["T-A11 only deny", "a/*:X", "read a/b", "deny"],
  ["T-A11 deny and a grant in another policy", "a/*:X | a/*:r", "read a/b", "deny"],
  ["T-A11 an empty rule", "a/*:∅", "read a/b", "deny"],
  [
    "T-A12 a deny beats what default grants",
    "auth/token/lookup-self:r | auth/token/lookup-self:X",
    "read auth/token/lookup-self",
    "deny",
  ],
];
for (const [id, rules, request, want] of cases) {
  test(`${id}: ${rules} – ${request} → ${want}`, () => {
    const acl = compiled(...rules.split("|").map(textOf));
    assert.equal(ask(acl, request).allowed, want === "allow");
  });
}

test("shorthand write deletes", () => {
  assert.equal(ask(compiled('path "s/*" { policy = "write" }'), "delete s/x").allowed, true);
});

test("shorthand and capabilities add up, sudo with them", () => {
  const acl = compiled('path "s/*" { policy = "read"\n capabilities = ["update", "sudo"] }');
  assert.equal(ask(acl, "list s/x/", true).allowed, true);
  assert.deepEqual(capabilitiesOn(acl, "s/x/"), ["list", "read", "sudo", "update"]);
});

test("shorthand deny drops the other capabilities", () => {
  const acl = compiled('path "s/*" { policy = "deny"\n capabilities = ["read"] }');
  assert.equal(ask(acl, "read s/x").allowed, false);
});

test("deny beats read and sudo in the same list", () => {
  const acl = compiled('path "s/*" { capabilities = ["read", "deny", "sudo"] }');
  assert.equal(ask(acl, "read s/x").allowed, false);
  assert.deepEqual(capabilitiesOn(acl, "s/x"), []);
});

test("T-A11: no policy at all, and one without rules, grant nothing", () => {
  assert.equal(ask(compiled(), "read a").allowed, false);
  assert.equal(ask(compiled(""), "read a").allowed, false);
});

test("sudo is needed beside the capability, and grants nothing alone", () => {
  const acl = compiled('path "a" { capabilities = ["read"] } path "b" { capabilities = ["sudo"] }');
  assert.equal(ask(acl, "read a").allowed, true);
  assert.equal(ask(acl, "read a", true).allowed, false);
  assert.equal(ask(acl, "read b", true).allowed, false);
});

test("a decision names the policies that granted, each once, and none when denied", () => {
  const acl = compiled(
    'path "a" { capabilities = ["read"] }',
    'path "a" { capabilities = ["list"] }',
    'path "a" { capabilities = ["read"] } path "a" { capabilities = ["read", "update"] }',
  );
  const names = (request: string) => ask(acl, request).granting.map(({ name }) => name);
  assert.deepEqual(names("read a"), ["p0", "p2"]);
  assert.deepEqual(names("list a"), ["p1"]);
  assert.deepEqual(names("delete a"), []);
});

test("capabilities are told by the rules of listing: a deny leaves none, the words are sorted", () => {
  const acl = compiled(textOf("kv/*:u,l,r,c · kv/private/*:X · kv/plain:r"));
  assert.deepEqual(capabilitiesOn(acl, "kv/a"), ["create", "list", "read", "update"]);
  assert.deepEqual(capabilitiesOn(acl, "kv/private/"), []);
  assert.deepEqual(capabilitiesOn(acl, "kv/private/x"), []);
  assert.deepEqual(capabilitiesOn(acl, "kv/plain"), ["read"]);
  assert.deepEqual(capabilitiesOn(acl, "elsewhere"), []);
});
