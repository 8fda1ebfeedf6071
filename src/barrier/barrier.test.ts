// Sealed, nothing gets through; unsealed, what is stored opens only where and as it was put.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  crashed,
  madeBarrier,
  OTHER_KEY,
  ROOT_KEY,
  sealedBarrier,
  unsealed,
} from "../../tests/support/made/made-barrier.ts";
import { IDENTITY, TREE_KEY } from "../../tests/support/made/made-store.ts";
import { tamper } from "../../tests/support/stores/watched-engine.ts";
import { text, utf8 } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { entryTerm, openEntry } from "../crypto/aead.ts";
import { decodeEntry } from "../storage/rows/log-entry.ts";
import { MemoryDisk } from "../storage/engines/memory.ts";
import { slotOf } from "../storage/rows/merkle.ts";
import { KEYRING_PATH, TREE_KEY_PATH } from "./key-rows.ts";
import { Keyring } from "./keyring.ts";

const codec = jsonCodec<string>();

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.code === code;
}

const sealed = refused("barrier-sealed");
const damaged = refused("barrier-entry-damaged");

test("creation stores keyring and tree key under the root key, with what the ceremony writes", async () => {
  const { barrier, engine } = sealedBarrier(new MemoryDisk());
  assert.ok(barrier.sealed);
  const keys = { rootKey: ROOT_KEY, treeKey: TREE_KEY };
  const result = await barrier.create(keys, IDENTITY, (tx, raw) => {
    tx.put("inside", "secret-inside", codec);
    raw.put("core/seal-config", utf8("plain"));
    return 7;
  });
  assert.equal(result, 7);
  assert.ok(!barrier.sealed);
  assert.equal(engine.batches.length, 1, "all in one commit");
  assert.equal(barrier.view("core/").get("inside", codec), "secret-inside");
  assert.equal(text(engine.get("core/seal-config")!), "plain");
  const keyring = engine.get(KEYRING_PATH)!;
  assert.equal(entryTerm(keyring), 1);
  const opened = Keyring.decode(openEntry(ROOT_KEY, KEYRING_PATH, keyring)!)!;
  assert.ok(opened.rootKey.equals(ROOT_KEY));
  const tree = openEntry(ROOT_KEY, TREE_KEY_PATH, engine.get(TREE_KEY_PATH)!);
  assert.deepEqual(tree, TREE_KEY.export());
  assert.ok(barrier.rootKey.equals(ROOT_KEY));
  assert.deepEqual(
    { ...barrier.keyStatus, installed: null },
    { term: 1, installed: null, encryptions: 1 },
  );
});

test("no stored byte of key or value is plaintext", async () => {
  const { barrier, engine } = await madeBarrier();
  const view = barrier.view("shared/");
  await view.write((tx) => tx.put("a", "a secret marker", codec));
  await barrier.rotate();
  const raw = [ROOT_KEY, TREE_KEY].map((key) => key.export());
  for (const { value } of engine.rows({ from: "", to: null, limit: 100 })) {
    const bytes = Buffer.from(value);
    assert.equal(bytes.includes("marker"), false);
    for (const key of raw) {
      assert.equal(bytes.includes(key), false);
      assert.equal(bytes.includes(key.toString("base64")), false);
    }
  }
  for (const { entry } of engine.logs(0n, 100)) {
    assert.equal(Buffer.from(entry).includes("marker"), false);
  }
});

test("a failed creation leaves the barrier sealed and nothing stored; it can be tried again", async () => {
  const { barrier, store, world } = sealedBarrier(new MemoryDisk());
  const keys = { rootKey: ROOT_KEY, treeKey: TREE_KEY };
  const thrown = barrier.create(keys, IDENTITY, () => {
    throw new Error("own");
  });
  await assert.rejects(thrown, /own/);
  assert.ok(barrier.sealed && !store.initialised);
  world.random.failing = true;
  await assert.rejects(
    barrier.create(keys, IDENTITY, () => {}),
    /random/,
  );
  assert.ok(barrier.sealed && !store.initialised);
  assert.equal(world.timers.armed, 0);
  world.random.failing = false;
  await barrier.create(keys, IDENTITY, () => {});
  await assert.rejects(
    barrier.create(keys, IDENTITY, () => {}),
    refused("already-initialised"),
  );
  assert.ok(!barrier.sealed);
});

