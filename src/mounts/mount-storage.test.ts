import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { MountStorage } from "./mount-storage.ts";
import { WriteAheadLog } from "./undo/write-ahead.ts";

const codec = jsonCodec<string>();

async function made() {
  const { barrier, world } = await madeBarrier();
  const state = { active: true };
  const life = { ended: false };
  const view = barrier.view("local/").sub("ns/root/mounts/m/wal/");
  const takesNew = () => state.active;
  const writeAhead = new WriteAheadLog({ view, ...world, takesNew });
  const data = barrier.view("shared/").sub("ns/root/mounts/m/data/");
  const storage = new MountStorage(data, life, writeAhead);
  const records = () => writeAhead.page(undefined).map(({ kind, data: said }) => [kind, said]);
  return { storage, writeAhead, records, life, state };
}

test("one transaction writes what an engine keeps and the record of what it is about to make", async () => {
  const { storage, records, writeAhead } = await made();
  const id = await storage.write((tx) => {
    tx.put("role", "next", codec);
    return tx.begin("key", { user: "u" });
  });
  assert.equal(await storage.get("role", codec), "next");
  assert.deepEqual(records(), [["key", { user: "u" }]]);
  assert.equal(writeAhead.get(id)?.kind, "key");
});

test("a transaction that keeps what was made settles its record with it", async () => {
  const { storage, records, writeAhead } = await made();
  const id = await writeAhead.begin("key", {});
  const other = await writeAhead.begin("other", {});
  await storage.write((tx) => {
    tx.put("role", "new key", codec);
    tx.settle(id);
    tx.settle("00000000-0000-4000-8000-000000000000"); // one that is gone is no fault
  });
  assert.deepEqual(records(), [["other", {}]]);
  assert.equal(writeAhead.get(other)?.kind, "other");
});

test("a throw undoes all of it: the records stay as they were", async () => {
  const { storage, records, writeAhead } = await made();
  const id = await writeAhead.begin("key", {});
  const writing = storage.write((tx) => {
    tx.put("role", "x", codec);
    tx.settle(id);
    tx.begin("other", {});
    throw new Failure("invalid", "no", "no");
  });
  await assert.rejects(writing, Failure);
  assert.deepEqual(records(), [["key", {}]]);
  assert.equal(await storage.get("role", codec), null);
});

test("nothing begins in a mount that is being disabled, but what there is can be settled", async () => {
  const { storage, records, writeAhead, state, life } = await made();
  const id = await writeAhead.begin("key", {});
  state.active = false;
  const beginning = storage.write((tx) => tx.begin("other", {}));
  await assert.rejects(beginning, Failure);
  await storage.write((tx) => tx.settle(id));
  assert.deepEqual(records(), []);
  life.ended = true;
  await assert.rejects(
    storage.write((tx) => tx.settle(id)),
    Failure,
  );
});
