// A log that was let go is told from one that passed over indexes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { trimLog } from "../../src/storage/trimming.ts";
import { bytes, type MadeStore, madeStore } from "../../tests/support/made/made-store.ts";
import { Ledger, type Seen } from "./ledger.ts";

/** Entries 1 to 10. */
async function withEntries(): Promise<MadeStore & { ledger: Ledger; write: () => Promise<void> }> {
  const ledger = new Ledger();
  const seen: Seen = {
    name: "a",
    spot: null,
    mayGoBack: false,
    mayLeave: new Set(),
    newerTo: null,
    newerRows: 0,
  };
  const made = await madeStore();
  const { store } = made;
  const write = async () => {
    await store.write((tx) => tx.put("shared/a", bytes(`${store.index}`)));
    ledger.observe(seen, store, true);
  };
  ledger.observe(seen, store, true);
  for (let i = 0; i < 10; i++) await write();
  return { ...made, ledger, write };
}

test("a log that is trimmed has passed over nothing", async () => {
  const { store, world, ledger } = await withEntries();
  await trimLog(store, world, { minEntries: 2n });
  assert.equal(store.tail!.first, 9n);
  assert.equal(ledger.passesOver(5n, store.tail!), false);
});

test("a log that begins behind indexes which were passed over has, also once it is trimmed, but not behind these", async () => {
  const { store, world, ledger, write } = await withEntries();
  await store.skipTo(100n);
  assert.equal(ledger.passesOver(5n, store.tail!), true);
  assert.equal(ledger.passesOver(10n, store.tail!), true, "its entries came to their end there");
  for (let i = 0; i < 10; i++) await write();
  await trimLog(store, world, { minEntries: 2n });
  assert.equal(store.tail!.first, 109n);
  assert.equal(ledger.passesOver(10n, store.tail!), true);
  assert.equal(ledger.passesOver(100n, store.tail!), false);
  assert.equal(ledger.passesOver(105n, store.tail!), false);
});
