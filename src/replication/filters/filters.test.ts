// The filters of a primary, among mounts that a test makes: what is stored under which name, who is told when, and what is not known yet.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { Status } from "@holdfast/shared/grpc/status";
import type { View } from "../../barrier/view.ts";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { mountScope } from "../../barrier/scope.ts";
import type { KnownSecondary } from "../joining/primary-rows.ts";
import type { PlacedMount } from "./filter.ts";
import { Filters } from "./filters.ts";
import type { PlacesSource } from "./places.ts";
import { putFilter, storedFilter, storedFilters } from "./stored-filters.ts";

const SET = "5f3d2c10-0000-4000-8000-0000000000aa";
const [B, C] = ["0b8e2f3e-0000-4000-8000-00000000000b", "0b8e2f3e-0000-4000-8000-00000000000c"];
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const MOUNTS = "shared/mounts/";

type Known = Pick<KnownSecondary, "id" | "clusterId">;

async function stage(t: TestContext, known: Known[] = [{ id: "b", clusterId: B! }]) {
  const { barrier, store, world } = await madeBarrier();
  const view: View = barrier.view("local/replication/performance/");
  const placed = new Map<string, PlacedMount>();
  const uuidOf = (key: string) => (key.startsWith(MOUNTS) ? key.slice(MOUNTS.length) : null);
  const source: PlacesSource = {
    mountOf: uuidOf,
    isNamespace: () => false,
    mount: (id) => placed.get(id) ?? null,
    namespace: () => null,
    mountKeys: (after) => (after === null ? [...placed.keys()].map((id) => MOUNTS + id) : []),
    namespaceKeys: () => [],
  };
  let number = 0;
  /** Where it is from now on; empty: nowhere. */
  const place = async (id: string, path: string) => {
    if (path === "") placed.delete(id);
    else placed.set(id, { namespaceId: "root", path });
    await store.write((tx) => tx.put(MOUNTS + id, Buffer.from(`${number++}`), mountScope(id)));
    await store.settled();
  };
  const make = () => {
    const filters = new Filters({
      ...world,
      store,
      view,
      source,
      beside: { find: () => null },
      known: () => known as unknown as KnownSecondary[],
      set: () => SET,
    });
    t.after(() => filters.close());
    filters.open();
    return filters;
  };
  await place(uuid(1), "eu/");
  await place(uuid(2), "us/");
  const filters = make();
  const news = { count: 0 };
  filters.onChange(() => news.count++);
  return { filters, make, known, view, place, news };
}

const lets = (filters: Filters, member: string, n: number): boolean | undefined =>
  filters.of(member)?.lets(mountScope(uuid(n)));

test("what is written, copied, purged or deleted is heard of, and counts at once", async (t) => {
  const { filters, known, news } = await stage(t);
  assert.equal(filters.of("b"), null);
  await filters.put("b", "deny", ["eu/"]);
  assert.deepEqual([lets(filters, "b", 1), lets(filters, "b", 2), news.count], [false, true, 1]);
  await filters.put("b", "deny", ["us/"]);
  assert.deepEqual([lets(filters, "b", 1), lets(filters, "b", 2), news.count], [true, false, 2]);
  known.push({ id: "c", clusterId: "" });
  filters.membersChanged();
  assert.equal(filters.of("c"), null);
  await filters.copy("b", "c");
  assert.deepEqual([lets(filters, "c", 2), news.count], [false, 3]);
  assert.equal(filters.of("c"), filters.of("b")); // one tree for both
  assert.equal(await filters.remove("b"), true);
  assert.deepEqual([filters.of("b"), news.count], [null, 4]);
  known.splice(1);
  await filters.forget("c", "");
  assert.deepEqual([filters.of("c"), news.count], [null, 5]);
});

test("who has come meanwhile is meant by the filter of its cluster, and by what was made for nobody before", async (t) => {
  const { filters, known, view } = await stage(t, []);
  await filters.put(B!, "deny", ["eu/"]);
  assert.deepEqual([...storedFilters(view).keys()], [B]);
  assert.equal(filters.of("b"), null);
  known.push({ id: "b", clusterId: B! });
  filters.membersChanged();
  assert.equal(lets(filters, "b", 1), false);
  await filters.put(B!, "deny", ["us/"]); // both go, and one is there
  assert.deepEqual([...storedFilters(view).keys()], ["b"]);
  assert.equal(storedFilter(view, "b")?.ofCluster, B);
  await filters.copy("b", "c");
  assert.equal(storedFilter(view, "c")?.ofCluster, undefined); // it is for another cluster
});

