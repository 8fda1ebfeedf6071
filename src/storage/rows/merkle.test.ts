// The trees against plain big integers, and their bytes against pinned ones.

import assert from "node:assert/strict";
import { createSecretKey, hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import fc from "fast-check";
import { hex, utf8 } from "@holdfast/shared/bytes";
import { InvariantError } from "@holdfast/shared/invariant";
import type { SumRow } from "../engines/engine.ts";
import { CORE_SCOPE, LOST_SCOPE } from "./log-entry.ts";
import { ALL_SLOTS, Forest, isSlot, isSumRow, leafHash, sha256, slotOf } from "./merkle.ts";
import { sumOf, Tree, treeOf } from "./merkle.ts";

const MODULUS = 2n ** 256n;
const vectorFile = join(import.meta.dirname, "../../../tests/vectors/merkle.json");
const vectors = JSON.parse(readFileSync(vectorFile, "utf8")) as Vectors;

interface Vectors {
  readonly treeKey: string;
  readonly entries: readonly {
    readonly key: string;
    readonly scope: string;
    readonly value: string;
    readonly slot: number;
    readonly leaf: string;
  }[];
  readonly subpage: { readonly slot: number; readonly sum: string; readonly count: number };
  readonly pageHash: { readonly tree: "shared" | "local"; readonly page: number; hash: string };
  readonly roots: { readonly shared: string; readonly local: string; readonly composite: string };
  readonly emptyRoots: { readonly tree: string; readonly composite: string };
}

const leaf = fc.uint8Array({ minLength: 32, maxLength: 32 });
/** Sums carry over many lanes only near the ends. */
const edge = fc.constantFrom(
  new Uint8Array(32),
  new Uint8Array(32).fill(255),
  Uint8Array.from({ length: 32 }, (_, i) => (i === 31 ? 1 : 0)),
  Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 128 : 0)),
);
const anyLeaf = fc.oneof(leaf, edge);

function number(bytes: Uint8Array): bigint {
  return BigInt(`0x${hex(bytes)}`);
}

function show(value: bigint): string {
  return (((value % MODULUS) + MODULUS) % MODULUS).toString(16).padStart(64, "0");
}

test("sums are those of big integers modulo 2^256, and so is the total", () => {
  const change = fc.record({ slot: fc.constantFrom(0, 1, 65_535), add: anyLeaf, drop: fc.nat() });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const tree = new Tree("shared");
      const model = new Map<number, Uint8Array[]>([0, 1, 65_535].map((slot) => [slot, []]));
      for (const { slot, add, drop } of changes) {
        const held = model.get(slot)!;
        if (drop % 3 === 0 && held.length > 0) {
          const [gone] = held.splice(drop % held.length, 1);
          tree.replace(slot, gone!, null);
        } else if (drop % 3 === 1 && held.length > 0) {
          const at = drop % held.length;
          tree.replace(slot, held[at]!, add);
          held[at] = add;
        } else {
          tree.replace(slot, null, add);
          held.push(add);
        }
      }
      let total = 0n;
      let count = 0;
      for (const [slot, held] of model) {
        const sum = held.reduce((acc, each) => acc + number(each), 0n);
        const row = tree.row(slot);
        assert.equal(hex(row.sum), show(sum));
        assert.equal(row.count, held.length);
        assert.deepEqual(sumOf(slot, held), row);
        total += sum;
        count += held.length;
      }
      assert.equal(hex(tree.total().sum), show(total));
      assert.equal(tree.total().count, count);
    }),
    { numRuns: 300 },
  );
});

test("what is subtracted again leaves nothing behind", () => {
  fc.assert(
    fc.property(fc.array(anyLeaf, { maxLength: 12 }), (leaves) => {
      const tree = new Tree("local");
      const slot = 65_536 + 7;
      for (const each of leaves) tree.replace(slot, null, each);
      for (const each of leaves.toReversed()) tree.replace(slot, each, null);
      assert.deepEqual(tree.row(slot), { slot, sum: Buffer.alloc(32), count: 0 });
      assert.deepEqual(tree.total(), { sum: Buffer.alloc(32), count: 0 });
    }),
  );
});

const placed = fc.record({ slot: fc.integer({ min: 0, max: ALL_SLOTS - 1 }), leaf });

