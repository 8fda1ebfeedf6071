// The Merkle check: does everything stored still add up? It compares, on one consistent view, data
// rows with leaves, leaves with sums, sums with the totals under the head's MAC, and walks the chain
// of the log. Leaves cover keys, so that a key that vanished from the data is found by name.

import type { KeyObject } from "node:crypto";
import { equalBytes, utf8 } from "@holdfast/shared/bytes";
import type { Clock, Timers } from "@holdfast/shared/world";
import type { Leaf, LeafRow, ReadView } from "../engines/engine.ts";
import {
  decodeHead,
  decodeTail,
  type Head,
  HEAD_ROW,
  headIsAuthentic,
  TAIL_ROW,
  TIMELINE_ROW,
} from "../rows/head.ts";
import { TimelineWalk, timelineOf } from "../rows/epoch.ts";
import { afterKey, classOf, hasClass } from "../key.ts";
import { decodeEntry, followsFrom, type LogEntry, LOST_SCOPE } from "../rows/log-entry.ts";
import {
  Forest,
  isSlot,
  LeafHasher,
  sha256,
  slotOf,
  type SubpagePlace,
  type TreeName,
  TREES,
  treeOf,
} from "../rows/merkle.ts";
import { MalformedBytes } from "../rows/row-bytes.ts";
import { SYNC_ROW } from "../rows/sync.ts";
import { Slices } from "../commit/slices.ts";
import { storedSums } from "../opening.ts";

const CHUNK = 256;
const CHUNK_VALUES = 16; // rows with their values, and log entries: each may have megabytes
const MAX_NAMED = 1000;

export interface CheckOptions {
  /** Also hashes every stored value again. Default true; false compares keys only. */
  readonly deep?: boolean;
  readonly signal?: AbortSignal;
}

/** Findings name at most 1,000 keys each; `damaged` counts them all. */
export interface CheckReport {
  readonly ok: boolean;
  readonly index: bigint;
  readonly entries: Readonly<Record<TreeName, number>>;
  readonly headAuthentic: boolean;
  /** The stored sums add up to the totals under the head's MAC. */
  readonly totalsMatch: boolean;
  /** Slots whose stored sum or count is not that of their leaves. */
  readonly wrongSubpages: readonly SubpagePlace[];
  /** Keys with a leaf but no row: vanished. Also those of leaves that lie in a foreign place. */
  readonly missing: readonly string[];
  /** Keys with a row but no leaf: put there by somebody else. */
  readonly surplus: readonly string[];
  /** Keys whose stored bytes are not those of their leaf. */
  readonly different: readonly string[];
  readonly damaged: number;
  /** The first index at which the log is not dense or not chained; null when it is whole. */
  readonly brokenLogAt: bigint | null;
  /** The timeline is of this log: it ends at the head's epoch, and each entry is of the epoch that it says. */
  readonly timelineFits: boolean;
  /** Part of another cluster's rows have been taken over: nothing is damaged, and it is of no index yet. */
  readonly halfAdopted: boolean;
}

export interface CheckWorld {
  readonly view: ReadView;
  readonly treeKey: KeyObject;
  readonly clock: Clock;
  readonly timers: Timers;
}

export async function checkStore(world: CheckWorld, options: CheckOptions): Promise<CheckReport> {
  const marker = new Marker(world.treeKey, options.deep ?? true);
  try {
    return await check(world, marker, new Slices(world, options.signal));
  } finally {
    marker.wipe();
  }
}

