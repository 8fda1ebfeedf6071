// Reindex: makes leaves and sums follow the data again. It walks the store in small steps, each one
// transaction of the committer over the state of that moment, so that writes go on and a crash in
// between leaves nothing worse than before; it is simply run again. It believes the data: a key that
// vanished loses its leaf here, which is why the report names it.

import { equalBytes } from "@holdfast/shared/bytes";
import type { Clock, Timers } from "@holdfast/shared/world";
import { wrongSlots } from "./check.ts";
import type { Leaf, LeafRow, SumRow } from "../engines/engine.ts";
import { afterKey, afterPrefix, classOf, hasClass } from "../key.ts";
import { LOST_SCOPE } from "../rows/log-entry.ts";
import { ALL_SLOTS, sha256, slotOf, sumOf, type TreeName, TREES } from "../rows/merkle.ts";
import { Slices } from "../commit/slices.ts";
import type { Mending, Store } from "../store.ts";
import type { LeafChange } from "../commit/tip.ts";

const CHUNK = 128;
const CHUNK_BYTES = 1024 * 1024; // of values hashed in one step: about a millisecond
const MAX_NAMED = 1000;

/** At most 1,000 keys are named in each list; the counts are complete. */
export interface ReindexReport {
  /** Keys whose leaf was missing or different. */
  readonly mended: { readonly count: number; readonly keys: readonly string[] };
  /** Keys that had a leaf but no data: what was lost. Also those of leaves in a foreign place. */
  readonly removed: { readonly count: number; readonly keys: readonly string[] };
  /** Subpages whose sum or count was wrong. */
  readonly sums: number;
}

export type Mend = LeafChange & { readonly before: Leaf | null };

/** What a reindex needs of a store; one that follows mends itself by a `mend` of its own. */
export type Reindexed = Pick<Store, "viewing" | "mend">;

/** What a reindex is about, and how far it is: first it looks for wrong sums, then it goes through slots and keys. */
export interface ReindexStage {
  readonly stage: "scanning" | "building";
  readonly done: number;
}

export interface ReindexOptions {
  readonly signal?: AbortSignal;
  readonly see?: (stage: ReindexStage) => void;
  /** Next to each other, in their order. Default: both. */
  readonly trees?: readonly TreeName[];
}

export async function reindexStore(
  store: Reindexed,
  world: { readonly clock: Clock; readonly timers: Timers },
  how: ReindexOptions = {},
): Promise<ReindexReport> {
  const { signal, see = () => {}, trees = TREES } = how;
  const slices = new Slices(world, signal);
  see({ stage: "scanning", done: 0 });
  const mended = new Named();
  const removed = new Named();
  let sums = 0;
  const stored = new Set(await store.viewing((view) => wrongSlots(view, slices)));
  // Sums first: replacing a leaf subtracts the old one from its sum, which has to hold it.
  const { begin, end } = slotsOf(trees);
  for (let first = begin; first < end; await slices.pause()) {
    const start = first;
    see({ stage: "building", done: start });
    await store.mend((mending) => {
      const found = mending.leavesFrom(start);
      const next = Math.min(found.next, end);
      const bySlot = new Map([...found.bySlot].filter(([slot]) => slot < end));
      const wrong = wrongSums(mending, start, next, bySlot, stored);
      const gone = [...bySlot.values()].flat().filter((leaf) => !hasRow(mending, leaf));
      for (const { key } of gone) removed.add(key);
      sums += wrong.length;
      first = next;
      const mends = gone.map((leaf) => ({ ...placeOf(leaf), before: leaf, leaf: null }));
      return apply(mending, mends, wrong);
    });
  }
  let looked = 0;
  const look = (mending: Mending, key: string, value: Uint8Array) => {
    see({ stage: "building", done: ALL_SLOTS + ++looked });
    const mends = wrongLeaf(mending, key, value);
    if (mends.length > 0) mended.add(key);
    return mends;
  };
  await mendLeaves(store, slices, look, trees);
  return { mended: mended.report(), removed: removed.report(), sums };
}