test("roots do not depend on the order of changes", () => {
  const lists = fc.uniqueArray(placed, { maxLength: 15, selector: ({ slot }) => slot });
  fc.assert(
    fc.property(lists, fc.infiniteStream(fc.nat()), (entries, random) => {
      const [there, back] = [new Forest(), new Forest()];
      for (const each of entries) there.of(each.slot).replace(each.slot, null, each.leaf);
      const shuffled = entries
        .map((each) => ({ each, at: random.next().value as number }))
        .toSorted((a, b) => a.at - b.at);
      for (const { each } of shuffled) back.of(each.slot).replace(each.slot, null, each.leaf);
      assert.deepEqual(there.compositeRoot(), back.compositeRoot());
      assert.deepEqual(there.differing(back), []);
    }),
    { numRuns: 20 },
  );
});

test("any change of one leaf changes the root of its tree and the composite, and nothing else", () => {
  const base = fc.uniqueArray(placed, { minLength: 1, maxLength: 8, selector: ({ slot }) => slot });
  fc.assert(
    fc.property(base, fc.nat(), leaf, fc.nat(2), (entries, pick, other, kind) => {
      const forest = new Forest();
      for (const each of entries) forest.of(each.slot).replace(each.slot, null, each.leaf);
      const before = { shared: forest.shared.root(), local: forest.local.root() };
      const composite = forest.compositeRoot();
      const { slot, leaf: held } = entries[pick % entries.length]!;
      if (kind === 0) forest.of(slot).replace(slot, held, null);
      else if (kind === 1) forest.of(slot).replace(slot, null, other);
      else
        forest.of(slot).replace(
          slot,
          held,
          Uint8Array.from(held, (b, i) => (i ? b : b ^ 1)),
        );
      const changed = treeOf(slot);
      const same = changed === "shared" ? "local" : "shared";
      assert.notDeepEqual(forest[changed].root(), before[changed]);
      assert.deepEqual(forest[same].root(), before[same]);
      assert.notDeepEqual(forest.compositeRoot(), composite);
    }),
    { numRuns: 25 },
  );
});

test("a root that is asked for between changes is the same as one computed in the end", () => {
  const forest = new Forest();
  const once = new Forest();
  for (let i = 0; i < 300; i++) {
    const slot = (i * 7919) % ALL_SLOTS;
    const row = { slot, sum: sha256(utf8(`sum ${i}`)), count: i };
    forest.of(slot).set(row);
    once.of(slot).set(row);
    if (i % 20 === 0) forest.compositeRoot();
  }
  assert.deepEqual(forest.compositeRoot(), once.compositeRoot());
});

test("a leaf without content counts: zero hashes make another root than none", () => {
  const tree = new Tree("shared");
  const empty = tree.root();
  tree.replace(3, null, new Uint8Array(32));
  assert.notDeepEqual(tree.root(), empty);
});

