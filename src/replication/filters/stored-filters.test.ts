// Filters that were made by the id of a cluster before that came: which cluster it is a member says itself, and one that says it of another takes
// nothing from that.

import assert from "node:assert/strict";
import test from "node:test";
import { SetStage } from "../../../tests/support/replication/set-stage.ts";
import { Secondaries } from "../joining/secondaries.ts";
import type { FilterPath } from "./filter.ts";
import {
  comingFilters,
  filterOfMember,
  putFilter,
  rulesOf,
  storedFilter,
  type StoredFilter,
} from "./stored-filters.ts";

const PARIS = "0b8e2f3e-0000-4000-8000-00000000000b";
const LYON = "0b8e2f3e-0000-4000-8000-00000000000c";
const path = (at: string): FilterPath => ({ kind: "namespace", id: at, path: `${at}/` });
const denying = (...paths: string[]): StoredFilter => ({ mode: "deny", paths: paths.map(path) });

async function stage() {
  const set = await SetStage.start();
  const { view, clock, made } = set;
  const { random } = made.world;
  const secondaries = new Secondaries({ view, kind: "dr", clock, random, coming: comingFilters });
  return {
    view,
    secondaries,
    admitted: async (id: string) => set.peer((await secondaries.admit(id)).pair),
    put: (name: string, filter: StoredFilter) => view.write((tx) => putFilter(tx, name, filter)),
    denied: (id: string, cluster: string) => {
      const filter = filterOfMember(view, id, cluster);
      const paths = filter === null ? [] : rulesOf(filter).flatMap((rule) => rule.paths);
      return paths.map((one) => one.path).toSorted();
    },
  };
}

const standing = (epoch: number) => ({ stand: { epoch, first: String(epoch * 10) } });

test("who comes as another cluster, and then as its own, leaves that one the filter that was made for it", async () => {
  const { view, secondaries, admitted, put, denied } = await stage();
  await put(PARIS, denying("eu"));
  await put("lyon", denying("us"));
  const lyon = await admitted("lyon");
  await secondaries.confirm(lyon, PARIS, standing(1));
  assert.deepEqual(denied("lyon", PARIS), ["eu/", "us/"]);
  await secondaries.confirm(lyon, LYON, standing(2));
  assert.deepEqual(denied("lyon", LYON), ["eu/", "us/"]); // who stands in for it is not sent it either
  const paris = await admitted("paris");
  await secondaries.confirm(paris, PARIS, standing(1));
  assert.deepEqual(denied("paris", PARIS), ["eu/", "us/"]);
  assert.equal(storedFilter(view, PARIS), null); // it is its own by now
  await secondaries.confirm(lyon, "0b8e2f3e-0000-4000-8000-00000000000d", standing(3));
  assert.equal(storedFilter(view, LYON), null); // nothing was made for that one
});

test("what an earlier version has not kept the cluster of stays for the one that it was", async () => {
  const { view, secondaries, admitted, put } = await stage();
  const lyon = await admitted("lyon");
  await secondaries.confirm(lyon, PARIS, standing(1));
  await put("lyon", { ...denying("eu"), ofCluster: true });
  await secondaries.confirm(lyon, LYON, standing(2));
  assert.deepEqual(storedFilter(view, PARIS)?.paths, [path("eu")]);
});