/** Looks at every row that has a leaf, in small steps, and mends what `look` says. */
export async function mendLeaves(
  store: Pick<Store, "mend">,
  slices: Slices,
  look: (mending: Mending, key: string, value: Uint8Array) => Mend[],
  trees: readonly TreeName[] = TREES,
): Promise<void> {
  for (const root of trees.map((name) => `${name}/`)) {
    for (let from: string | null = root; from !== null; await slices.pause()) {
      const start: string = from;
      const step: { next: string | null } = { next: null };
      await store.mend((mending) => {
        const mends: Mend[] = [];
        step.next = lookAtSome(mending, start, root, (key, value) => {
          mends.push(...look(mending, key, value));
        });
        return apply(mending, mends);
      });
      from = step.next;
    }
  }
}

function slotsOf(trees: readonly TreeName[]): { begin: number; end: number } {
  const each = ALL_SLOTS / TREES.length;
  const [first = "shared"] = trees;
  const begin = TREES.indexOf(first) * each;
  return { begin, end: begin + trees.length * each };
}

function placeOf({ slot, key }: LeafRow): { slot: number; key: string } {
  return { slot, key };
}

/** Whether the leaf stands for a row: one in a slot that is not its key's stands for none. */
function hasRow(mending: Mending, { slot, key }: LeafRow): boolean {
  return hasClass(key) && slotOf(classOf(key), key) === slot && mending.has(key);
}

/** The sums of some slots as their leaves give them, where they are not so in memory or `stored` so. */
function wrongSums(
  mending: Mending,
  first: number,
  next: number,
  bySlot: ReadonlyMap<number, readonly LeafRow[]>,
  stored: ReadonlySet<number>,
): SumRow[] {
  const wrong: SumRow[] = [];
  for (let slot = first; slot < next; slot++) {
    const leaves = bySlot.get(slot) ?? [];
    if (leaves.length === 0 && mending.tip.isEmpty(slot) && !stored.has(slot)) continue; // as most
    const right = sumOf(
      slot,
      leaves.map(({ hash }) => hash),
    );
    const known = mending.tip.sum(slot);
    const same = right.count === known.count && equalBytes(right.sum, known.sum);
    if (!same || stored.has(slot)) wrong.push(right);
  }
  return wrong;
}

/** Looks at some keys from `from` on; returns where to go on, or null at the end. */
function lookAtSome(
  mending: Mending,
  from: string,
  root: string,
  look: (key: string, value: Uint8Array) => void,
): string | null {
  const keys = mending.keys({ from, to: afterPrefix(root), limit: CHUNK });
  let left = CHUNK_BYTES;
  for (const key of keys) {
    const value = mending.value(key);
    if (value !== null) look(key, value);
    left -= value?.length ?? 0;
    if (left < 0) return afterKey(key);
  }
  return keys.length < CHUNK ? null : afterKey(keys.at(-1)!);
}

function wrongLeaf(mending: Mending, key: string, value: Uint8Array): Mend[] {
  const slot = slotOf(classOf(key), key);
  if (slot === null) return [];
  const before = mending.leaf(slot, key);
  const digest = sha256(value);
  const same =
    before !== null && equalBytes(before.hash, mending.tip.leafHash(key, before.scope, digest));
  if (same) return [];
  // Only a leaf that fits vouches for its scope. Without one the record is withheld from everybody who
  // is not sent all there is: as the core's it would travel to those that it was denied.
  const hash = mending.tip.leafHash(key, LOST_SCOPE, digest);
  return [{ slot, key, before, leaf: { hash, scope: LOST_SCOPE } }];
}

function apply(mending: Mending, mends: readonly Mend[], wrong: readonly SumRow[] = []) {
  if (mends.length === 0 && wrong.length === 0) return null;
  for (const row of wrong) mending.tip.mendSum(row);
  mending.tip.mend(mends.map(({ slot, before, leaf }) => ({ slot, before, after: leaf })));
  const slots = new Set([...mends, ...wrong].map(({ slot }) => slot));
  const sums = new Map([...slots].map((slot) => [slot, mending.tip.sum(slot)]));
  return { leaves: mends.map(({ slot, key, leaf }) => ({ slot, key, leaf })), sums };
}

class Named {
  readonly #keys: string[] = [];
  #count = 0;

  add(key: string): void {
    this.#count++;
    if (this.#keys.length < MAX_NAMED) this.#keys.push(key);
  }

  report(): { count: number; keys: readonly string[] } {
    return { count: this.#count, keys: this.#keys };
  }
}
