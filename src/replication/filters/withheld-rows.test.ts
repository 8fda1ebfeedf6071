// Who may make mounts in a namespace that is withheld decides how much of it there is to be told and stored: as much as there may be has room.

import assert from "node:assert/strict";
import test from "node:test";
import { CORE_SCOPE } from "../../storage/rows/log-entry.ts";
import { mountScope, namespaceScope } from "../../barrier/scope.ts";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { MAX_WITHHELD, withheld, type WithheldAnswer } from "../stream/messages.ts";
import { scrubOf, WithheldHere, type WithheldHereParts } from "./withheld-here.ts";
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

async function stage(own: Partial<WithheldHereParts> = {}) {
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
      ...own,
    });
  return { store, view, here, world };
}

const [MOUNT] = places(1);
const TEAM = { id: "team1", path: "team/" };

function answerWith(version: string, mounts: WithheldAnswer["mounts"], namespaces = [TEAM]) {
  return { version, isSame: false, mounts, namespaces };
}

async function all(parts: AsyncIterable<readonly { readonly key: string }[]>): Promise<string[]> {
  const found: string[] = [];
  for await (const rows of parts) found.push(...rows.map(({ key }) => key));
  return found;
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

test("mounts that are withheld, and those that are no more, are looked at again; copies may hold what is withheld for the first time", async () => {
  const changed: string[][] = [];
  let anews = 0;
  const { here } = await stage({
    changed: (mounts) => void changed.push([...mounts]),
    anew: () => void anews++,
  });
  await here().install(answerWith("one", [MOUNT!], []), false);
  assert.deepEqual([changed, anews], [[[MOUNT!.id]], 1]);
  await here().install(answerWith("two", []), false); // a namespace alone
  assert.deepEqual([changed.at(-1), anews], [[MOUNT!.id], 2]);
  await here().install(answerWith("three", []), false);
  assert.equal(anews, 2);
});

test("namespaces that are not withheld any more are told of when all is settled, also where something else was told before", async () => {
  const lifted: string[] = [];
  const { here } = await stage({
    lifted: async (spaces) => void lifted.push(...spaces.map(({ path }) => path)),
  });
  await here().install(answerWith("one", []), false);
  await here().settle();
  await here().install(answerWith("two", [], []), false);
  await here().install(answerWith("three", [MOUNT!], []), false);
  assert.deepEqual(lifted, []);
  await here().settle();
  assert.deepEqual(lifted, ["team"]);
});

test("that something goes is known to the next process, and what another one has written when it is read again", async () => {
  const { here, view, store, world } = await stage();
  const other = here();
  assert.equal(other.count, 0);
  await here().install(answerWith("one", []), false);
  other.reread();
  assert.equal(other.count, 1);
  await here().going();
  const { index } = store;
  await here().settle();
  assert.equal(scrubOf(view, world.clock.now())?.index, index);
});

test("what is left of a namespace goes without its mounts, and what is this cluster's own does not", async () => {
  const { here, store } = await stage();
  await store.write((tx) => {
    for (const key of ["shared/ns/team1/policies/p", "local/ns/team1/own"])
      tx.put(key, Buffer.from("1"), namespaceScope("team1"));
    tx.put("shared/of-the-core", Buffer.from("1"), CORE_SCOPE);
  });
  await here().install(answerWith("one", []), false);
  const { signal } = new AbortController();
  assert.deepEqual(await all(here().remains(signal)), ["shared/ns/team1/policies/p"]);
});

test("what was given by a mount is waited for five minutes, and nothing of it goes where that was broken off", async () => {
  const { here, store, world } = await stage({
    evacuated: async (_mounts, signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    },
  });
  const key = `shared/mounts/${MOUNT!.id}`;
  await store.write((tx) => tx.put(key, Buffer.from("1"), mountScope(MOUNT!.id)));
  await here().install(answerWith("one", [MOUNT!], []), false);
  const waits = all(here().remains(new AbortController().signal));
  await nextTurn();
  await world.timers.advance(5n * MINUTE - SECOND);
  assert.equal(await Promise.race([waits, nextTurn().then(() => "waits")]), "waits");
  await world.timers.advance(2n * SECOND);
  assert.ok((await waits).includes(key));
});

test("nothing goes of a mount where the session ends while what it has given is revoked", async () => {
  const { here, store } = await stage({
    evacuated: async (_mounts, signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  });
  const key = `shared/mounts/${MOUNT!.id}`;
  await store.write((tx) => tx.put(key, Buffer.from("1"), mountScope(MOUNT!.id)));
  await here().install(answerWith("one", [MOUNT!], []), false);
  const session = new AbortController();
  const waits = all(here().remains(session.signal));
  await nextTurn();
  session.abort(new Error("the session is over"));
  await assert.rejects(waits, /the session is over/);
});
