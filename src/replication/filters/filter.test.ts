// What filters come to among namespaces and mounts.

import assert from "node:assert/strict";
import test from "node:test";
import { mountScope, namespaceScope } from "../../barrier/scope.ts";
import { CORE_SCOPE, LOST_SCOPE } from "../../storage/rows/log-entry.ts";
import { type Filter, type FilterPath, type Places, Sieve, withheldBy } from "./filter.ts";

const ROOT_KV = "00000000-0000-4000-8000-000000000001";
const TEAM_KV = "00000000-0000-4000-8000-000000000002";
const INNER_KV = "00000000-0000-4000-8000-000000000003";

const PLACES: Places = {
  mounts: new Map([
    [ROOT_KV, { namespaceId: "root", path: "kv/" }],
    [TEAM_KV, { namespaceId: "team1", path: "team/kv/" }],
    [INNER_KV, { namespaceId: "inner", path: "team/inner/kv/" }],
  ]),
  namespaces: new Map([
    ["team1", { parent: "root", path: "team/" }],
    ["inner", { parent: "team1", path: "team/inner/" }],
    ["other", { parent: "root", path: "other/" }],
  ]),
};

const mount = (id: string): FilterPath => ({ kind: "mount", id, path: "" });
const space = (id: string): FilterPath => ({ kind: "namespace", id, path: "" });

function pathsOf(...filters: Filter[]): string[] {
  const { mounts, namespaces } = withheldBy(filters, PLACES);
  return [...namespaces.values(), ...mounts.values()].toSorted();
}

test("deny withholds what is named, and all that is in a namespace", () => {
  assert.deepEqual(pathsOf(), []);
  assert.deepEqual(pathsOf({ mode: "deny", paths: [] }), []);
  assert.deepEqual(pathsOf({ mode: "deny", paths: [mount(TEAM_KV)] }), ["team/kv/"]);
  assert.deepEqual(pathsOf({ mode: "deny", paths: [space("team1")] }), [
    "team/",
    "team/inner/",
    "team/inner/kv/",
    "team/kv/",
  ]);
  assert.deepEqual(pathsOf({ mode: "deny", paths: [space("inner")] }), [
    "team/inner/",
    "team/inner/kv/",
  ]);
});

test("allow sends what is named, all that is in a namespace, and the way there", () => {
  assert.deepEqual(pathsOf({ mode: "allow", paths: [] }), [
    "kv/",
    "other/",
    "team/",
    "team/inner/",
    "team/inner/kv/",
    "team/kv/",
  ]);
  assert.deepEqual(pathsOf({ mode: "allow", paths: [mount(INNER_KV)] }), [
    "kv/",
    "other/",
    "team/kv/",
  ]);
  assert.deepEqual(pathsOf({ mode: "allow", paths: [space("team1")] }), ["kv/", "other/"]);
});

test("of two filters what either withholds is", () => {
  const one: Filter = { mode: "deny", paths: [mount(ROOT_KV)] };
  const other: Filter = { mode: "deny", paths: [space("other")] };
  assert.deepEqual(pathsOf(one, other), ["kv/", "other/"]);
});

test("scopes that are of nothing that is known are not sent, and those of the cluster itself are", () => {
  const sieve = new Sieve(withheldBy([{ mode: "deny", paths: [space("team1")] }], PLACES), PLACES);
  assert.equal(sieve.lets(CORE_SCOPE), true);
  assert.equal(sieve.lets(mountScope(ROOT_KV)), true);
  assert.equal(sieve.lets(namespaceScope("other")), true);
  for (const scope of [
    mountScope(TEAM_KV),
    mountScope(INNER_KV),
    namespaceScope("team1"),
    namespaceScope("inner"),
    LOST_SCOPE,
    mountScope("00000000-0000-4000-8000-0000000000ff"),
  ]) {
    assert.equal(sieve.lets(scope), false);
  }
});
