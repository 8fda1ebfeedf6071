// What the simulator takes for right where somebody was promoted by force with rows that are newer than its log, and what it does not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, madeStore, openedStore, TREE_KEY } from "../../tests/support/made/made-store.ts";
import { adoptRest, anchorOf, rowsAt } from "../../tests/support/stores/adopted-store.ts";
import { WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import type { AdoptedRow, Store } from "../../src/storage/store.ts";
import { Violation } from "../state.ts";
import { assertRows, Ledger, type Seen } from "./ledger.ts";

const SCOPE = new Uint8Array(16);

/** A cluster that took over rows of its primary while that wrote, and leads now. `extra`: a row that it has from nowhere; `upTo`: how many of
 *  the primary's entries after the anchor it may have seen, null where it knows of none. */
async function promoted(upTo: bigint | null, extra: readonly AdoptedRow[] = []) {
  const ledger = new Ledger();
  const [theirs, own] = [seen("a"), seen("b")];
  const primary = await madeStore();
  await put(primary.store, "local/changed", "1");
  await put(primary.store, "local/removed", "1");
  await put(primary.store, "local/same", "1");
  const anchor = primary.store.index;
  const { engine, store } = openedStore(new WatchedEngine());
  await store.create(TREE_KEY, { lineage: Buffer.alloc(16, 9), cluster: "b" }, () => {});
  await store.follow();
  await store.beginAdopting(anchorOf(primary));
  await put(primary.store, "local/changed", "2");
  await primary.store.write((tx) => tx.delete("local/removed"));
  await put(primary.store, "local/changed", "3");
  await put(primary.store, "local/later", "1");
  ledger.observe(theirs, primary.store, true);
  await store.adopt(rowsAt(primary.engine, ["local/changed"]), "");
  await adoptRest({ store, engine }, primary.engine);
  ledger.observe(own, store, false);
  if (extra.length > 0) {
    await store.beginAdopting(anchorOf({ store, engine }));
    await store.adopt(extra, "");
    await store.finishAdopting();
  }
  if (upTo !== null) own.newerTo = anchor + upTo;
  await store.lead();
  await store.startEpoch("b");
  return { ledger, own, store, anchor, observe: () => ledger.observe(own, store, true) };
}

function seen(name: string): Seen {
  return { name, spot: null, mayGoBack: false, mayLeave: new Set(), newerTo: null, newerRows: 0 };
}

function put(store: Store, key: string, value: string): Promise<void> {
  return store.write((tx) => tx.put(key, bytes(value), SCOPE));
}

test("who is promoted by force begins with the rows that it has, as entries of its primary have made them", async () => {
  const { ledger, own, store, anchor, observe } = await promoted(4n);
  observe();
  ledger.begun(1, anchor + 1n);
  ledger.begun(3, anchor + 3n);
  const last = [1, 3].map((number) => ledger.isLast(number, "local/changed", own.spot!));
  assert.deepEqual(last, [false, true]); // a read gives the write whose entry made it
  const rows = ledger.rowsAt(own.spot!);
  assertRows("b", store, rows);
  assert.deepEqual([...rows.keys()].toSorted(), ["local/changed", "local/later", "local/same"]);
  assert.deepEqual([own.newerTo, own.newerRows], [null, 3]);
  await put(store, "local/changed", "4");
  observe();
  assertRows("b", store, ledger.rowsAt(own.spot!));
});

test("a row that is newer than it may be is wrong", async () => {
  const { observe } = await promoted(3n);
  assert.throws(observe, new Violation("b begins with a wrong value of local/later"));
});

test("a row that no entry has made is wrong, and one that is too old is as well where none may be newer", async () => {
  const extra = { key: "local/same", scope: SCOPE, value: bytes("7") };
  const { observe } = await promoted(4n, [extra]);
  assert.throws(observe, new Violation("b begins with a wrong value of local/same"));
  const { ledger, own, store, observe: look } = await promoted(null);
  look();
  assert.throws(() => assertRows("b", store, ledger.rowsAt(own.spot!)), Violation);
});
