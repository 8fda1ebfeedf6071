// Keys over time: rotation by hand and by itself, counts that no crash can lower, new root keys.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  crashed,
  type MadeBarrier,
  madeBarrier,
  OTHER_KEY,
  ROOT_KEY,
  unsealed,
} from "../../tests/support/made/made-barrier.ts";
import { utf8 } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { deriveKey, entryTerm, openEntry, secretKey } from "../crypto/aead.ts";
import { decodeEntry } from "../storage/rows/log-entry.ts";
import { KEYRING_PATH, TREE_KEY_PATH } from "./key-rows.ts";
import { Keyring } from "./keyring.ts";

const SECOND = 1_000_000_000n;
const HOUR = 3600n * SECOND;
const codec = jsonCodec<string>();

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

/** The keyring as it lies on disk, the margin of a crash counted in. */
function stored({ engine }: MadeBarrier, rootKey = ROOT_KEY): Keyring {
  return Keyring.decode(openEntry(rootKey, KEYRING_PATH, engine.get(KEYRING_PATH)!)!)!;
}

function put({ barrier }: MadeBarrier, key: string, value = "1"): Promise<void> {
  return barrier.view("shared/").write((tx) => tx.put(key, value, codec));
}

test("after a rotation old values are read, and new ones carry the new term", async () => {
  const made = await madeBarrier({ cacheBytes: 0 });
  await put(made, "old");
  assert.equal(await made.barrier.rotate(), 2);
  await put(made, "new");
  const { barrier, engine } = made;
  assert.equal(entryTerm(engine.get("shared/old")!), 1);
  assert.equal(entryTerm(engine.get("shared/new")!), 2);
  const view = barrier.view("shared/");
  assert.equal(view.get("old", codec), "1");
  assert.equal(view.get("new", codec), "1");
  assert.equal(barrier.keyStatus.term, 2);
  const again = await crashed(made);
  assert.ok(unsealed(again.barrier));
  assert.equal(again.barrier.view("shared/").get("old", codec), "1");
  assert.equal(again.barrier.view("shared/").get("new", codec), "1");
});

test("a write that follows a rotation in the same turn is never there without its key", async () => {
  const made = await madeBarrier();
  const open = made.engine.hold();
  const rotating = made.barrier.rotate();
  const write = put(made, "a");
  open();
  await Promise.all([rotating, write]);
  assert.equal(entryTerm(made.engine.get("shared/a")!), 2);
  assert.ok(stored(made).key(2));
});

test("the log carries the new key for whoever holds the root key", async () => {
  const made = await madeBarrier();
  await made.barrier.rotate();
  const { control } = decodeEntry(made.store.logs(1n, 1)[0]!.entry);
  assert.equal(control?.type, 1);
  assert.equal(entryTerm(control.body), 2);
  const wrapper = deriveKey(ROOT_KEY, "holdfast keyring update 1");
  const key = openEntry(wrapper, "control/keyring/2", control.body)!;
  assert.ok(secretKey(key).equals(stored(made).key(2)!));
  assert.equal(openEntry(ROOT_KEY, "control/keyring/2", control.body), null);
  assert.equal(openEntry(wrapper, "control/keyring/3", control.body), null);
});

test("the key upgrade for standbys appears and goes after two minutes", async () => {
  const made = await madeBarrier();
  const { barrier, engine, world } = made;
  const first = stored(made).key(1)!;
  await barrier.rotate();
  const upgrade = engine.get("core/upgrade/1")!;
  const key = openEntry(first, "core/upgrade/1", upgrade)!;
  assert.ok(secretKey(key).equals(stored(made).key(2)!));
  await world.timers.advance(60n * SECOND);
  await barrier.rotate();
  await world.timers.advance(59n * SECOND);
  assert.ok(engine.get("core/upgrade/1") !== null);
  await world.timers.advance(2n * SECOND);
  await made.store.settled();
  assert.equal(engine.get("core/upgrade/1"), null);
  assert.ok(engine.get("core/upgrade/2") !== null, "the younger one has its own two minutes");
  await world.timers.advance(60n * SECOND);
  await made.store.settled();
  assert.equal(engine.get("core/upgrade/2"), null);
});

