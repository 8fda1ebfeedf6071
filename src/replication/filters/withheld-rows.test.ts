// Who may make mounts in a namespace that is withheld decides how much of it there is to be told and stored: as much as there may be has room.

import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { MAX_WITHHELD, withheld, type WithheldAnswer } from "../stream/messages.ts";
import { WithheldHere } from "./withheld-here.ts";
import { storedWithheld } from "./withheld-rows.ts";

/** A namespace path of 512 characters, and a mount of 255 in it. */
const LONGEST = "n".repeat(512 + 1 + 255);

function places(count: number, first = "") {
  return Array.from({ length: count }, (_, i) => ({
    id: `${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`,
    path: `${first}${LONGEST}/`,
  }));
}

function answerOf(mounts: WithheldAnswer["mounts"], version: string): WithheldAnswer {
  return { version, isSame: false, mounts, namespaces: places(MAX_WITHHELD, "x") };
}

async function stage() {
  const { barrier, store, world } = await madeBarrier();
  const view = barrier.view("local/replication/performance/");
  const here = () =>
    new WithheldHere({
      ...world,
      store,
      view,
      changed: () => {},
      evacuated: async () => {},
      anew: () => {},
      purge: async () => {},
      lifted: async () => {},
    });
  return { store, view, here };
}

test("as many places as are told are sent in one answer, and kept, with the longest paths", async () => {
  const { view, here } = await stage();
  const most = answerOf(places(MAX_WITHHELD), "one");
  const bytes = withheld.response.encode(most);
  assert.ok(bytes.length < withheld.maxResponse, String(bytes.length));
  const read = withheld.response.decode(bytes);
  await here().install(read, false);
  const again = here(); // another process on the same disk
  assert.equal(again.version, "one");
  assert.equal(again.isDue, true);
  assert.equal(again.count, 2 * MAX_WITHHELD);
  const { mounts, namespaces } = storedWithheld(view);
  for (const [kept, sent] of [
    [mounts, read.mounts],
    [namespaces, read.namespaces],
  ] as const) {
    assert.deepEqual(kept, Object.fromEntries(sent.map(({ id, path }) => [id, path])));
  }
});

test("one more place writes its page and no other, and what is not withheld any more goes", async () => {
  const { store, view, here } = await stage();
  const some = places(MAX_WITHHELD);
  await here().install(answerOf(some.slice(1), "one"), false);
  const before = store.index;
  await here().install(answerOf(some, "two"), false);
  const size = store.logs(before + 1n, 1)[0]!.entry.length;
  assert.ok(size < 512 * 1024, String(size));
  assert.equal(here().isMount(some[0]!.id), true);
  const settled = here();
  await settled.settle();
  assert.equal(here().isDue, false);
  assert.equal(here().count, 2 * MAX_WITHHELD);
  await here().install({ version: "", isSame: false, mounts: [], namespaces: [] }, false);
  assert.equal(here().count, 0);
  await here().settle(); // those that come back are here by now
  assert.deepEqual(view.keys("withheld-places/", { limit: 10 }), []);
});