test("the name is looked at again when it is written: one that comes while paths are read takes what is made by its cluster", async (t) => {
  const { filters, known, view } = await stage(t, []);
  const writing = filters.put(B!, "deny", ["eu/"]);
  known.push({ id: "b", clusterId: B! });
  await writing;
  assert.deepEqual([...storedFilters(view).keys()], ["b"]);
});

test("what is purged with a secondary stays where its cluster is known by another id, or where somebody is to come by its own", async (t) => {
  const { filters, known, view } = await stage(t);
  await view.write((tx) => {
    for (const name of ["b", B!]) putFilter(tx, name, { mode: "deny", paths: [] });
  });
  known.splice(0, 1, { id: "b2", clusterId: B! });
  await filters.forget("b", B!);
  assert.deepEqual([...storedFilters(view).keys()], [B]);
  known.push({ id: "b", clusterId: "" });
  await view.write((tx) => putFilter(tx, "b", { mode: "deny", paths: [] }));
  await filters.forget("b", C!);
  assert.ok(storedFilter(view, "b") !== null);
});

test("a member with a filter waits until it is known what there is; one without does not", async (t) => {
  const { filters, make, view } = await stage(t);
  await filters.put("b", "deny", ["eu/"]);
  const again = make(); // another process on the same disk
  assert.equal(again.of("c"), null);
  assert.throws(() => again.of("b"), { code: "filters-not-ready" });
  assert.throws(() => again.countFor("b", B!), { code: "filters-not-ready" });
  assert.equal(again.countOf("b"), 0);
  await again.ready();
  assert.equal(lets(again, "b", 1), false);
  assert.deepEqual(
    [again.countFor("b", B!), again.countFor("c", C!), again.countOf("b")],
    [1, 0, 1],
  );
  assert.equal(again.since > 0n, true);
  assert.equal(storedFilters(view).size, 1);
});

test("what is gone is counted and shown no more, and is not sent all the same", async (t) => {
  const { filters, place } = await stage(t);
  await filters.put("b", "deny", ["eu/"]);
  const { version } = filters.of("b")!;
  await place(uuid(1), "");
  const now = filters.of("b")!;
  assert.notEqual(now.version, version);
  assert.deepEqual([now.present.mounts.size, now.withheld.mounts.size], [0, 1]);
  assert.equal(lets(filters, "b", 1), false);
  assert.deepEqual([filters.countFor("b", B!), (await filters.withheld("b"))?.mounts.size], [0, 0]);
  assert.equal(await filters.withheld("nobody"), null);
});

test("another version is told of as soon as something else is withheld; the tree stays where nothing that was sent is", async (t) => {
  const { filters, place, news } = await stage(t);
  await filters.put("b", "deny", ["eu/"]);
  const state = filters.of("b")!;
  const view = await state.view();
  const [before, { version }] = [news.count, state];
  await place(uuid(3), "asia/");
  assert.deepEqual([news.count, state.version], [before, version]);
  assert.equal(lets(filters, "b", 3), true);
  await place(uuid(1), "europe/");
  assert.equal(news.count, before + 1);
  assert.notEqual(state.version, version);
  assert.equal(await state.view(), view);
  assert.equal(filters.of("b"), state);
  await filters.remove("b"); // it is nobody's
  await assert.rejects(state.view(), { status: Status.aborted });
});

test("there are at most 256 filters, each for a name that somebody can have", async (t) => {
  const { filters, view } = await stage(t);
  await view.write((tx) => {
    for (let n = 0; n < 256; n++) putFilter(tx, `m${n}`, { mode: "deny", paths: [] });
  });
  await assert.rejects(filters.put("b", "deny", ["eu/"]), { code: "filter-too-many" });
  await filters.put("m7", "deny", ["eu/"]); // in the place of one
  await assert.rejects(filters.put("../b", "deny", ["eu/"]), { code: "filter-id-invalid" });
  await filters.remove("m8");
  await filters.put("b", "deny", ["eu/"]);
  await nextTurn();
  assert.equal(storedFilters(view).size, 256);
});