test("a wall clock that is set back does not keep a key upgrade alive", async () => {
  const { barrier, engine, world, store } = await madeBarrier();
  await barrier.rotate();
  world.clock.jump(world.clock.now() - 10n * HOUR);
  await world.timers.advance(121n * SECOND);
  await store.settled();
  assert.equal(engine.get("core/upgrade/1"), null);
});

test("a key upgrade that a crash left behind goes after the next start", async () => {
  const made = await madeBarrier();
  await made.barrier.rotate();
  const again = await crashed(made);
  unsealed(again.barrier);
  await again.world.timers.advance(121n * SECOND);
  await again.store.settled();
  assert.equal(again.engine.get("core/upgrade/1"), null);
});

test("a rotation that fails leaves the old key in use", async () => {
  const made = await madeBarrier();
  const { barrier, world } = made;
  await put(made, "a");
  let calls = 0;
  const bytes = world.random.bytes.bind(world.random);
  for (let failAt = 1; failAt <= 4; failAt++) {
    calls = 0;
    world.random.bytes = (length) => {
      if (++calls === failAt) throw new Error("the random source failed");
      return bytes(length);
    };
    await assert.rejects(barrier.rotate(), /random/, `call ${failAt}`);
    world.random.bytes = bytes;
    assert.equal(barrier.keyStatus.term, 1);
    await put(made, "b");
    assert.equal(entryTerm(made.engine.get("shared/b")!), 1);
  }
  assert.equal(await barrier.rotate(), 2);
});

test("a rotation that the store refuses after the fact leaves the old key in use", async () => {
  const made = await madeBarrier();
  // Fills up the transaction behind the barrier's back, so that it is refused when it has run.
  const write = made.store.write.bind(made.store);
  made.store.write = (fn, options) =>
    write((tx) => {
      for (let i = 0; i < 9000; i++) tx.put(`core/filler/${i}`, utf8("x"));
      return fn(tx);
    }, options);
  await assert.rejects(made.barrier.rotate(), refused("storage-transaction-too-large"));
  assert.equal(made.barrier.keyStatus.term, 1);
});

test("a key that a crash has brought to its limit is replaced within five minutes", async () => {
  const made = await madeBarrier({ minMargin: 1_000_000 });
  const rotation = { enabled: true, maxOperations: 1_000_000, interval: 0n };
  await made.barrier.configureRotation(rotation);
  const { barrier, world, store } = await crashed(made); // the margin counts as used
  unsealed(barrier);
  assert.ok(barrier.keyStatus.encryptions >= 1_000_000);
  assert.equal(barrier.keyStatus.term, 1);
  await world.timers.advance(300n * SECOND);
  await store.settled();
  assert.equal(barrier.keyStatus.term, 2);
  assert.equal(barrier.keyStatus.encryptions < 10, true);
});

test("rotation by age, under the wall clock, and again after the next interval", async () => {
  const { barrier, world, store } = await madeBarrier();
  await barrier.configureRotation({
    enabled: true,
    maxOperations: 1_000_000,
    interval: 24n * HOUR,
  });
  await world.timers.advance(24n * HOUR - 10n * SECOND);
  assert.equal(barrier.keyStatus.term, 1);
  await world.timers.advance(310n * SECOND);
  await store.settled();
  assert.equal(barrier.keyStatus.term, 2);
  await world.timers.advance(24n * HOUR + 300n * SECOND);
  await store.settled();
  assert.equal(barrier.keyStatus.term, 3);
  await barrier.configureRotation({
    enabled: false,
    maxOperations: 1_000_000,
    interval: 24n * HOUR,
  });
  await world.timers.advance(48n * HOUR);
  assert.equal(barrier.keyStatus.term, 3);
});

test("rotation settings out of range are refused; accepted ones survive a start", async () => {
  const made = await madeBarrier();
  const base = { enabled: true, maxOperations: 1_000_000, interval: 0n };
  const bad = [
    { maxOperations: 999_999 },
    { maxOperations: 3_865_470_567 },
    { maxOperations: 1_000_000.5 },
    { maxOperations: Number.NaN },
    { interval: 24n * HOUR - 1n },
    { interval: -1n },
  ];
  for (const part of bad) {
    const setting = made.barrier.configureRotation({ ...base, ...part });
    await assert.rejects(setting, refused("rotation-out-of-range"));
  }
  const accepted = { ...base, enabled: false, interval: 24n * HOUR };
  await made.barrier.configureRotation(accepted);
  assert.deepEqual(made.barrier.rotation, accepted);
  const again = await crashed(made);
  unsealed(again.barrier);
  assert.deepEqual(again.barrier.rotation, accepted);
});