async function check(world: CheckWorld, marker: Marker, slices: Slices): Promise<CheckReport> {
  const { view, treeKey } = world;

  const headBytes = view.meta(HEAD_ROW);
  const headAuthentic = headBytes !== null && headIsAuthentic(headBytes, treeKey);
  const head = headBytes === null ? null : decodeOrNull(() => decodeHead(headBytes));

  const leaves = await sumOfLeaves(view, marker, slices);
  const stored = await storedSums(view, slices);
  const wrongSubpages = leaves.byHash.differing(stored).map(placeOf);
  const totalsMatch = head !== null && TREES.every((name) => sameTotals(stored, head, name));

  const data = await sumOfData(view, marker, slices);
  const suspects = new Set((marker.deep ? leaves.byHash : leaves.byKey).differing(data));
  const found = await nameDamage(view, marker, suspects, slices);
  const { brokenLogAt, timelineFits } = head === null ? NO_LOG : await walkLog(view, head, slices);

  const sound = headAuthentic && totalsMatch && brokenLogAt === null && timelineFits;
  return {
    ok: sound && wrongSubpages.length === 0 && suspects.size === 0,
    index: head?.index ?? 0n,
    entries: { shared: data.shared.total().count, local: data.local.total().count },
    headAuthentic,
    totalsMatch,
    wrongSubpages,
    ...found,
    brokenLogAt,
    timelineFits,
    halfAdopted: view.meta(SYNC_ROW) !== null,
  };
}

/** The slots whose stored sum is not that of their leaves. */
export async function wrongSlots(view: ReadView, slices: Slices): Promise<number[]> {
  const leaves = new Forest();
  for await (const { slot, hash } of allLeaves(view, slices)) {
    leaves.of(slot).replace(slot, null, hash);
  }
  return leaves.differing(await storedSums(view, slices));
}

/** What stands for a row in the comparison: its leaf, or in a shallow check only its key. */
class Marker {
  readonly #leaves: LeafHasher;
  readonly deep: boolean;

  constructor(treeKey: KeyObject, deep: boolean) {
    this.#leaves = new LeafHasher(treeKey);
    this.deep = deep;
  }

  wipe(): void {
    this.#leaves.wipe();
  }

  /** The scope stands in the leaf alone; where that is lost, the row differs whatever is taken for it. */
  ofRow(key: string, value: Uint8Array | null, leaf: Leaf | null): Uint8Array {
    if (!this.deep || value === null) return sha256(utf8(key));
    return this.#leaves.hash(key, leaf?.scope ?? LOST_SCOPE, sha256(value));
  }

  ofLeaf(leaf: LeafRow): Uint8Array {
    return this.deep ? leaf.hash : sha256(utf8(leaf.key));
  }
}

async function sumOfLeaves(view: ReadView, marker: Marker, slices: Slices) {
  const byHash = new Forest();
  const byKey = marker.deep ? byHash : new Forest();
  for await (const leaf of allLeaves(view, slices)) {
    byHash.of(leaf.slot).replace(leaf.slot, null, leaf.hash);
    if (!marker.deep) byKey.of(leaf.slot).replace(leaf.slot, null, marker.ofLeaf(leaf));
  }
  return { byHash, byKey };
}

async function sumOfData(view: ReadView, marker: Marker, slices: Slices): Promise<Forest> {
  const forest = new Forest();
  for await (const { key, value, slot } of allRows(view, marker.deep, slices)) {
    const leaf = marker.deep ? view.leaf(slot, key) : null;
    forest.of(slot).replace(slot, null, marker.ofRow(key, value, leaf));
  }
  return forest;
}

/** Looks at the rows and leaves of the slots that differ, and says what is wrong with which key. */
async function nameDamage(
  view: ReadView,
  marker: Marker,
  suspects: ReadonlySet<number>,
  slices: Slices,
): Promise<Pick<CheckReport, "missing" | "surplus" | "different" | "damaged">> {
  const missing: string[] = [];
  const surplus: string[] = [];
  const different: string[] = [];
  let damaged = 0;
  const name = (list: string[], key: string) => {
    damaged++;
    if (list.length < MAX_NAMED) list.push(key);
  };
  if (suspects.size === 0) return { missing, surplus, different, damaged };

  for (const slot of suspects) {
    for await (const leaf of allLeaves(view, slices, slot)) {
      const value = slotOf(classOrIgnored(leaf.key), leaf.key) === slot ? view.get(leaf.key) : null;
      if (value === null) name(missing, leaf.key);
      else if (!equalBytes(marker.ofRow(leaf.key, value, leaf), marker.ofLeaf(leaf))) {
        name(different, leaf.key);
      }
    }
  }
  for await (const { key, slot } of allRows(view, false, slices)) {
    if (suspects.has(slot) && view.leaf(slot, key) === null) name(surplus, key);
  }
  return { missing, surplus, different, damaged };
}

