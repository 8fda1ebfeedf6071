// A store whose shared rows another cluster writes: it leads, and takes them from whoever applies what that has
// written, and from nobody else. The same look refuses what a store that follows does not take.

import assert from "node:assert/strict";
import test from "node:test";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { makeLog } from "@holdfast/shared/log";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { bytes, IDENTITY, TREE_KEY } from "../../tests/support/made/made-store.ts";
import { WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { Store } from "./store.ts";

const refused = (error: unknown) =>
  error instanceof Failure && error.code === "shared-write-refused" && error.kind === "internal";

async function made() {
  const lines: string[] = [];
  const world = fakeWorld();
  const { clock } = world;
  const write = (line: string) => void lines.push(line);
  const log = makeLog({ level: "debug", format: "standard", write, clock });
  const store = new Store({ ...world, engine: new WatchedEngine(), log });
  await store.create(TREE_KEY, IDENTITY, (tx) => tx.put("shared/ns/root/policies/a", bytes("1")));
  return { store, lines };
}

function put(store: Store, ...keys: string[]): Promise<void> {
  return store.write((tx) => {
    for (const key of keys) tx.put(key, bytes("2"));
  });
}

test("shared rows are not written, added or deleted by anybody but who applies them", async () => {
  const { store, lines } = await made();
  store.leaveShared(true);
  const { index } = store;
  const key = "shared/ns/root/policies/a";
  await assert.rejects(put(store, key), refused);
  await assert.rejects(put(store, "local/b", "core/c", "shared/tokens/by-hash/d"), refused);
  await assert.rejects(
    store.write((tx) => tx.delete(key)),
    refused,
  );
  assert.deepEqual([store.index, store.get("local/b"), store.get("core/c")], [index, null, null]);

  await put(store, "local/b", "core/c");
  await store.writeApplied((tx) => {
    tx.delete(key);
    tx.put("shared/e", bytes("3"));
    tx.put("local/f", bytes("3")); // what is derived goes along
  });
  assert.equal(store.get(key), null);
  for (const written of ["shared/e", "local/f"])
    assert.equal(text(store.get(written) ?? bytes("")), "3");
  assert.equal(store.index, index + 2n);

  const alarms = lines.filter((line) => line.includes("storage.shared-write-refused"));
  assert.equal(alarms.length, 3);
  assert.match(alarms[0] ?? "", /ERROR.*kind=shared\/ns\/root\/policies\b(?!\/a)/);
  assert.match(alarms[1] ?? "", /kind=shared\/tokens\b(?!\/by-hash\/d)/);
});

test("what is refused is undone, and taken again when the cluster writes shared rows itself", async () => {
  const { store } = await made();
  store.leaveShared(true);
  let undone = 0;
  const write = store.write((tx) => tx.put("shared/x", bytes("1")), { undo: () => void undone++ });
  await assert.rejects(write, refused);
  assert.equal(undone, 1);
  store.leaveShared(false);
  await put(store, "shared/x");
  assert.notEqual(store.get("shared/x"), null);
});

test("one that follows refuses what it is told to, whoever else writes shared rows", async () => {
  const { store } = await made();
  store.leaveShared(true);
  await store.follow();
  const following = (error: unknown) =>
    error instanceof Failure && error.code === "store-following";
  await assert.rejects(put(store, "shared/x"), following);
  await assert.rejects(put(store, "local/x"), following);
  await assert.rejects(
    store.writeApplied((tx) => tx.put("shared/x", bytes("1"))),
    following,
  );
  await put(store, "core/x");
  await store.lead();
  await assert.rejects(put(store, "shared/x"), refused); // as before
});