test("the count is stored exactly on seal", async () => {
  const made = await madeBarrier();
  for (let i = 0; i < 7; i++) await put(made, `${i}`);
  const { encryptions } = made.barrier.keyStatus;
  assert.equal(encryptions, 7);
  await made.barrier.seal();
  assert.equal(stored(made).newest.encryptions, 7);
  unsealed(made.barrier);
  assert.equal(made.barrier.keyStatus.encryptions, 7);
});

test("writes that are under way while it seals are in the count", async () => {
  for (let delay = 0; delay < 25; delay++) {
    const made = await madeBarrier();
    const writes: Promise<void>[] = [put(made, "a")];
    const sealing = made.barrier.seal();
    const chase = (async () => {
      for (let i = 0; i < delay; i++) await Promise.resolve();
      writes.push(put(made, "late"));
    })();
    await Promise.all([sealing, chase]);
    const outcomes = await Promise.allSettled(writes);
    const sealedEntries = outcomes.filter(({ status }) => status === "fulfilled").length;
    assert.equal(stored(made).newest.encryptions, sealedEntries);
  }
});

/** Entries on disk, overwritten ones included, that a term's key has sealed. */
function sealedUnder(made: MadeBarrier, term: number): number {
  let count = 0;
  for (const { data } of made.engine.landed) {
    for (const { key, value } of data) {
      const byRootKey = key === KEYRING_PATH || key === TREE_KEY_PATH;
      if (value !== null && !byRootKey && entryTerm(value) === term) count++;
    }
  }
  return count;
}

/** The count of every term, old ones too. */
function countsOf(keyring: Keyring): { term: number; encryptions: number }[] {
  const document: unknown = JSON.parse(keyring.encode(0).toString());
  return (document as { keys: { term: number; encryptions: number }[] }).keys;
}

test("after a crash at any moment the count is never below what was sealed", async () => {
  const step = fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant("write" as const), count: fc.nat(3) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("turn" as const), count: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("rotate" as const), count: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("throw" as const), count: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), count: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("seal" as const), count: fc.nat() }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const options = { minMargin: 10 };
      let made = await madeBarrier(options);
      const truth = new Map<number, number>(); // by term, over all lives
      let open = made.engine.hold();
      const crash = async () => {
        const before = made;
        made = await crashed(before, options);
        for (let term = 1; term < 20; term++) {
          truth.set(term, (truth.get(term) ?? 0) + sealedUnder(before, term));
        }
        for (const { term, encryptions } of countsOf(stored(made))) {
          assert.ok(encryptions >= (truth.get(term) ?? 0), `${encryptions} < ${truth.get(term)}`);
        }
        assert.ok(unsealed(made.barrier));
        open = made.engine.hold();
      };
      let serial = 0;
      for (const { kind, count } of steps) {
        const view = made.barrier.view("shared/");
        const ignore = (promise: Promise<unknown>) => void promise.catch(() => {});
        if (kind === "write" || kind === "throw") {
          ignore(
            view.write((tx) => {
              for (let i = 0; i <= count; i++)
                tx.put(`k${serial++ % 5}-${i}`, utf8("x"), bytesCodec);
              if (kind === "throw") throw new Error("own");
            }),
          );
        } else if (kind === "rotate") ignore(made.barrier.rotate());
        else if (kind === "crash") await crash();
        else if (kind === "seal") {
          open();
          await made.barrier.seal();
          assert.ok(unsealed(made.barrier));
          open = made.engine.hold();
        } else {
          open();
          await made.world.timers.advance(SECOND);
          for (let i = 0; i <= count; i++) await nextTurn();
          open = made.engine.hold();
        }
      }
      await crash();
      open();
      await made.store.settled();
    }),
    { numRuns: 150 },
  );
});

