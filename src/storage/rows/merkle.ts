// The two hash trees over what is stored: `shared` and `local`, 256 pages of 256 subpages each.
// A leaf binds a key to its stored bytes; a subpage is the sum of its leaves, so that one write
// costs one subtraction and one addition. Byte layouts: docs/formats/merkle.md.

import { hash, type KeyObject } from "node:crypto";
import { concat, utf8 } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { Hmac } from "../../crypto/hmac.ts";
import type { SumRow } from "../engines/engine.ts";
import type { Class } from "../key.ts";

export const HASH_BYTES = 32;
export const TREES = ["shared", "local"] as const;
export type TreeName = (typeof TREES)[number];

const PAGES = 256;
const SUBPAGES = 256; // of a page
const SLOTS = PAGES * SUBPAGES; // per tree
/** Slots of both trees together. */
export const ALL_SLOTS: number = TREES.length * SLOTS;
const LANES = 8; // 32-bit lanes of one sum, least significant first
const LANE_RANGE = 0x1_0000_0000;

/** By way of a text: a buffer from the runtime has memory of its own, which costs as much again. */
export function sha256(bytes: Uint8Array): Buffer {
  return Buffer.from(sha256Text(bytes), "latin1");
}

/** One character for each byte. */
export function sha256Text(bytes: Uint8Array): string {
  return hash("sha256", bytes, "latin1");
}

/** The place of a key in the tree of its class; null for classes that have none. */
export function slotOf(cls: Class, key: string): number | null {
  if (cls === "ignored") return null;
  const digest = hash("sha256", key, "latin1"); // of the UTF-8 bytes
  return (cls === "shared" ? 0 : SLOTS) + digest.charCodeAt(0) * SUBPAGES + digest.charCodeAt(1);
}

export function treeOf(slot: number): TreeName {
  return slot < SLOTS ? "shared" : "local";
}

/** The slot of a subpage, as a check names it. */
export function slotAt({ tree, page, subpage }: SubpagePlace): number {
  return (tree === "shared" ? 0 : SLOTS) + page * SUBPAGES + subpage;
}

export interface SubpagePlace {
  readonly tree: TreeName;
  readonly page: number;
  readonly subpage: number;
}

/** Whether a stored row can be taken over; a damaged one may have any slot or length. */
export function isSumRow({ slot, sum, count }: SumRow): boolean {
  return isSlot(slot) && sum.length === HASH_BYTES && count >= 0 && count < LANE_RANGE;
}

/** Whether it is one of this tree. */
export function isSlotOf(name: TreeName, slot: number): boolean {
  return isSlot(slot) && treeOf(slot) === name;
}

export function isSlot(slot: number): boolean {
  return Number.isInteger(slot) && slot >= 0 && slot < ALL_SLOTS;
}

/**
 * Makes leaves: HMAC-SHA-256(Kt, key ‖ 0x00 ‖ scope ‖ SHA-256(stored bytes)). The key of the tree makes
 * them unpredictable to clients: with a plain hash one could search for values whose sums collide. The
 * scope decides what leaves the cluster, so it is vouched for as the value is.
 */
export class LeafHasher {
  readonly #hmac: Hmac;
  #input = Buffer.alloc(0);

  constructor(treeKey: KeyObject) {
    this.#hmac = new Hmac(treeKey);
  }

  hash(key: string, scope: Uint8Array, valueDigest: Uint8Array): Buffer {
    const max = 3 * key.length + 1 + scope.length + HASH_BYTES;
    if (this.#input.length < max) this.#input = Buffer.alloc(2 * max);
    const input = this.#input;
    const keyBytes = input.write(key);
    input[keyBytes] = 0;
    input.set(scope, keyBytes + 1);
    input.set(valueDigest, keyBytes + 1 + scope.length);
    return this.#hmac.bytesOf(input.subarray(0, keyBytes + 1 + scope.length + valueDigest.length));
  }

  wipe(): void {
    this.#hmac.wipe();
  }
}

/** A single leaf. */
export function leafHash(
  treeKey: KeyObject,
  key: string,
  scope: Uint8Array,
  valueDigest: Uint8Array,
): Buffer {
  const hasher = new LeafHasher(treeKey);
  try {
    return hasher.hash(key, scope, valueDigest);
  } finally {
    hasher.wipe();
  }
}

/** The sums and counts of 256 subpages. */
class TreePage {
  readonly sums = new Uint32Array(SUBPAGES * LANES);
  readonly counts = new Uint32Array(SUBPAGES);
  hash: Buffer | null = null; // null when it has changed since
}

/** Sums and counts of one tree and their total. Pages without leaves cost nothing. */
export class Tree {
  readonly name: TreeName;
  readonly #base: number;
  readonly #pages: (TreePage | undefined)[] = Array.from({ length: PAGES });
  readonly #total = new Uint32Array(LANES);
  #count = 0;
  #isTotal = true; // false: sums were taken over, and nobody has asked for the total since

