// The keyring and its document.

import assert from "node:assert/strict";
import { createSecretKey, type KeyObject } from "node:crypto";
import test from "node:test";
import fc from "fast-check";
import { FlakyRandom, START } from "../../tests/support/fake-world.ts";
import { showTime } from "@holdfast/shared/text/time";
import { Keyring, MIN_OPERATIONS, MAX_OPERATIONS } from "./keyring.ts";

const DAY = 86_400_000_000_000n;
const random = new FlakyRandom();
const rootKey = createSecretKey(Buffer.alloc(32, 7));

function base64(key: KeyObject): string {
  return key.export().toString("base64");
}

function ring(terms: number, counts: readonly number[] = []): Keyring {
  let keyring = Keyring.fresh(random, rootKey, START);
  keyring.newest.encryptions = counts[0] ?? 0;
  for (let i = 1; i < terms; i++) {
    keyring = keyring.rotated(random, START + BigInt(i));
    keyring.newest.encryptions = counts[i] ?? 0;
  }
  return keyring;
}

interface View {
  version: number;
  active_term: number;
  keys: {
    term: number;
    value: string;
    installed: string;
    encryptions: number;
    elsewhere: number;
  }[];
  rotation: { enabled: boolean; max_operations: number; interval: string };
  margin: number;
  root_generation: number;
  root_key: string;
}

function viewOf(keyring: Keyring, margin = 0): View {
  return JSON.parse(keyring.encode(margin).toString()) as View;
}

test("the document has its pinned form", () => {
  const keyring = ring(3, [10, 20, 30]);
  assert.deepEqual(viewOf(keyring, 5), {
    version: 1,
    active_term: 3,
    keys: [10, 20, 30].map((encryptions, i) => ({
      term: i + 1,
      value: base64(keyring.key(i + 1)!),
      installed: showTime(START + BigInt(i)),
      encryptions,
      elsewhere: 0,
    })),
    rotation: { enabled: true, max_operations: 3_865_470_566, interval: "0s" },
    margin: 5,
    root_generation: 1,
    root_key: base64(rootKey),
  });
});

test("a keyring survives the round trip; the margin of a crash is counted in", () => {
  const counts = fc.array(fc.nat(2 ** 40), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      counts,
      fc.nat(2 ** 40),
      fc.bigInt({ min: 0n, max: 1000n }),
      (list, margin, days) => {
        const rotation = {
          enabled: days > 3n,
          maxOperations: MIN_OPERATIONS,
          interval: days * DAY,
        };
        const keyring = ring(list.length, list).withRotation(rotation);
        const read = Keyring.decode(keyring.encode(margin))!;
        assert.equal(read.size, list.length);
        assert.equal(read.newest.term, list.length);
        assert.equal(read.newest.encryptions, list.at(-1)! + margin);
        assert.equal(read.newest.installed, START + BigInt(list.length - 1));
        assert.deepEqual(read.rotation, rotation);
        assert.ok(read.rootKey.equals(rootKey));
        for (let term = 1; term <= list.length; term++) {
          assert.ok(read.key(term)!.equals(keyring.key(term)!));
        }
        const older = viewOf(read).keys.slice(0, -1);
        assert.deepEqual(
          older.map(({ encryptions }) => encryptions),
          list.slice(0, -1),
          "only the newest key has a margin",
        );
      },
    ),
    { numRuns: 50 },
  );
});

test("decode() wipes the bytes, well-formed or not", () => {
  const good = ring(2).encode(0);
  assert.ok(Keyring.decode(good));
  const bad = Buffer.from("{nonsense");
  assert.equal(Keyring.decode(bad), null);
  for (const bytes of [good, bad]) assert.ok(bytes.every((byte) => byte === 0));
});

