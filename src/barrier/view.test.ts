// What a room sees: records below its prefix, by relative names, whole transactions across views.

import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { jsonCodec } from "@holdfast/shared/codec";
import { InvariantError } from "@holdfast/shared/invariant";
import { decodeEntry } from "../storage/rows/log-entry.ts";
import type { Tx, View } from "./view.ts";

interface Item {
  readonly name: string;
}
const codec = jsonCodec<Item>();

async function filled(): Promise<View> {
  const { barrier } = await madeBarrier();
  const view = barrier.view("shared/room/");
  await view.write((tx) => {
    for (const key of ["a", "b/1", "b/2", "b/c/3", "d"]) tx.put(key, { name: key }, codec);
  });
  await barrier.view("shared/").write((tx) => {
    tx.put("before", { name: "x" }, codec);
    tx.put("roomy", { name: "x" }, codec);
    tx.put("zebra", { name: "x" }, codec);
  });
  return view;
}

/** The same reads outside a transaction and inside one. */
async function both(view: View, look: (reads: View | Tx) => void): Promise<void> {
  look(view);
  await view.write((tx) => look(tx));
}

test("records, keys and names are those below the prefix, and relative to it", async () => {
  const view = await filled();
  await both(view, (reads) => {
    assert.deepEqual(reads.keys("", { limit: 99 }), ["a", "b/1", "b/2", "b/c/3", "d"]);
    assert.deepEqual(reads.keys("b/", { limit: 99 }), ["b/1", "b/2", "b/c/3"]);
    assert.deepEqual(reads.list("", { limit: 99 }), ["a", "b/", "d"]);
    assert.deepEqual(reads.list("b/", { limit: 99 }), ["1", "2", "c/"]);
    assert.deepEqual(reads.records("b/", codec, { limit: 2 }), [
      { key: "b/1", value: { name: "b/1" } },
      { key: "b/2", value: { name: "b/2" } },
    ]);
    assert.deepEqual(reads.get("b/c/3", codec), { name: "b/c/3" });
    assert.equal(reads.get("none", codec), null);
  });
});

test("cursors are relative as well, in both directions", async () => {
  const view = await filled();
  await both(view, (reads) => {
    assert.deepEqual(reads.keys("", { limit: 2, after: "b/1" }), ["b/2", "b/c/3"]);
    assert.deepEqual(reads.keys("", { limit: 2, after: "b/2", reverse: true }), ["b/1", "a"]);
    assert.deepEqual(reads.keys("b/", { limit: 9, after: "a" }), ["b/1", "b/2", "b/c/3"]);
    assert.deepEqual(
      reads.records("", codec, { limit: 1, reverse: true }).map(({ key }) => key),
      ["d"],
    );
    assert.deepEqual(reads.list("", { limit: 9, after: "a" }), ["b/", "d"]);
    assert.deepEqual(reads.list("", { limit: 9, after: "b/" }), ["d"]);
    assert.deepEqual(reads.list("b/", { limit: 1, after: "1" }), ["2"]);
  });
});

test("a view of what lies below sees and writes only there", async () => {
  const view = await filled();
  const below = view.sub("b/");
  assert.equal(below.prefix, "shared/room/b/");
  assert.deepEqual(below.keys("", { limit: 9 }), ["1", "2", "c/3"]);
  await below.write((tx) => tx.put("4", { name: "4" }, codec));
  assert.deepEqual(view.get("b/4", codec), { name: "4" });
  assert.throws(() => view.sub("b"), InvariantError);
});

test("a transaction sees its own records, decoded", async () => {
  const view = await filled();
  const index = await view.write((tx) => {
    tx.put("a", { name: "new" }, codec);
    tx.delete("d");
    assert.deepEqual(tx.get("a", codec), { name: "new" });
    assert.equal(tx.get("d", codec), null);
    assert.deepEqual(
      tx.records("", codec, { limit: 1 }).map(({ value }) => value),
      [{ name: "new" }],
    );
    return tx.index;
  });
  assert.equal(index, 3n);
  assert.equal(view.index, 3n);
});

