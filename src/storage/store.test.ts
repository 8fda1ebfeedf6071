// Transactions: what they see, what they leave, who is told.

import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { bytes, madeStore } from "../../tests/support/made/made-store.ts";
import { text } from "@holdfast/shared/bytes";
import { InvariantError } from "@holdfast/shared/invariant";
import { HEAD_ROW } from "./rows/head.ts";
import { decodeEntry } from "./rows/log-entry.ts";
import type { Store } from "./store.ts";
import type { StoreTx } from "./transaction.ts";

function read(store: Store | StoreTx, key: string): string | null {
  const value = store.get(key);
  return value === null ? null : text(value);
}

test("a transaction sees its own writes and everything accepted before it", async () => {
  const { store, engine } = await madeStore();
  const open = engine.hold();
  const writes = [
    store.write((tx) => {
      tx.put("shared/a", bytes("1"));
      tx.put("shared/b", bytes("1"));
    }),
    store.write((tx) => {
      assert.equal(read(tx, "shared/a"), "1");
      tx.put("shared/a", bytes("2"));
      tx.delete("shared/b");
      assert.equal(read(tx, "shared/a"), "2");
      assert.deepEqual(tx.keys("shared/", { limit: 9 }), ["shared/a"]);
    }),
    store.write((tx) => {
      assert.equal(read(tx, "shared/a"), "2");
      assert.equal(tx.get("shared/b"), null);
      assert.deepEqual(tx.list("", { limit: 9 }), ["shared/"]);
      assert.deepEqual(
        tx.rows("shared/", { limit: 9 }).map(({ key }) => key),
        ["shared/a"],
      );
    }),
  ];
  open();
  await Promise.all(writes);
  assert.equal(read(store, "shared/a"), "2");
  assert.equal(store.get("shared/b"), null);
});

test("a transaction sees pending writes over durable ones page by page, and deletions too", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => {
    for (let i = 0; i < 20; i++) tx.put(`shared/k${String(i).padStart(2, "0")}`, bytes("old"));
  });
  const open = engine.hold();
  const change = store.write((tx) => {
    for (let i = 0; i < 20; i += 2) tx.delete(`shared/k${String(i).padStart(2, "0")}`);
    tx.put("shared/k05x", bytes("new"));
  });
  const looks = store.write((tx) => {
    const all: string[] = [];
    for (let after: string | undefined; ; after = all.at(-1)) {
      const page = tx.keys("shared/", { limit: 3, ...(after === undefined ? {} : { after }) });
      all.push(...page);
      if (page.length < 3) return all;
    }
  });
  open();
  await change;
  const odd = Array.from({ length: 10 }, (_, i) => `shared/k${String(2 * i + 1).padStart(2, "0")}`);
  assert.deepEqual(await looks, [...odd, "shared/k05x"].toSorted());
  assert.deepEqual(store.keys("shared/", { limit: 99 }), await looks);
});

test("the index known inside the function is the one in the log, after local and shared writes alike", async () => {
  const { store } = await madeStore();
  const a = await store.write((tx) => (tx.put("local/a", bytes("1")), tx.index));
  const b = await store.write((tx) => (tx.put("shared/a", bytes("1")), tx.index));
  assert.deepEqual([a, b], [1n, 2n]);
  assert.deepEqual(
    store.logs(0n, 9).map(({ entry }) => decodeEntry(entry).index),
    [1n, 2n],
  );
  assert.equal(store.head?.lastDr, 2n);
  assert.equal(store.head?.lastPerf, 2n);
  await store.write((tx) => tx.put("local/b", bytes("1")));
  assert.equal(store.head?.lastDr, 3n);
  assert.equal(store.head?.lastPerf, 2n);
});

test("a transaction of ignored rows only takes no index and leaves head and log alone", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  const head = engine.meta(HEAD_ROW);
  const index = await store.write((tx) => (tx.put("core/x", bytes("1")), tx.index));
  assert.equal(index, 2n, "it is told the index it would have had");
  assert.equal(store.index, 1n);
  assert.deepEqual(engine.meta(HEAD_ROW), head);
  assert.equal(engine.lastLog(), 1n);
  assert.equal(read(store, "core/x"), "1");
  assert.equal(await store.write((tx) => (tx.put("shared/b", bytes("1")), tx.index)), 2n);
});

test("ignored rows ride in the same commit as shared ones and are not in the entry", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => {
    tx.put("core/x", bytes("1"));
    tx.put("shared/a", bytes("1"));
  });
  const batch = engine.batches[0]!;
  assert.deepEqual(batch.data.map(({ key }) => key).toSorted(), ["core/x", "shared/a"]);
  assert.deepEqual(
    batch.leaves.map(({ key }) => key),
    ["shared/a"],
  );
  const { operations } = decodeEntry(batch.log[0]!.entry);
  assert.deepEqual(
    operations.map(({ key }) => key),
    ["shared/a"],
  );
});

test("a transaction that changes nothing takes no index and makes no commit", async () => {
  const { store, engine } = await madeStore();
  await store.write((tx) => tx.delete("shared/none"));
  await store.write((tx) => tx.get("shared/none"));
  await store.write((tx) => {
    tx.put("shared/a", bytes("1"));
    tx.delete("shared/a");
  });
  assert.equal(store.index, 0n);
  assert.equal(engine.batches.length, 0);
});

