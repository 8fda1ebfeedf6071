// The leaf rows of whole slots, what is accepted but not durable included: the steps in which a
// repair walks the trees.

import type { Leaf, LeafRow, Reads } from "../engines/engine.ts";
import { ALL_SLOTS } from "../rows/merkle.ts";

const LEAVES_AT_ONCE = 256;
const SLOTS_AT_ONCE = 4096;

export interface SlotLeaves {
  readonly bySlot: ReadonlyMap<number, readonly LeafRow[]>;
  /** Every leaf of every slot from the first one to this one, which is left out, is there. */
  readonly next: number;
}

/** As many whole slots from `first` on as one or two reads give, at least one. */
export function leavesFrom(
  stored: Reads,
  pending: ReadonlyMap<number, readonly (readonly [key: string, leaf: Leaf | null])[]>,
  first: number,
): SlotLeaves {
  const { rows, next } = storedFrom(stored, first);
  const bySlot = new Map<number, LeafRow[]>();
  for (const row of rows) {
    if (row.slot >= next) break;
    const leaves = bySlot.get(row.slot);
    if (leaves === undefined) bySlot.set(row.slot, [row]);
    else leaves.push(row);
  }
  for (const [slot, changes] of pending) {
    if (slot < first || slot >= next) continue;
    const leaves = new Map((bySlot.get(slot) ?? []).map((row) => [row.key, row]));
    for (const [key, leaf] of changes) {
      if (leaf === null) leaves.delete(key);
      else leaves.set(key, { ...leaf, slot, key });
    }
    bySlot.set(slot, [...leaves.values()]);
  }
  return { bySlot, next };
}

function storedFrom(stored: Reads, first: number): { rows: LeafRow[]; next: number } {
  const rows: LeafRow[] = [];
  const max = Math.min(first + SLOTS_AT_ONCE, ALL_SLOTS);
  for (let after = { slot: first, key: "" }; ;) {
    const page = stored.leaves(after, LEAVES_AT_ONCE);
    rows.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < LEAVES_AT_ONCE) return { rows, next: max };
    // The last slot may go on beyond the page: it is left for the next step, unless it is the first.
    if (last.slot > first) return { rows, next: Math.min(last.slot, max) };
    after = last;
  }
}