test("a malformed document is null, whatever is wrong with it", () => {
  const whole = ring(2, [1, 2]);
  const changed = (change: (document: View) => unknown) => {
    const document = viewOf(whole);
    const other = change(document);
    return Buffer.from(JSON.stringify(other ?? document));
  };
  assert.ok(Keyring.decode(changed(() => undefined)));
  const bad: ((document: View) => unknown)[] = [
    (d) => ({ ...d, version: 2 }),
    (d) => ({ ...d, version: undefined }),
    (d) => ({ ...d, active_term: 1 }),
    (d) => ({ ...d, keys: [] }),
    (d) => ({ ...d, keys: "x" }),
    (d) => ({ ...d, keys: d.keys.toReversed(), active_term: 1 }),
    (d) => ({ ...d, keys: [{ ...d.keys[0]!, value: "short" }, d.keys[1]] }),
    (d) => ({
      ...d,
      keys: [{ ...d.keys[0]!, value: d.keys[0]!.value.replace(/./, "*") }, d.keys[1]],
    }),
    (d) => ({ ...d, keys: [{ ...d.keys[0]!, value: undefined }, d.keys[1]] }),
    (d) => ({ ...d, keys: [{ ...d.keys[0]!, term: 0 }, d.keys[1]] }),
    (d) => ({ ...d, keys: [{ ...d.keys[0]!, term: 2 }, d.keys[1]] }),
    (d) => ({ ...d, keys: [{ ...d.keys[0]!, encryptions: -1 }, d.keys[1]] }),
    (d) => ({ ...d, keys: [{ ...d.keys[0]!, encryptions: "1" }, d.keys[1]] }),
    (d) => ({ ...d, keys: [{ ...d.keys[0]!, installed: "yesterday" }, d.keys[1]] }),
    (d) => ({ ...d, keys: [null, d.keys[1]] }),
    (d) => ({ ...d, root_key: undefined }),
    (d) => ({ ...d, root_key: "A" }),
    (d) => ({ ...d, margin: undefined }),
    (d) => ({ ...d, margin: -1 }),
    (d) => ({ ...d, rotation: undefined }),
    (d) => ({ ...d, rotation: { ...d.rotation, interval: "soon" } }),
    (d) => ({ ...d, rotation: { ...d.rotation, max_operations: 0.5 } }),
    (d) => ({ ...d, rotation: { ...d.rotation, enabled: 1 } }),
    () => [],
    () => "x",
    () => 7,
  ];
  for (const [i, change] of bad.entries())
    assert.equal(Keyring.decode(changed(change)), null, `${i}`);
  for (const text of ["", "null", "{}", '{"version":1}', '"value":"', "\u0000"]) {
    assert.equal(Keyring.decode(Buffer.from(text)), null, text);
  }
});

test("a document cut anywhere is null", () => {
  const whole = ring(1).encode(0);
  for (let length = 0; length < whole.length; length++) {
    assert.equal(Keyring.decode(Buffer.from(whole.subarray(0, length))), null);
  }
});

test("rotation adds a key of its own; old ones stay readable and keep their counts", () => {
  const first = ring(1, [7]);
  const second = first.rotated(random, START + 1n);
  assert.equal(second.newest.term, 2);
  assert.equal(second.newest.encryptions, 0);
  assert.ok(second.key(1)!.equals(first.key(1)!));
  assert.ok(!second.key(2)!.equals(first.key(1)!));
  assert.equal(second.key(3), null);
  assert.equal(first.size, 1, "the keyring before is what it was");
  assert.equal(viewOf(second).keys[0]?.encryptions, 7);
});

test("another root key leaves the data keys alone", () => {
  const keyring = ring(2);
  const other = createSecretKey(Buffer.alloc(32, 8));
  const replaced = keyring.withRootKey(other);
  assert.ok(replaced.rootKey.equals(other));
  assert.ok(replaced.key(2)!.equals(keyring.key(2)!));
  assert.equal(viewOf(replaced).root_key, base64(other));
});

test("a rotation is due by count or by age, and never when switched off", () => {
  const set = (rotation: Partial<Keyring["rotation"]>, encryptions: number) => {
    const base = { enabled: true, maxOperations: 1_000_000, interval: 0n };
    const keyring = ring(1).withRotation({ ...base, ...rotation });
    keyring.newest.encryptions = encryptions;
    return keyring;
  };
  assert.equal(set({}, 999_999).isDue(START), false);
  assert.equal(set({}, 1_000_000).isDue(START), true);
  assert.equal(set({}, 0).isDue(START + 10_000n * DAY), false);
  assert.equal(set({ interval: DAY }, 0).isDue(START + DAY - 1n), false);
  assert.equal(set({ interval: DAY }, 0).isDue(START + DAY), true);
  assert.equal(set({ interval: DAY }, 0).isDue(START - DAY), false);
  assert.equal(set({ enabled: false, interval: DAY }, 2_000_000).isDue(START + 2n * DAY), false);
  assert.ok(MAX_OPERATIONS < 2 ** 32);
});