/** Every row that has a place in a tree, in key order. */
async function* allRows(view: ReadView, withValues: boolean, slices: Slices) {
  const limit = withValues ? CHUNK_VALUES : CHUNK;
  let from = "";
  for (;;) {
    const range = { from, to: null, limit };
    const page = withValues
      ? view.rows(range)
      : view.keys(range).map((key) => ({ key, value: null }));
    for (const { key, value } of page) {
      const slot = slotOf(classOrIgnored(key), key);
      if (slot !== null) yield { key, value, slot };
      await slices.pause(); // after each one: hashing a large value takes most of a slice
    }
    if (page.length < limit) return;
    from = afterKey(page.at(-1)!.key);
  }
}

/** A damaged key may have no class any more; its leaf then shows up as missing. */
function classOrIgnored(key: string) {
  return hasClass(key) ? classOf(key) : "ignored";
}

async function* allLeaves(view: ReadView, slices: Slices, slot?: number) {
  let after = slot === undefined ? null : { slot, key: "" };
  for (;;) {
    const page = view.leaves(after, CHUNK);
    for (const leaf of page) {
      if (slot !== undefined && leaf.slot !== slot) return;
      if (isSlot(leaf.slot)) yield leaf;
    }
    if (page.length < CHUNK) return;
    const last = page.at(-1)!;
    after = { slot: last.slot, key: last.key };
    await slices.pause();
  }
}

function placeOf(slot: number): SubpagePlace {
  return { tree: treeOf(slot), page: (slot >> 8) & 255, subpage: slot & 255 };
}

function sameTotals(forest: Forest, head: Head, name: TreeName): boolean {
  const total = forest[name].total();
  return total.count === head[name].count && equalBytes(total.sum, head[name].sum);
}

type WalkedLog = Pick<CheckReport, "brokenLogAt" | "timelineFits">;
const NO_LOG: WalkedLog = { brokenLogAt: 0n, timelineFits: false };

async function walkLog(view: ReadView, head: Head, slices: Slices): Promise<WalkedLog> {
  const timeline = timelineOf(view.meta(TIMELINE_ROW), head);
  const walk = timeline === null ? null : new TimelineWalk(timeline);
  let timelineFits = walk !== null;
  const brokenLogAt = await firstBreak(view, head, slices, (entry, chain) => {
    if (walk !== null && !walk.fits(entry, chain)) timelineFits = false;
  });
  return { brokenLogAt, timelineFits };
}

/** Walks the retained log from its tail to the head. `see` is called with what is whole of it. */
async function firstBreak(
  view: ReadView,
  head: Head,
  slices: Slices,
  see: (entry: LogEntry, chainBefore: Uint8Array) => void,
): Promise<bigint | null> {
  const tailBytes = view.meta(TAIL_ROW);
  const tail = tailBytes === null ? null : decodeOrNull(() => decodeTail(tailBytes));
  if (tail === null) return 0n;
  // Trimming removes what lies before the tail together with moving it.
  const oldest = view.logs(0n, 1)[0]?.index ?? tail.first;
  if (oldest < tail.first) return oldest;
  let next = tail.first;
  let chain = tail.chainBefore;
  while (next <= head.index) {
    const rows = view.logs(next, CHUNK_VALUES);
    if (rows.length === 0) return next;
    for (const row of rows) {
      const entry: LogEntry | null = decodeOrNull(() => decodeEntry(row.entry));
      if (row.index !== next || entry === null || entry.index !== next) return next;
      if (!followsFrom(entry, chain)) return next;
      see(entry, chain);
      chain = entry.chain;
      next++;
      await slices.pause();
    }
  }
  const beyond = (view.lastLog() ?? 0n) > head.index;
  const whole = next === head.index + 1n && !beyond && equalBytes(chain, head.chain);
  return whole ? null : next;
}

function decodeOrNull<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof MalformedBytes) return null;
    throw error;
  }
}