test("a control record alone makes an entry that every secondary gets", async () => {
  const { store } = await madeStore();
  await store.write((tx) => tx.control({ type: 1, body: bytes("x") }));
  const entry = decodeEntry(store.logs(1n, 1)[0]!.entry);
  assert.equal(text(entry.control!.body), "x");
  assert.equal(store.head?.lastPerf, 1n);
});

test("a deletion carries the scope that the record was put with", async () => {
  const { store } = await madeStore();
  const scope = Buffer.alloc(16, 9);
  await store.write((tx) => tx.put("shared/a", bytes("1"), scope));
  await store.write((tx) => tx.delete("shared/a"));
  const [put, gone] = store.logs(1n, 2).map(({ entry }) => decodeEntry(entry).operations[0]!);
  assert.deepEqual(put!.scope, scope);
  assert.deepEqual(gone!.scope, scope);
  assert.equal(gone!.value, null);
});

test("a throw undoes the whole transaction and takes no index", async () => {
  const { store, engine } = await madeStore();
  const own = new Error("the function's own");
  let kept: StoreTx | undefined;
  const failed = store.write((tx) => {
    kept = tx;
    tx.put("shared/a", bytes("1"));
    tx.put("core/a", bytes("1"));
    throw own;
  });
  await assert.rejects(failed, own);
  assert.throws(() => kept!.put("shared/a", bytes("1")), InvariantError);
  assert.equal(engine.batches.length, 0);
  await store.write((tx) => {
    assert.equal(tx.get("shared/a"), null);
    assert.equal(tx.index, 1n);
  });
});

test("`undo` is called at once when the transaction is refused, and only then", async () => {
  const { store } = await madeStore();
  const undone: string[] = [];
  const undo = (name: string) => () => void undone.push(name);
  const thrown = store.write(
    () => {
      throw new Error("no");
    },
    { undo: undo("throw") },
  );
  assert.deepEqual(undone, ["throw"]);
  const large = store.write(
    (tx) => {
      for (let i = 0; i < 8193; i++) tx.put(`shared/${i}`, bytes("1"));
    },
    { undo: undo("too large") },
  );
  assert.deepEqual(undone, ["throw", "too large"]);
  await assert.rejects(thrown);
  await assert.rejects(large);
  await store.write((tx) => tx.put("shared/a", bytes("1")), { undo: undo("accepted") });
  assert.deepEqual(undone, ["throw", "too large"]);
});

test("a transaction inside another is refused, and the outer one goes on", async () => {
  const { store } = await madeStore();
  let inner: Promise<unknown> = Promise.resolve();
  await store.write((tx) => {
    inner = store.write((nested) => nested.put("shared/inner", bytes("1")));
    inner.catch(() => {});
    tx.put("shared/outer", bytes("1"));
  });
  await assert.rejects(inner, InvariantError);
  assert.deepEqual(store.keys("shared/", { limit: 9 }), ["shared/outer"]);
});

test("a function that returns a promise is refused and nothing of it is kept", async () => {
  const { store } = await madeStore();
  const late = store.write((tx) => {
    tx.put("shared/a", bytes("1"));
    return Promise.resolve();
  });
  await assert.rejects(late, InvariantError);
  assert.equal(store.get("shared/a"), null);
});

test("a key that is put twice in a group has one leaf, and the sums hold it once", async () => {
  const { store } = await madeStore();
  await Promise.all([
    store.write((tx) => tx.put("shared/a", bytes("1"))),
    store.write((tx) => tx.put("shared/a", bytes("2"))),
    store.write((tx) => tx.delete("shared/a")),
    store.write((tx) => tx.put("shared/a", bytes("3"))),
  ]);
  assert.equal(store.trees.shared.total().count, 1);
  assert.ok((await store.check()).ok);
});

test("watches, index waits and cache listeners are called after the commit, caches first", async () => {
  const { store, engine } = await madeStore();
  const heard: string[] = [];
  store.onCommit((changed) => heard.push(`cache ${[...changed.keys()].join()}`));
  store.watch("shared/a/", ({ index, keys }) => heard.push(`watch ${index} ${keys.join()}`));
  store.watch("shared/b", () => heard.push("never"));
  store.onIndex(1n, () => heard.push(`index ${store.index} ${read(store, "shared/a/x")}`));
  const open = engine.hold();
  const write = store
    .write((tx) => tx.put("shared/a/x", bytes("1")))
    .then(() => heard.push("answer"));
  await nextTurn();
  assert.equal(heard.length, 0);
  open();
  await write;
  assert.deepEqual(heard, ["cache shared/a/x", "watch 1 shared/a/x", "index 1 1", "answer"]);
  store.onIndex(1n, () => heard.push("at once"));
  assert.equal(heard.at(-1), "at once");
});

test("a watcher that throws is logged without its message and harms nobody", async () => {
  const { store, world } = await madeStore();
  store.watch("shared/", () => {
    throw new SyntaxError('Unexpected token "hunter2"');
  });
  let woken = false;
  store.watch("shared/", () => void (woken = true));
  await store.write((tx) => tx.put("shared/a", bytes("1")));
  assert.ok(woken);
  const log = world.lines.join("");
  assert.match(log, /a watcher failed/);
  assert.ok(!log.includes("hunter2"));
  await store.write((tx) => tx.put("shared/a", bytes("2")));
});
