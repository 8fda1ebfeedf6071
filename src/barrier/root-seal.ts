// Sealing under the root key itself, for what leaves this server and may come back to it. A key of its own is
// derived for each purpose, so that nothing sealed for one opens for another, nor for the keyring.

import type { KeyObject } from "node:crypto";
import type { Random } from "@holdfast/shared/world";
import { deriveKey, entryTerm, openEntry, sealEntry } from "../crypto/aead.ts";

const TERM = 1;
const NONCE_BYTES = 12;

export function sealUnderRootKey(
  rootKey: KeyObject,
  purpose: string,
  plaintext: Uint8Array,
  random: Random,
): Buffer {
  const key = deriveKey(rootKey, purpose);
  return sealEntry(key, TERM, purpose, plaintext, random.bytes(NONCE_BYTES));
}

/** Null when it was sealed under another root key, for another purpose, or changed since. */
export function openUnderRootKey(
  rootKey: KeyObject,
  purpose: string,
  sealed: Uint8Array,
): Buffer | null {
  if (entryTerm(sealed) !== TERM) return null; // the tag does not cover it
  return openEntry(deriveKey(rootKey, purpose), purpose, sealed);
}