  constructor(name: TreeName) {
    this.name = name;
    this.#base = name === "shared" ? 0 : SLOTS;
  }

  /** Replaces a leaf: null for "none" on either side. */
  replace(slot: number, before: Uint8Array | null, after: Uint8Array | null): void {
    const place = this.#place(slot);
    const page = this.#own(place);
    const sub = place % SUBPAGES;
    const change = (after === null ? 0 : 1) - (before === null ? 0 : 1);
    invariant(page.counts[sub]! + change >= 0, "a subpage cannot hold fewer than no leaves");
    if (before !== null) {
      accumulate(page.sums, sub, before, -1);
      accumulate(this.#total, 0, before, -1);
    }
    if (after !== null) {
      accumulate(page.sums, sub, after, 1);
      accumulate(this.#total, 0, after, 1);
    }
    page.counts[sub]! += change;
    this.#count += change;
    page.hash = null;
  }

  /** Takes over a stored row as it is: when loading, and when a commit has become durable. The total
   *  waits until somebody asks. */
  set(row: SumRow): void {
    const place = this.#place(row.slot);
    const page = this.#own(place);
    const sub = place % SUBPAGES;
    writeSum(page.sums, sub, row.sum);
    page.counts[sub] = row.count;
    page.hash = null;
    this.#isTotal = false;
  }

  /** The same where the total is wanted after each. */
  mend(row: SumRow): void {
    const before = this.row(row.slot);
    const { sum, count } = this.total();
    this.set(row);
    writeSum(this.#total, 0, sum);
    accumulate(this.#total, 0, before.sum, -1);
    accumulate(this.#total, 0, row.sum, 1);
    this.#count = count - before.count + row.count;
    this.#isTotal = true;
  }

  isEmpty(slot: number): boolean {
    const place = this.#place(slot);
    const page = this.#page(place);
    const sub = place % SUBPAGES;
    return page.counts[sub] === 0 && isZero(page.sums, sub);
  }

  row(slot: number): SumRow {
    const place = this.#place(slot);
    const page = this.#page(place);
    const sub = place % SUBPAGES;
    return { slot, sum: readSum(page.sums, sub), count: page.counts[sub]! };
  }

  total(): { readonly sum: Buffer; readonly count: number } {
    if (!this.#isTotal) this.#addUp();
    return { sum: readSum(this.#total, 0), count: this.#count };
  }

  /** Takes over everything of another tree of the same name. */
  adopt(other: Tree): void {
    for (const [number, page] of other.#pages.entries()) {
      if (page === undefined) continue;
      const copy = new TreePage();
      copy.sums.set(page.sums);
      copy.counts.set(page.counts);
      this.#pages[number] = copy;
    }
    this.#total.set(other.#total);
    this.#count = other.#count;
    this.#isTotal = other.#isTotal;
  }

  /** Slots whose sum or count differ from another tree's. */
  differing(other: Tree): number[] {
    const slots: number[] = [];
    for (let number = 0; number < PAGES; number++) {
      const ours = this.#pages[number] ?? NO_LEAVES;
      const theirs = other.#pages[number] ?? NO_LEAVES;
      for (let sub = 0; ours !== theirs && sub < SUBPAGES; sub++) {
        let same = ours.counts[sub] === theirs.counts[sub];
        const end = (sub + 1) * LANES;
        for (let lane = sub * LANES; same && lane < end; lane++) {
          same = ours.sums[lane] === theirs.sums[lane];
        }
        if (!same) slots.push(this.#base + number * SUBPAGES + sub);
      }
    }
    return slots;
  }

  /** Kept until the page changes: a root over everything anew would take 10 ms each time. */
  pageHash(number: number): Buffer {
    const page = this.#page(number * SUBPAGES);
    if (page.hash !== null) return page.hash;
    const pairs = Buffer.alloc(SUBPAGES * (HASH_BYTES + 4));
    for (let sub = 0; sub < SUBPAGES; sub++) {
      pairs.set(readSum(page.sums, sub), sub * 36);
      pairs.writeUInt32BE(page.counts[sub]!, sub * 36 + HASH_BYTES);
    }
    return (page.hash = sha256(pairs));
  }

  /** The pages whose kept hash is not that of their sums; it is made anew when somebody asks. */
  mendHashes(): number[] {
    const wrong: number[] = [];
    for (const [number, page] of this.#pages.entries()) {
      if (page === undefined || page.hash === null) continue;
      const kept = page.hash;
      page.hash = null;
      if (!kept.equals(this.pageHash(number))) wrong.push(number);
    }
    return wrong;
  }

  root(): Buffer {
    const pages: Buffer[] = [];
    for (let page = 0; page < PAGES; page++) pages.push(this.pageHash(page));
    return sha256(concat(...pages));
  }

  #addUp(): void {
    const lanes = new Float64Array(LANES); // 65,536 numbers of 32 bits each: exact
    this.#count = 0;
    for (const page of this.#pages) {
      if (page === undefined) continue;
      for (const count of page.counts) this.#count += count;
      const { sums } = page;
      for (let at = 0; at < sums.length; at++) lanes[at % LANES]! += sums[at]!;
    }
    let carry = 0;
    for (const [lane, sum] of lanes.entries()) {
      this.#total[lane] = (sum + carry) % LANE_RANGE;
      carry = Math.floor((sum + carry) / LANE_RANGE);
    }
    this.#isTotal = true;
  }

  #page(place: number): TreePage {
    return this.#pages[Math.floor(place / SUBPAGES)] ?? NO_LEAVES;
  }

  /** The page of a place, to be changed. */
  #own(place: number): TreePage {
    return (this.#pages[Math.floor(place / SUBPAGES)] ??= new TreePage());
  }

  #place(slot: number): number {
    const place = slot - this.#base;
    invariant(place >= 0 && place < SLOTS, "slot of another tree");
    return place;
  }
}

/** A tree each for shared and local records. */
export class Forest {
  readonly shared = new Tree("shared");
  readonly local = new Tree("local");

  copy(): Forest {
    const copy = new Forest();
    copy.shared.adopt(this.shared);
    copy.local.adopt(this.local);
    return copy;
  }

  of(slot: number): Tree {
    return this[treeOf(slot)];
  }

  differing(other: Forest): number[] {
    return [...this.shared.differing(other.shared), ...this.local.differing(other.local)];
  }

  /** What a DR status reports: SHA-256(tag ‖ shared root ‖ local root). */
  compositeRoot(): Buffer {
    return sha256(concat(utf8("holdfast composite root 1"), this.shared.root(), this.local.root()));
  }
}

/** The sum and count of some leaves, on their own. */
export function sumOf(slot: number, hashes: readonly Uint8Array[]): SumRow {
  const sums = new Uint32Array(LANES);
  for (const leaf of hashes) accumulate(sums, 0, leaf, 1);
  return { slot, sum: readSum(sums, 0), count: hashes.length };
}

/** What every page is until it has a leaf; only read. */
const NO_LEAVES = new TreePage();

function isZero(sums: Uint32Array, place: number): boolean {
  for (let at = place * LANES; at < (place + 1) * LANES; at++) {
    if (sums[at] !== 0) return false;
  }
  return true;
}

function accumulate(sums: Uint32Array, place: number, value: Uint8Array, sign: 1 | -1): void {
  if (value.length !== HASH_BYTES) return; // a damaged leaf adds nothing: its sum does not match
  const start = place * LANES;
  let carry = 0;
  for (let lane = 0; lane < LANES; lane++) {
    const sum = sums[start + lane]! + sign * wordAt(value, lane) + carry;
    carry = Math.floor(sum / LANE_RANGE);
    sums[start + lane] = sum; // stored modulo 2^32
  }
}

/** The 32 bits of a lane. */
function wordAt(value: Uint8Array, lane: number): number {
  const at = HASH_BYTES - 4 * lane - 4;
  return (
    value[at]! * 0x100_0000 + ((value[at + 1]! << 16) | (value[at + 2]! << 8) | value[at + 3]!)
  );
}

function readSum(sums: Uint32Array, place: number): Buffer {
  const out = Buffer.alloc(HASH_BYTES);
  for (let lane = 0; lane < LANES; lane++) {
    const word = sums[place * LANES + lane]!;
    const at = HASH_BYTES - 4 * lane - 4;
    out[at] = word >>> 24;
    out[at + 1] = word >>> 16;
    out[at + 2] = word >>> 8;
    out[at + 3] = word;
  }
  return out;
}

function writeSum(sums: Uint32Array, place: number, value: Uint8Array): void {
  invariant(value.length === HASH_BYTES, "a sum has 32 bytes");
  for (let lane = 0; lane < LANES; lane++) {
    sums[place * LANES + lane] = wordAt(value, lane);
  }
}
