// What filters come to among namespaces and mounts.

import assert from "node:assert/strict";
import test from "node:test";
import { mountScope, namespaceScope } from "../../barrier/scope.ts";
import { CORE_SCOPE, LOST_SCOPE } from "../../storage/rows/log-entry.ts";
import {
  type Filter,
  type FilterPath,
  pathNow,
  type Places,
  Sieve,
  withHeirs,
  withheldBy,
} from "./filter.ts";

const ROOT_KV = "00000000-0000-4000-8000-000000000001";
const TEAM_KV = "00000000-0000-4000-8000-000000000002";
const INNER_KV = "00000000-0000-4000-8000-000000000003";
const NEW_KV = "00000000-0000-4000-8000-000000000004";

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
  isThere: () => true,
};

const mount = (id: string, path = ""): FilterPath => ({ kind: "mount", id, path });
const space = (id: string, path = ""): FilterPath => ({ kind: "namespace", id, path });

function pathsOf(...filters: Filter[]): string[] {
  return pathsAmong(PLACES, ...filters);
}

function pathsAmong(places: Places, ...filters: Filter[]): string[] {
  const { mounts, namespaces } = withheldBy(filters, places);
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

test("allow sends the way to nothing that is gone", () => {
  const without = (...gone: string[]): Places => ({
    ...PLACES,
    isThere: (id) => !gone.includes(id),
  });
  const filter: Filter = { mode: "allow", paths: [mount(INNER_KV)] };
  assert.deepEqual(pathsAmong(without(INNER_KV), filter), [
    "kv/",
    "other/",
    "team/",
    "team/inner/",
    "team/kv/",
  ]);
  const whole: Filter = { mode: "allow", paths: [space("inner")] };
  assert.deepEqual(pathsAmong(without("inner", INNER_KV), whole), [
    "kv/",
    "other/",
    "team/",
    "team/kv/",
  ]);
});

test("deny withholds what is made at the path of what it means, once that is gone; allow sends nothing for it", () => {
  const OLD = "00000000-0000-4000-8000-0000000000aa";
  const never = [mount(OLD, "kv/"), space("former", "team/inner/")]; // gone before anybody looked
  assert.deepEqual(pathsOf({ mode: "deny", paths: never }), [
    "kv/",
    "team/inner/",
    "team/inner/kv/",
  ]);
  assert.deepEqual(pathsOf({ mode: "allow", paths: never }).length, 6);
  // One that was moved is where it is, and what is at its former path is another.
  assert.deepEqual(pathsOf({ mode: "deny", paths: [mount(TEAM_KV, "kv/")] }), ["team/kv/"]);
  const moved: Places = { ...PLACES, isThere: (id) => id !== TEAM_KV };
  assert.deepEqual(pathsAmong(moved, { mode: "deny", paths: [mount(TEAM_KV, "kv/")] }), [
    "kv/",
    "team/kv/",
  ]);
});

test("what was made at the path of what is denied and gone is meant wherever it is moved, and by nothing that is allowed", () => {
  const [FORMER, LATER] = ["00000000-0000-4000-8000-0000000000aa", TEAM_KV];
  const filter: Filter = { mode: "deny", paths: [mount(FORMER, "kv/"), mount(INNER_KV, "kv/")] };
  const bound = withHeirs(filter, PLACES);
  assert.deepEqual(bound.paths[0], { ...mount(FORMER, "kv/"), heirs: [ROOT_KV] });
  assert.equal(bound.paths[1], filter.paths[1]); // that is there
  assert.equal(withHeirs(bound, PLACES), bound);
  const moved = (id: string, path: string, gone: readonly string[] = []): Places => ({
    ...PLACES,
    mounts: new Map([...PLACES.mounts, [id, { namespaceId: "other", path }]]),
    isThere: (one) => !gone.includes(one),
  });
  const elsewhere = moved(ROOT_KV, "other/kv/");
  assert.deepEqual(pathsAmong(elsewhere, bound), ["other/kv/", "team/inner/kv/"]);
  assert.equal(pathNow(bound.paths[0]!, elsewhere), "other/kv/");
  // It is gone as well, and another one comes.
  const third = moved(LATER, "kv/", [ROOT_KV]);
  assert.deepEqual(withHeirs(bound, third).paths[0]!.heirs, [ROOT_KV, LATER]);
  assert.equal(withHeirs(bound, moved(LATER, "kv/")), bound); // the one that was moved is meant
  const allowed: Filter = { ...filter, mode: "allow" };
  assert.equal(withHeirs(allowed, PLACES), allowed);
});

test("of two filters what either withholds is", () => {
  const one: Filter = { mode: "deny", paths: [mount(ROOT_KV)] };
  const other: Filter = { mode: "deny", paths: [space("other")] };
  assert.deepEqual(pathsOf(one, other), ["kv/", "other/"]);
});

test("what is new in a namespace that is withheld changes nothing of what is sent; what is moved there does", () => {
  const denied: Filter = { mode: "deny", paths: [space("team1")] };
  const sieveAmong = (mounts: Places["mounts"]) => {
    const places = { ...PLACES, mounts };
    return new Sieve(withheldBy([denied], places), places);
  };
  const before = sieveAmong(PLACES.mounts);
  const made = (namespaceId: string) =>
    sieveAmong(new Map([...PLACES.mounts, [NEW_KV, { namespaceId, path: "new/" }]]));
  assert.equal(before.isSameAs(made("inner")), true);
  assert.equal(before.isSameAs(made("root")), false);
  const moved = { namespaceId: "team1", path: "team/new/" };
  assert.equal(before.isSameAs(sieveAmong(new Map([...PLACES.mounts, [ROOT_KV, moved]]))), false);
  const other = { namespaceId: "team1", path: "team/other/" };
  const both = new Map([...PLACES.mounts, [ROOT_KV, other], [NEW_KV, PLACES.mounts.get(ROOT_KV)!]]);
  assert.equal(before.isSameAs(sieveAmong(both)), false);
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
