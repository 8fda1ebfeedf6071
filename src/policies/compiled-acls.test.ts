// How much is kept of what was compiled, and what is compiled again.

import assert from "node:assert/strict";
import test from "node:test";
import { type Caller, ROOT_NAMESPACE } from "../endpoint/request.ts";
import { parseAclDocument } from "../policy/acl-document.ts";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { CompiledAcls } from "./compiled-acls.ts";

function caller(policies: readonly string[]): Caller {
  const namespace = ROOT_NAMESPACE;
  const never = { global: false, created: 0n, expires: null };
  return { accessor: "a", type: "client", name: "", policies, namespace, ...never };
}

function counted(): { readonly acls: CompiledAcls; readonly found: string[] } {
  const found: string[] = [];
  const document = parseAclDocument('path "kv/*" { policy = "read" }');
  const acls = new CompiledAcls((namespaceId, name) => {
    found.push(name);
    return { name, namespaceId, document, written: 1n, expires: null };
  }, new FakeClock());
  return { acls, found };
}

test("one compiled set serves every token with the same policies, in any order and case", () => {
  const { acls, found } = counted();
  const first = acls.aclFor(caller(["a", "b"]), ROOT_NAMESPACE);
  assert.equal(acls.aclFor(caller(["B", "a", "b"]), ROOT_NAMESPACE), first);
  assert.deepEqual(found, ["default", "a", "b"]);
});

test("a token made without the default policy does not share a set with those that have it", () => {
  const { acls, found } = counted();
  const bare = { ...caller(["a"]), withoutDefault: true };
  const first = acls.aclFor(bare, ROOT_NAMESPACE);
  assert.deepEqual(found, ["a"]);
  assert.notEqual(acls.aclFor(caller(["a"]), ROOT_NAMESPACE), first);
});

test("a change compiles anew the sets that hold the policy, and no other", () => {
  const { acls, found } = counted();
  const [one, two] = [caller(["a"]), caller(["b"])];
  acls.aclFor(one, ROOT_NAMESPACE);
  acls.aclFor(two, ROOT_NAMESPACE);
  acls.forget("root", "a");
  acls.forget("elsewhere", "b");
  found.length = 0;
  acls.aclFor(two, ROOT_NAMESPACE);
  assert.deepEqual(found, []);
  acls.aclFor(one, ROOT_NAMESPACE);
  assert.deepEqual(found, ["default", "a"]);
});

test("T-B25: the compiled sets of ever new tokens stay bounded, and a hot one stays", () => {
  const { acls, found } = counted();
  const hot = caller(["hot"]);
  for (let i = 0; i < 5_000; i += 1) {
    acls.aclFor(caller([`p${i}`]), ROOT_NAMESPACE);
    acls.aclFor(hot, ROOT_NAMESPACE);
  }
  assert.ok(acls.size <= 1_024);
  assert.equal(found.filter((name) => name === "hot").length, 1);
});

test("a cache is bounded by number and by cost, and always keeps the newest", () => {
  const cache = new BoundedCache<number>({ entries: 3, cost: 10 });
  for (const [i, key] of ["a", "b", "c", "d"].entries()) cache.put(key, i, 1);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => cache.get(key)),
    [undefined, 1, 2, 3],
  );
  cache.put("b", 5, 9);
  assert.equal(cache.get("b"), 5);
  assert.equal(cache.size, 2);
  cache.put("huge", 6, 1_000);
  assert.equal(cache.size, 1);
  assert.equal(cache.get("huge"), 6);
  cache.drop("huge");
  cache.put("x", 1, 10);
  assert.equal(cache.get("x"), 1); // the cost of what went is gone too
  cache.clear();
  assert.equal(cache.size, 0);
});
