// The keys behind a barrier on their way to another cluster of the set, which will seal and open the same entries. As
// bytes, since they are sealed to that cluster's own key; nothing of them becomes a string.

import type { KeyObject } from "node:crypto";
import { alloc, asBuffer, wipe } from "@holdfast/shared/bytes";
import { exportKey, secretKey } from "../crypto/aead.ts";
import { Keyring } from "./keyring.ts";

const KEY_BYTES = 32;

export interface HandedKeys {
  /** With the root key and all data keys. */
  readonly keyring: Keyring;
  readonly treeKey: KeyObject;
}

/** The key of the trees, then the document of the keyring. The caller wipes it. */
export function encodeHandedKeys({ keyring, treeKey }: HandedKeys): Buffer {
  const document = keyring.encode(0);
  const key = exportKey(treeKey);
  const whole = alloc(KEY_BYTES + document.length);
  whole.set(key);
  whole.set(document, KEY_BYTES);
  wipe(document, key);
  return whole;
}

/** Null for what is malformed. The bytes are wiped. */
export function decodeHandedKeys(bytes: Uint8Array): HandedKeys | null {
  if (bytes.length <= KEY_BYTES) return null;
  const key = alloc(KEY_BYTES);
  key.set(bytes.subarray(0, KEY_BYTES));
  const treeKey = secretKey(key);
  const keyring = Keyring.decode(asBuffer(bytes.subarray(KEY_BYTES)));
  wipe(bytes);
  return keyring === null ? null : { keyring, treeKey };
}