test("a transaction sees every write before it, also those on their way, cached or not", async () => {
  const view = await filled();
  const names = (tx: Tx) => ["a", "b/1", "d", "new"].map((key) => tx.get(key, codec)?.name ?? null);
  for (const key of ["a", "b/1", "d"]) view.get(key, codec); // decrypted and kept
  const seen: (string | null)[][] = [];
  const changed = view.write((tx) => {
    tx.put("a", { name: "changed" }, codec);
    tx.put("new", { name: "made" }, codec);
    tx.delete("d");
  });
  const between = view.write((tx) => void seen.push(names(tx)));
  const undone = view.write((tx) => tx.put("a", { name: "again" }, codec));
  await Promise.all([changed, between, undone]);
  await view.write((tx) => void seen.push(names(tx)));
  assert.deepEqual(seen, [
    ["changed", "b/1", null, "made"],
    ["again", "b/1", null, "made"],
  ]);
});

test("what is kept is the same value until something else is stored there, and is gone when the barrier is sealed", async () => {
  const { barrier } = await madeBarrier();
  const view = barrier.view("shared/room/");
  await view.write((tx) => tx.put("a", { name: "first" }, codec));
  assert.equal(view.getKept("none", codec), null);
  view.getKept("a", codec); // read, and from now on in the cache
  const first = view.getKept("a", codec);
  assert.deepEqual(first, { name: "first" });
  assert.equal(view.getKept("a", codec), first);
  assert.notEqual(view.get("a", codec), first, "whoever gets it otherwise may change it");
  assert.equal(view.getKept("a", { ...codec }) === first, false, "another codec has made none");

  const changing = view.write((tx) => tx.put("a", { name: "second" }, codec));
  assert.deepEqual(view.getKept("a", codec), { name: "first" }, "that is not durable yet");
  await changing;
  assert.deepEqual(view.getKept("a", codec), { name: "second" });
  assert.deepEqual(first, { name: "first" });
  await view.write((tx) => tx.delete("a"));
  assert.equal(view.getKept("a", codec), null);

  await view.write((tx) => tx.put("a", { name: "third" }, codec));
  view.getKept("a", codec);
  view.getKept("a", codec);
  await barrier.seal();
  assert.throws(() => view.getKept("a", codec), { code: "barrier-sealed" });
});

test("one transaction across two views is one entry, and is undone as one", async () => {
  const { barrier, store } = await madeBarrier();
  const scope = Buffer.alloc(16, 1);
  const [tokens, leases] = [barrier.view("shared/tokens/"), barrier.view("local/leases/", scope)];
  await tokens.write((tx) => {
    tx.put("t", { name: "token" }, codec);
    const other = tx.on(leases);
    assert.equal(other.index, tx.index);
    assert.equal(other.time, tx.time);
    other.put("l", { name: "lease" }, codec);
    assert.deepEqual(other.on(tokens).get("t", codec), { name: "token" });
  });
  const rows = store.logs(0n, 9);
  assert.equal(rows.length, 1);
  const { operations } = decodeEntry(rows[0]!.entry);
  assert.deepEqual(
    operations.map(({ key }) => key),
    ["shared/tokens/t", "local/leases/l"],
  );
  assert.deepEqual(operations[1]!.scope, scope);
  const undone = tokens.write((tx) => {
    tx.delete("t");
    tx.on(leases).delete("l");
    throw new Error("own");
  });
  await assert.rejects(undone, /own/);
  assert.deepEqual(tokens.get("t", codec), { name: "token" });
  assert.deepEqual(leases.get("l", codec), { name: "lease" });
});

test("watches are relative and told of commits below the view", async () => {
  const view = await filled();
  const heard: string[] = [];
  const end = view.watch("b/", ({ index, keys }) => heard.push(`${index} ${keys.join()}`));
  view.watch("", ({ keys }) => heard.push(`all ${keys.join()}`));
  await view.write((tx) => {
    tx.put("b/1", { name: "x" }, codec);
    tx.put("a", { name: "x" }, codec);
  });
  assert.deepEqual(heard.toSorted(), ["3 b/1", "all b/1,a"]);
  end();
  await view.write((tx) => tx.delete("b/1"));
  assert.equal(heard.length, 3);
});

test("a record that was stored by a view opens through every view that reaches it", async () => {
  const { barrier } = await madeBarrier();
  await barrier.view("shared/a/b/").write((tx) => tx.put("c", { name: "c" }, codec));
  assert.deepEqual(barrier.view("shared/").get("a/b/c", codec), { name: "c" });
  assert.throws(() => barrier.view("shared"), InvariantError);
});