test("set() and mend() take over any row, and the total follows", () => {
  const rows = fc.array(
    fc.record({
      slot: fc.integer({ min: 0, max: 3 }),
      sum: anyLeaf,
      count: fc.nat(9),
      how: fc.constantFrom("set" as const, "mend" as const),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(rows, (list) => {
      const tree = new Tree("shared");
      const last = new Map<number, SumRow>();
      for (const row of list) {
        tree[row.how](row);
        last.set(row.slot, row);
      }
      for (const row of last.values()) assert.equal(hex(tree.row(row.slot).sum), hex(row.sum));
      const sum = [...last.values()].reduce((acc, row) => acc + number(row.sum), 0n);
      assert.equal(hex(tree.total().sum), show(sum));
      const count = [...last.values()].reduce((acc, row) => acc + row.count, 0);
      assert.equal(tree.total().count, count);
    }),
  );
});

test("differing() names exactly the slots with another sum or count, in both trees", () => {
  const [a, b] = [new Forest(), new Forest()];
  const slots = [0, 255, 65_535, 65_536, 131_071];
  for (const slot of [...slots, 9]) {
    const row = { slot, sum: sha256(utf8(`${slot}`)), count: 2 };
    a.of(slot).set(row);
    b.of(slot).set(row);
  }
  assert.deepEqual(a.differing(b), []);
  for (const slot of slots) {
    const row = b.of(slot).row(slot);
    b.of(slot).set(slot % 2 === 0 ? { ...row, count: 3 } : { ...row, sum: Buffer.alloc(32, 1) });
  }
  assert.deepEqual(a.differing(b), slots);
});

test("a subpage that holds nothing gives nothing, and stays as it was", () => {
  const tree = new Tree("shared");
  const one = new Uint8Array(32).fill(1);
  assert.throws(() => tree.replace(5, one, null), InvariantError);
  assert.deepEqual(tree.total(), { sum: Buffer.alloc(32), count: 0 });
  assert.throws(() => tree.replace(65_536, null, one), InvariantError);
});

test("damaged rows are told from sound ones, and a leaf of another length adds nothing", () => {
  const sound = { slot: 0, sum: new Uint8Array(32), count: 0 };
  assert.ok(isSumRow(sound));
  const bad = [{ slot: -1 }, { slot: ALL_SLOTS }, { slot: 0.5 }, { count: -1 }, { count: 2 ** 32 }];
  for (const part of [...bad, { sum: new Uint8Array(31) }]) {
    assert.equal(isSumRow({ ...sound, ...part }), false);
  }
  assert.ok(isSlot(0) && isSlot(ALL_SLOTS - 1) && !isSlot(ALL_SLOTS));
  assert.deepEqual(sumOf(1, [new Uint8Array(31).fill(9)]), {
    ...sound,
    slot: 1,
    sum: Buffer.alloc(32),
    count: 1,
  });
});

test("the slot of a key is the first two bytes of its digest, in the tree of its class", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (key) => {
      const first = hash("sha256", key, "buffer").readUInt16BE(0);
      assert.equal(slotOf("shared", key), first);
      assert.equal(slotOf("local", key), 65_536 + first);
      assert.equal(slotOf("ignored", key), null);
    }),
  );
});

test("leaves differ with key, scope, value and tree key, and keys and values do not run together", () => {
  const [k1, k2] = [createSecretKey(Buffer.alloc(32, 1)), createSecretKey(Buffer.alloc(32, 2))];
  const digest = sha256(utf8("v"));
  const leaves = [
    leafHash(k1, "a", CORE_SCOPE, digest),
    leafHash(k2, "a", CORE_SCOPE, digest),
    leafHash(k1, "b", CORE_SCOPE, digest),
    leafHash(k1, "a", LOST_SCOPE, digest),
    leafHash(k1, "a", CORE_SCOPE, sha256(utf8("w"))),
    leafHash(k1, "a\u0000", CORE_SCOPE, digest.subarray(1)),
  ].map(hex);
  assert.equal(new Set(leaves).size, leaves.length);
});

test("leaf, subpage, page, root and composite have the pinned bytes", () => {
  const treeKey = createSecretKey(Buffer.from(vectors.treeKey, "hex"));
  const forest = new Forest();
  for (const { key, scope, value, slot, leaf: expected } of vectors.entries) {
    const cls = key.startsWith("shared/") ? "shared" : "local";
    assert.equal(slotOf(cls, key), slot, key);
    const found = leafHash(
      treeKey,
      key,
      Buffer.from(scope, "hex"),
      sha256(Buffer.from(value, "hex")),
    );
    assert.equal(hex(found), expected, key);
    forest.of(slot).replace(slot, null, found);
  }
  const { subpage, pageHash, roots, emptyRoots } = vectors;
  const row = forest.of(subpage.slot).row(subpage.slot);
  assert.deepEqual({ ...row, sum: hex(row.sum) }, subpage);
  assert.ok(subpage.count > 1, "the pinned subpage is a sum of several leaves");
  assert.equal(hex(forest[pageHash.tree].pageHash(pageHash.page)), pageHash.hash);
  assert.equal(hex(forest.shared.root()), roots.shared);
  assert.equal(hex(forest.local.root()), roots.local);
  assert.equal(hex(forest.compositeRoot()), roots.composite);
  assert.equal(hex(new Tree("shared").root()), emptyRoots.tree);
  assert.equal(hex(new Forest().compositeRoot()), emptyRoots.composite);
});