test("while the count cannot be stored nothing is sealed that it does not cover", async () => {
  const made = await madeBarrier({ minMargin: 10 });
  const again = await crashed(made, { minMargin: 10 });
  again.world.random.failing = true; // the count of the new life cannot be stored
  assert.ok(unsealed(again.barrier));
  await nextTurn();
  again.world.random.failing = false;
  await assert.rejects(put(again, "a"), refused("barrier-count-not-stored"));
  assert.equal(again.engine.get("shared/a"), null);
  await again.world.timers.advance(1n); // it is tried again soon
  await again.store.settled();
  await put(again, "a");
});

test("a long run of writes renews the count by itself, and is never refused for it", async () => {
  const made = await madeBarrier({ minMargin: 50 });
  for (let i = 0; i < 200; i++) {
    await put(made, `${i}`);
    await made.world.timers.advance(1n);
  }
  assert.equal(made.barrier.keyStatus.encryptions, 200);
  assert.ok(stored(made).newest.encryptions >= 200);
  const renewals = made.engine.batches.filter(({ data }) =>
    data.some(({ key }) => key === KEYRING_PATH),
  );
  assert.ok(renewals.length <= 8, `${renewals.length}: now and then, not with every write`);
});

test("the count is stored every five minutes with a margin of the period's rate", async () => {
  const made = await madeBarrier({ minMargin: 10 });
  for (let i = 0; i < 40; i++) {
    await put(made, `${i}`);
    await made.world.timers.advance(1n);
  }
  await made.world.timers.advance(300n * SECOND);
  await made.store.settled();
  assert.equal(stored(made).newest.encryptions, 40 + 2 * 40);
});

test("a ceremony replaces the root key; the old one opens nothing any more", async () => {
  const made = await madeBarrier();
  await put(made, "a");
  await made.barrier.ceremony((tx, raw) => {
    made.barrier.replaceRootKey(raw, OTHER_KEY);
    tx.put("note", "1", codec);
  });
  assert.ok(made.barrier.rootKey.equals(OTHER_KEY));
  const again = await crashed(made);
  assert.equal(unsealed(again.barrier), false);
  assert.ok(unsealed(again.barrier, OTHER_KEY));
  assert.equal(again.barrier.view("shared/").get("a", codec), "1");
  assert.equal(again.barrier.view("core/").get("note", codec), "1");
});

test("a ceremony that throws leaves the old root key usable, in memory and on disk", async () => {
  const made = await madeBarrier();
  await put(made, "a");
  const failed = made.barrier.ceremony((tx, raw) => {
    made.barrier.replaceRootKey(raw, OTHER_KEY);
    tx.put("note", "1", codec);
    throw new Error("own");
  });
  await assert.rejects(failed, /own/);
  assert.ok(made.barrier.rootKey.equals(ROOT_KEY));
  await put(made, "b");
  await made.barrier.seal();
  assert.equal(unsealed(made.barrier, OTHER_KEY), false);
  assert.ok(unsealed(made.barrier));
  assert.equal(made.barrier.view("core/").get("note", codec), null);
});

test("two ceremonies in one turn follow each other, though the first is not durable yet", async () => {
  const made = await madeBarrier();
  const open = made.engine.hold();
  const third = secretKey(Buffer.alloc(32, 33));
  const both = [OTHER_KEY, third].map((key) =>
    made.barrier.ceremony((_, raw) => made.barrier.replaceRootKey(raw, key)),
  );
  open();
  await Promise.all(both);
  const again = await crashed(made);
  assert.equal(unsealed(again.barrier, OTHER_KEY), false);
  assert.ok(unsealed(again.barrier, third));
});

test("rotations and new root keys together survive a start", async () => {
  const made = await madeBarrier();
  await put(made, "one");
  await made.barrier.rotate();
  await put(made, "two");
  await made.barrier.ceremony((_, raw) => made.barrier.replaceRootKey(raw, OTHER_KEY));
  await made.barrier.rotate();
  await put(made, "three");
  const again = await crashed(made);
  assert.ok(unsealed(again.barrier, OTHER_KEY));
  const view = again.barrier.view("shared/");
  for (const key of ["one", "two", "three"]) assert.equal(view.get(key, codec), "1");
  assert.equal(again.barrier.keyStatus.term, 3);
});
