// Rows that a member brings to its primary, on their way: sealed for the set, so that nobody brings any who has not its keys,
// whatever certificate was shown.

import type { KeyObject } from "node:crypto";
import type { Random } from "@holdfast/shared/world";
import { deriveKey, openEntry, sealEntry } from "../../crypto/aead.ts";
import type { BroughtRow } from "../links/orphans.ts";

const PURPOSE = "holdfast replication orphans 1";
const TERM = 1;
const NONCE_BYTES = 12;

export interface SealedRow {
  readonly key: string;
  readonly sealed: Uint8Array;
}

/** `set`: a row is of no other. */
export function sealRows(
  rows: readonly BroughtRow[],
  set: string,
  { rootKey, random }: { readonly rootKey: KeyObject; readonly random: Random },
): SealedRow[] {
  const key = deriveKey(rootKey, PURPOSE);
  return rows.map((row) => {
    const nonce = random.bytes(NONCE_BYTES);
    return { key: row.key, sealed: sealEntry(key, TERM, nameOf(set, row.key), row.value, nonce) };
  });
}

/** Null where one of them was sealed with other keys, or for another place. */
export function openRows(
  rows: readonly SealedRow[],
  set: string,
  rootKey: KeyObject,
): BroughtRow[] | null {
  const key = deriveKey(rootKey, PURPOSE);
  const opened: BroughtRow[] = [];
  for (const row of rows) {
    const value = openEntry(key, nameOf(set, row.key), row.sealed);
    if (value === null) return null;
    opened.push({ key: row.key, value });
  }
  return opened;
}

function nameOf(set: string, key: string): string {
  return `${set}/${key}`;
}