test("two creations at once: one is made, the other refused, and the first stays usable", async () => {
  const { barrier } = sealedBarrier(new MemoryDisk());
  const keys = { rootKey: ROOT_KEY, treeKey: TREE_KEY };
  const outcomes = await Promise.allSettled([
    barrier.create(keys, IDENTITY, () => {}),
    barrier.create(keys, IDENTITY, () => {}),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
  await barrier.view("shared/").write((tx) => tx.put("a", "1", codec));
});

test("a start finds everything again with the root key, and nothing with another", async () => {
  const before = await madeBarrier();
  await before.barrier.view("shared/").write((tx) => tx.put("a", "value", codec));
  const { barrier, store } = await crashed(before);
  assert.ok(barrier.sealed);
  assert.equal(unsealed(barrier, OTHER_KEY), false);
  assert.ok(barrier.sealed && store.locked);
  assert.equal(unsealed(barrier), true);
  assert.equal(barrier.view("shared/").get("a", codec), "value");
  await barrier.view("shared/").write((tx) => tx.put("b", "2", codec));
});

test("unsealing a store that is not initialised says so; one without a readable keyring is damaged", async () => {
  const { barrier } = sealedBarrier(new MemoryDisk());
  assert.throws(() => unsealed(barrier), refused("store-uninitialised"));
  const made = await madeBarrier();
  await tamper(made.engine.inner, { data: [{ key: TREE_KEY_PATH, value: utf8("x") }] });
  const again = await crashed(made);
  assert.throws(() => unsealed(again.barrier), refused("barrier-keyring-damaged"));
  await tamper(made.engine.inner, { data: [{ key: KEYRING_PATH, value: null }] });
  assert.throws(() => unsealed(again.barrier), refused("barrier-keyring-damaged"));
  assert.ok(again.barrier.sealed && again.store.locked);
});

test("sealed, it lets nothing through and forgets what it had decrypted", async () => {
  const { barrier, store, world } = await madeBarrier();
  const view = barrier.view("shared/");
  await view.write((tx) => tx.put("a", "1", codec));
  view.get("a", codec);
  await barrier.seal();
  await barrier.seal();
  assert.ok(barrier.sealed && store.locked);
  assert.throws(() => view.get("a", codec), sealed);
  assert.throws(() => view.records("", codec, { limit: 1 }), sealed);
  assert.throws(() => view.keys("", { limit: 1 }), sealed);
  assert.throws(() => view.list("", { limit: 1 }), sealed);
  await assert.rejects(
    view.write((tx) => tx.put("b", "1", codec)),
    sealed,
  );
  await assert.rejects(
    store.write((raw) => view.within(raw)),
    sealed,
  );
  await assert.rejects(barrier.rotate(), sealed);
  assert.throws(() => barrier.rootKey, sealed);
  assert.throws(() => barrier.keyStatus, sealed);
  assert.equal(world.timers.armed, 0);
  assert.ok(unsealed(barrier));
  assert.equal(view.get("a", codec), "1");
});

test("sealing takes effect at once for new work, waits for what was accepted, and is done once", async () => {
  const { barrier, engine } = await madeBarrier();
  const view = barrier.view("shared/");
  const open = engine.hold();
  const write = view.write((tx) => tx.put("a", "1", codec));
  await nextTurn();
  const sealing = barrier.seal();
  assert.equal(barrier.seal(), sealing);
  assert.ok(barrier.sealed);
  await assert.rejects(
    view.write((tx) => tx.put("b", "1", codec)),
    sealed,
  );
  assert.throws(() => unsealed(barrier), refused("barrier-sealing"));
  open();
  await Promise.all([write, sealing]);
  assert.ok(unsealed(barrier));
  assert.equal(view.get("a", codec), "1");
  assert.equal(view.get("b", codec), null);
});

test("sealing while the store is being created waits for it", async () => {
  const { barrier, engine, store } = sealedBarrier(new MemoryDisk());
  const open = engine.hold();
  const creating = barrier.create({ rootKey: ROOT_KEY, treeKey: TREE_KEY }, IDENTITY, () => {});
  const sealing = barrier.seal();
  await nextTurn();
  open();
  await Promise.all([creating, sealing]);
  assert.ok(barrier.sealed && store.locked && store.initialised);
  assert.ok(unsealed(barrier));
});

test("a failed storage does not keep the keys in memory", async () => {
  const { barrier, engine, world } = await madeBarrier();
  engine.failCommit = new Error("gone");
  await assert.rejects(barrier.view("shared/").write((tx) => tx.put("a", "1", codec)));
  await barrier.seal();
  assert.ok(barrier.sealed);
  assert.match(world.lines.join(""), /could not store the count/);
});

const LENGTH = 40;
/** What somebody with the disk can do to one entry's bytes. */
const forgery = fc.oneof(
  fc.record({ kind: fc.constant("flip" as const), bit: fc.nat((33 + LENGTH) * 8 - 1) }),
  fc.record({ kind: fc.constant("cut" as const), length: fc.nat(33 + LENGTH - 1) }),
  fc.record({
    kind: fc.constant("longer" as const),
    extra: fc.uint8Array({ minLength: 1, maxLength: 9 }),
  }),
  fc.record({ kind: fc.constant("term" as const), term: fc.constantFrom(0, 2, 3, 2 ** 32 - 1) }),
  fc.record({ kind: fc.constant("version" as const), version: fc.constantFrom(0, 1, 3, 255) }),
  fc.record({ kind: fc.constant("moved" as const) }),
  fc.record({ kind: fc.constant("anything" as const), bytes: fc.uint8Array({ maxLength: 99 }) }),
);

test("an entry that was moved, cut, flipped or given another term or version never opens", async () => {
  const made = await madeBarrier();
  const { barrier, engine } = made;
  const view = barrier.view("shared/");
  await view.write((tx) => {
    tx.put("one", utf8("1".repeat(LENGTH)), bytesCodec);
    tx.put("two", utf8("2".repeat(LENGTH)), bytesCodec);
  });
  await barrier.rotate(); // so that term 2 is a key we have
  const [one, two] = [engine.get("shared/one")!, engine.get("shared/two")!];
  await fc.assert(
    fc.asyncProperty(forgery, async (how) => {
      let bytes = Buffer.from(one);
      if (how.kind === "flip") bytes[how.bit >> 3]! ^= 1 << (how.bit & 7);
      else if (how.kind === "cut") bytes = bytes.subarray(0, how.length);
      else if (how.kind === "longer") bytes = Buffer.concat([bytes, how.extra]);
      else if (how.kind === "term") bytes.writeUInt32BE(how.term, 0);
      else if (how.kind === "version") bytes[4] = how.version;
      else if (how.kind === "moved") bytes = Buffer.from(two);
      else bytes = Buffer.from(how.bytes);
      await tamper(engine.inner, { data: [{ key: "shared/one", value: bytes }] });
      const fresh = sealedBarrier(made.disk);
      assert.ok(unsealed(fresh.barrier));
      const reads = fresh.barrier.view("shared/");
      assert.throws(() => reads.get("one", bytesCodec), damaged);
      assert.throws(() => reads.records("one", bytesCodec, { limit: 1 }), damaged);
      await assert.rejects(
        reads.write((tx) => tx.get("one", bytesCodec)),
        damaged,
      );
      assert.equal(fresh.barrier.integrityErrors, 3);
      await fresh.barrier.seal();
    }),
    { numRuns: 150 },
  );
});

test("damage is counted and logged by a digest, never by path or value", async () => {
  const { barrier, engine, world } = await madeBarrier({ cacheBytes: 0 });
  const view = barrier.view("shared/");
  await view.write((tx) => {
    tx.put("secret-path", "secret-value", codec);
    tx.put("vanished-path", "secret-value", codec);
  });
  const bytes = engine.get("shared/secret-path")!;
  bytes[20]! ^= 1;
  await tamper(engine.inner, {
    data: [
      { key: "shared/secret-path", value: bytes },
      { key: "shared/vanished-path", value: null },
    ],
  });
  world.lines.length = 0;
  const named = (error: unknown) =>
    error instanceof Failure &&
    error.kind === "damaged" &&
    /stored entry [0-9a-f]{16} is damaged/.test(error.message) &&
    !error.message.includes("path");
  assert.throws(() => view.get("secret-path", codec), named);
  assert.throws(() => view.get("vanished-path", codec), named);
  assert.equal(barrier.integrityErrors, 2);
  const log = world.lines.join("");
  assert.equal(world.lines.length, 2);
  assert.match(log, /damage in storage.*[0-9a-f]{16}/);
  assert.ok(!log.includes("secret") && !log.includes("vanished-path"));
  await view.write((tx) => tx.put("secret-path", "again", codec));
  assert.equal(view.get("secret-path", codec), "again");
});

test("a failing random source fails the write, and nothing of it is stored", async () => {
  const { barrier, engine, world } = await madeBarrier();
  const view = barrier.view("shared/");
  world.random.failing = true;
  const write = view.write((tx) => tx.put("a", "1", codec));
  await assert.rejects(write, /random/);
  await assert.rejects(barrier.rotate(), /random/);
  assert.equal(engine.batches.length, 0);
  assert.equal(barrier.keyStatus.term, 1);
  world.random.failing = false;
  await view.write((tx) => tx.put("a", "2", codec));
  assert.equal(view.get("a", codec), "2");
});

test("no nonce is repeated in a hundred thousand entries", async () => {
  const { barrier, engine } = await madeBarrier();
  const view = barrier.view("core/nonces/"); // without leaves and log, for the sake of time
  const nonces = new Set<string>();
  for (let round = 0; round < 25; round++) {
    await view.write((tx) => {
      for (let i = 0; i < 4000; i++) tx.put(`${i}`, utf8("x"), bytesCodec);
    });
    for (const { key, value } of engine.batches.at(-1)!.data) {
      if (!key.startsWith("core/nonces/")) continue;
      nonces.add(Buffer.from(value!).toString("latin1", 5, 17));
    }
    engine.batches.length = 0;
  }
  assert.equal(nonces.size, 100_000);
});

test("a read after an acknowledged write never sees the old value, cached or not", async () => {
  const { barrier, engine } = await madeBarrier();
  const view = barrier.view("shared/");
  for (let i = 0; i < 50; i++) {
    const write = view.write((tx) => tx.put("a", `${i}`, codec));
    const before = view.get("a", codec); // fills the cache with what is durable
    assert.equal(before, i === 0 ? null : `${i - 1}`);
    await write;
    assert.equal(view.get("a", codec), `${i}`);
  }
  await view.write((tx) => tx.delete("a"));
  assert.equal(view.get("a", codec), null);
  assert.ok(engine.batches.length >= 51);
});

test("watchers and index waits of a commit already read the new value", async () => {
  const { barrier } = await madeBarrier();
  const view = barrier.view("shared/");
  await view.write((tx) => tx.put("a", "old", codec));
  assert.equal(view.get("a", codec), "old");
  const seen: (string | null)[] = [];
  view.watch("a", () => seen.push(view.get("a", codec)));
  view.onIndex(2n, () => seen.push(view.get("a", codec)));
  await view.write((tx) => tx.put("a", "new", codec));
  assert.deepEqual(seen, ["new", "new"]);
});

test("what is cached follows the writes, also of bytes that their writer wipes", async () => {
  const { barrier, engine } = await madeBarrier({ cacheBytes: 1_000_000 });
  const view = barrier.view("shared/");
  await view.write((tx) => tx.put("a", utf8("first"), bytesCodec));
  assert.equal(text(view.get("a", bytesCodec)!), "first");
  let gets = 0;
  const get = engine.get.bind(engine);
  engine.get = (key) => {
    gets++;
    return get(key);
  };
  const second = utf8("second");
  const written = view.write((tx) => tx.put("a", second, bytesCodec));
  second.fill(0);
  assert.equal(text(view.get("a", bytesCodec)!), "first", "not before it is durable");
  await written;
  assert.equal(text(view.get("a", bytesCodec)!), "second");
  const refused = view.write((tx) => {
    tx.put("a", utf8("third"), bytesCodec);
    throw new Error("changed its mind");
  });
  await assert.rejects(refused);
  assert.equal(text(view.get("a", bytesCodec)!), "second");
  assert.equal(gets, 0);
  await view.write((tx) => tx.delete("a"));
  assert.equal(view.get("a", bytesCodec), null);
});

test("the cache spares reads of the engine, and can be switched off", async () => {
  for (const cacheBytes of [1_000_000, 0]) {
    const { barrier, engine } = await madeBarrier({ cacheBytes });
    const view = barrier.view("shared/");
    await view.write((tx) => tx.put("a", "1", codec));
    let gets = 0;
    const get = engine.get.bind(engine);
    engine.get = (key) => {
      gets++;
      return get(key);
    };
    for (let i = 0; i < 5; i++) assert.equal(view.get("a", codec), "1");
    assert.equal(gets, cacheBytes > 0 ? 1 : 5);
  }
});

test("bytes that were handed out are the caller's: sealing does not wipe an answer on its way", async () => {
  const { barrier } = await madeBarrier();
  const view = barrier.view("shared/");
  await view.write((tx) => tx.put("a", utf8("value"), bytesCodec));
  const [first, second] = [view.get("a", bytesCodec)!, view.get("a", bytesCodec)!];
  first.fill(0);
  assert.equal(text(view.get("a", bytesCodec)!), "value", "nor do callers change what is cached");
  await barrier.seal();
  assert.equal(text(second), "value");
});

test("the scope of a view reaches leaf and log, for what is put and for what is deleted", async () => {
  const { barrier, engine, store } = await madeBarrier();
  const scope = Buffer.alloc(16, 4);
  const mount = barrier.view("shared/").sub("mount/", scope);
  assert.deepEqual(mount.sub("deeper/").scope, scope);
  await mount.write((tx) => tx.put("a", "1", codec));
  const slot = slotOf("shared", "shared/mount/a")!;
  assert.deepEqual(Buffer.from(engine.leaf(slot, "shared/mount/a")!.scope), scope);
  await mount.write((tx) => tx.delete("a"));
  for (const { entry } of store.logs(1n, 2)) {
    assert.deepEqual(decodeEntry(entry).operations[0]?.scope, scope);
  }
});
