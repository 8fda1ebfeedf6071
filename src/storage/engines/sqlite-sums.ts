// Sums that changed lately, as they lie in the table `recent`: one row for each commit, at the end of
// the table. A write changes sums all over the table `sum`, about as many of its pages as it changes
// sums; written there once for many commits, each page holds many changes. Until then a sum is what
// the last row in `recent` says, and where none does, what `sum` says.

import type { SumRow } from "./engine.ts";

const HEADER = 10; // slot 4, count 4, length of the sum 2

export function packSums(rows: readonly SumRow[]): Buffer {
  const packed = Buffer.alloc(rows.reduce((size, { sum }) => size + HEADER + sum.length, 0));
  let at = 0;
  for (const { slot, sum, count } of rows) {
    packed.writeUInt32LE(slot, at);
    packed.writeUInt32LE(count, at + 4);
    packed.writeUInt16LE(sum.length, at + 8);
    packed.set(sum, at + HEADER);
    at += HEADER + sum.length;
  }
  return packed;
}

/**
 * The last state of each slot from `from` to `to`, both included. Bytes that make no sense end their row:
 * it is damaged, and the sums will not add up, which is found and mended where they are read.
 */
export function latestSums(
  recent: Iterable<Uint8Array>,
  from = 0,
  to = Infinity,
): Map<number, SumRow> {
  const latest = new Map<number, SumRow>();
  for (const bytes of recent) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at + HEADER <= bytes.length;) {
      const slot = view.getUint32(at, true);
      const end = at + HEADER + view.getUint16(at + 8, true);
      if (end > bytes.length) break;
      if (slot >= from && slot <= to) {
        const sum = bytes.subarray(at + HEADER, end);
        latest.set(slot, { slot, sum, count: view.getUint32(at + 4, true) });
      }
      at = end;
    }
  }
  return latest;
}

export function inOrderOfSlots(rows: Iterable<SumRow>): SumRow[] {
  return [...rows].toSorted((a, b) => a.slot - b.slot);
}
