// Steps of another cluster's log on their way into a store that takes them one after the other, refuses some, or is not where they begin.

import assert from "node:assert/strict";
import test from "node:test";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { keyMissing } from "../../barrier/failures.ts";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { storageTransactionTooLarge } from "../../storage/failures.ts";
import type { WriteOptions } from "../../storage/writing.ts";
import type { Progress } from "../stream/receiving.ts";
import type { AppliedParts } from "./applied-log.ts";
import type { AppliedPlace } from "./applied-place.ts";
import { type AppliedStep, AppliedWrites } from "./applied-writes.ts";

const SCOPE = new Uint8Array(16);
const PLACE: AppliedPlace = {
  lineage: new Uint8Array(16),
  epoch: 1,
  index: 0n,
  chain: new Uint8Array(32),
  of: 1,
  half: null,
  part: 0,
  until: null,
};

const at = (index: bigint, more: Partial<AppliedPlace> = {}) => ({ ...PLACE, index, ...more });

function step(index: bigint, keys: string, more: Partial<AppliedPlace> = {}): AppliedStep {
  const operations = Array.from(keys, (key) => ({
    key,
    scope: SCOPE,
    // A small letter is put, a large one deleted.
    value: key === key.toLowerCase() ? new Uint8Array(1) : null,
  }));
  return { operations, place: at(index, more) };
}

interface Taken {
  readonly keys: string;
  readonly place: AppliedPlace;
  readonly options: WriteOptions;
}

/** `refuses`: with what a transaction of these keys is, if it is. */
function stage(refuses: (keys: string) => Error | null = () => null, stored = PLACE) {
  const found = { place: stored, keys: 0 };
  const taken: Taken[] = [];
  const store = {
    locked: false,
    writeApplied: async (run: (tx: object) => void, options: WriteOptions) => {
      const tx = { keys: "", place: PLACE };
      run(tx);
      const refused = refuses(tx.keys);
      if (refused !== null) throw refused;
      found.place = tx.place;
      taken.push({ ...tx, options });
    },
  };
  const places = {
    read: () => found.place,
    readIn: () => found.place,
    put: (tx: { place: AppliedPlace }, place: AppliedPlace) => void (tx.place = place),
  };
  const followers = {
    apply: (tx: { keys: string }, { key }: { readonly key: string }) => void (tx.keys += key),
  };
  const ports = { keys: async () => void found.keys++ };
  const world = fakeWorld();
  const parts = { ...world, store, places, followers, ports } as unknown as AppliedParts;
  const writes = new AppliedWrites(parts);
  const progress = { hasRoom: () => {}, wantsRoom: () => {} } as unknown as Progress;
  const { signal } = new AbortController();
  const write = (...steps: readonly AppliedStep[]) =>
    writes.write(steps, { progress, signal, link: {} as PeerLink });
  const keys = () => taken.map((one) => one.keys);
  return { found, writes, write, taken, keys, world };
}

const tooLarge = (most: number) => (keys: string) =>
  keys.length > most ? storageTransactionTooLarge("too large") : null;

test("steps are taken one after the other, each with the place after it", async () => {
  const { write, writes, keys, taken } = stage();
  await write(step(1n, "a"), step(2n, "bc"), step(5n, ""));
  assert.deepEqual(keys(), ["a", "bc", ""]);
  assert.deepEqual(
    taken.map(({ place }) => place.index),
    [1n, 2n, 5n],
  );
  assert.equal(writes.place?.index, 5n);
});

test("none is taken where the place is not the one before it: another was taken meanwhile", async () => {
  const { write, keys, found } = stage();
  await write(step(1n, "a"));
  found.place = at(7n);
  await assert.rejects(write(step(2n, "b"), step(3n, "c")), /what comes before it was not applied/);
  assert.deepEqual(keys(), ["a"]);
});

test("where one is refused none after it is taken, and it goes on from the last that was", async () => {
  let isBad = true;
  const { write, writes, keys } = stage((some) =>
    isBad && some === "c" ? new Error("bad") : null,
  );
  await assert.rejects(write(step(1n, "a"), step(2n, "b"), step(3n, "c"), step(4n, "d")), /bad/);
  assert.deepEqual(keys(), ["a", "b"]);
  assert.equal(writes.place?.index, 2n);
  isBad = false;
  await write(step(3n, "c"));
  assert.equal(writes.place?.index, 3n);
});

test("what is too large for one transaction is taken in parts, no two of which lead to the same place; one row is not parted", async () => {
  const { write, taken, keys, writes } = stage(tooLarge(1));
  await write(step(1n, "abcd"), step(2n, "e"));
  assert.deepEqual(keys(), ["a", "b", "c", "d", "e"]);
  const parts = taken.slice(0, 3).map(({ place }) => place);
  assert.ok(parts.every(({ index, half }) => index === 0n && half?.kind === "entry"));
  assert.equal(new Set(parts.map(({ part }) => part)).size, 3);
  assert.deepEqual(writes.place, at(2n));
  const none = stage(tooLarge(0));
  await assert.rejects(none.write(step(1n, "ab")), { code: "storage-transaction-too-large" });
  assert.deepEqual(none.keys(), []);
});

test("parts after a start have other numbers than the one that is stored; of a comparison they stay what they are", async () => {
  const half = { kind: "diff" } as const;
  const stored = at(4n, { half, part: 3 });
  const { write, taken } = stage(tooLarge(1), stored);
  await write(step(4n, "ab", { half }));
  assert.deepEqual(taken[0]!.place, { ...stored, part: 4 });
});

test("keys that are missing are fetched once, and what is sealed with others waits", async () => {
  let has = 0;
  const missing = stage(() => (missing.found.keys >= has ? null : keyMissing()));
  has = 1;
  await missing.write(step(1n, "a"), step(2n, "b"));
  assert.deepEqual([missing.keys(), missing.found.keys], [["a", "b"], 1]);
  has = 9;
  await assert.rejects(missing.write(step(3n, "c")), { code: "replication-keys-missing" });
  assert.equal(missing.found.keys, 2);
  const other = stage(() => new Error("bad"));
  await assert.rejects(other.write(step(1n, "a")), /bad/);
  assert.equal(other.found.keys, 0);
});

test("what only deletes has all of the reserve of a disk, and nothing else has, nor rows that are of no index", async () => {
  const { write, taken } = stage();
  await write(
    step(1n, "AB"),
    step(2n, ""),
    step(3n, "Ab"),
    step(4n, "A", { half: { kind: "diff" } }),
  );
  assert.deepEqual(
    taken.map(({ options }) => options),
    [{ essential: true }, { essential: true }, { deletion: true }, { deletion: true }],
  );
});

test("others have their turn between steps that take long", async () => {
  const { write, world } = stage(() => {
    world.clock.pass(6n * MILLISECOND);
    return null;
  });
  await write(step(1n, "a"), step(2n, "b"), step(3n, "c"));
  assert.ok(world.timers.turns >= 2);
});
