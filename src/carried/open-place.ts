// Rows that whoever has the disk may have put there or changed. Nothing about them is believed, neither names nor lengths:
// they are read in bounds, those that the server would never have written are told apart, and all of them can be removed.

import { bytesCodec } from "@holdfast/shared/codec";
import type { Timers } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { isLegalKey } from "../storage/key.ts";

const KEYS_AT_ONCE = 64;
const BYTES_AT_ONCE = 1 << 20; // of values read, or of names removed, in one transaction
/** A full disk keeps nobody from unsealing. */
export const ESSENTIAL = { essential: true };

/** As it lies in storage; null where the server would not have written it: the name is none, or the value too long. */
export interface OpenRow {
  readonly key: string;
  readonly value: Uint8Array | null;
}

export function isEmpty(view: View): boolean {
  return view.keys("", { limit: 1 }).length === 0;
}

/** Rows in the order of their names, in parts that fit into a transaction. */
export async function* rowsBelow(
  view: View,
  prefix: string,
  { maxBytes, timers }: { readonly maxBytes: number; readonly timers: Timers },
): AsyncGenerator<readonly OpenRow[]> {
  for (const keys of keysBelow(view, prefix)) {
    let part: OpenRow[] = [];
    let bytes = 0;
    for (const key of keys) {
      const found = isLegalKey(view.prefix + key) ? view.get(key, bytesCodec) : null;
      const value = found !== null && found.length <= maxBytes ? found : null;
      part.push({ key, value });
      bytes += value?.length ?? 0;
      if (bytes < BYTES_AT_ONCE) continue;
      yield part;
      await timers.turn();
      [part, bytes] = [[], 0];
    }
    if (part.length > 0) yield part;
    await timers.turn();
  }
}

export async function countBelow(
  view: View,
  prefix: string,
  { max, timers }: { readonly max: number; readonly timers: Timers },
): Promise<number> {
  let count = 0;
  for (const keys of keysBelow(view, prefix)) {
    count += keys.length;
    if (count >= max) return max;
    await timers.turn();
  }
  return count;
}

/** Everything below, whatever its name. */
export async function removeAll(view: View): Promise<void> {
  for (const keys of keysBelow(view, "")) {
    let part: string[] = [];
    let bytes = 0;
    const remove = async () => {
      const names = part;
      [part, bytes] = [[], 0];
      await view.write((tx) => names.forEach((key) => tx.discard(key)), ESSENTIAL);
    };
    for (const key of keys) {
      part.push(key);
      bytes += key.length;
      if (bytes >= BYTES_AT_ONCE) await remove();
    }
    if (part.length > 0) await remove();
  }
}

function* keysBelow(view: View, prefix: string): Generator<readonly string[]> {
  for (let after: string | undefined; ;) {
    const page = { limit: KEYS_AT_ONCE, ...(after === undefined ? {} : { after }) };
    const keys = view.keys(prefix, page);
    after = keys.at(-1);
    if (after === undefined) return;
    yield keys;
  }
}
