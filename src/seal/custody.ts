// The rows that hold the root key and under which key they do. Initialisation and rekey write them
// with the same code and in one transaction with the keyring, so that there is no moment at which
// the shares of neither side open them.

import type { KeyObject } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import { sameBytes } from "../base/same-bytes.ts";
import { bytesCodec } from "@holdfast/shared/codec";
import type { Random, Timers } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import { exportKey, openEntry, sealEntry, secretKey } from "../crypto/aead.ts";
import type { StoreReads, StoreTx } from "../storage/transaction.ts";
import { putConfig, type Scheme, type SealConfig, schemeOf } from "./config.ts";
import { rowMissing } from "./failures.ts";
import type { Collection } from "./ceremonies/collection.ts";
import type { Ground } from "./ceremonies/ceremony-deps.ts";
import { findKey } from "./ceremonies/share.ts";

export const ROOT_KEY_PATH = "core/root-key";
export const RECOVERY_ROOT_KEY_PATH = "core/recovery-root-key";
// Copies inside the barrier, below core/: for whoever is unsealed already and has to follow a rekey.
const UNSEAL_KEY_COPY = "unseal-key-copy";
const ROOT_KEY_COPY = "root-key-copy";
const RECOVERY_KEY_COPY = "recovery-key-copy";

const TERM = 1; // in the header of rows that are not sealed by the keyring
const NONCE_BYTES = 12;

export type Custody =
  | {
      readonly config: Extract<SealConfig, { type: "shamir" }>;
      readonly rootKey: KeyObject;
      readonly unsealKey: KeyObject;
    }
  | {
      readonly config: Extract<SealConfig, { type: "static" }>;
      readonly rootKey: KeyObject;
      /** From outside; no copy of it is ever stored. */
      readonly sealKey: KeyObject;
      readonly recoveryKey: KeyObject;
    };

export function putCustody(tx: Tx, raw: StoreTx, random: Random, custody: Custody): void {
  const { config, rootKey } = custody;
  putConfig(raw, config);
  putCopy(tx, ROOT_KEY_COPY, rootKey);
  if ("unsealKey" in custody) {
    wrap(raw, random, ROOT_KEY_PATH, custody.unsealKey, rootKey);
    putCopy(tx, UNSEAL_KEY_COPY, custody.unsealKey);
    return;
  }
  wrap(raw, random, ROOT_KEY_PATH, custody.sealKey, rootKey);
  putCopy(tx, RECOVERY_KEY_COPY, custody.recoveryKey);
  if (custody.config.recovery.canUnseal) {
    wrap(raw, random, RECOVERY_ROOT_KEY_PATH, custody.recoveryKey, rootKey);
  }
}

function wrap(
  raw: StoreTx,
  random: Random,
  path: string,
  wrapper: KeyObject,
  rootKey: KeyObject,
): void {
  const plaintext = exportKey(rootKey);
  try {
    raw.put(path, sealEntry(wrapper, TERM, path, plaintext, random.bytes(NONCE_BYTES)));
  } finally {
    wipe(plaintext);
  }
}

function putCopy(tx: Tx, name: string, key: KeyObject): void {
  const plaintext = exportKey(key);
  try {
    tx.put(name, plaintext, bytesCodec);
  } finally {
    wipe(plaintext);
  }
}

/** The root key in a row, or null when the key is not the one that wrapped it. */
export function openRootKey(
  store: Pick<StoreReads, "get">,
  path: string,
  key: KeyObject,
): KeyObject | null {
  const stored = store.get(path);
  if (stored === null) throw rowMissing(path);
  const rootKey = openEntry(key, path, stored);
  return rootKey === null ? null : secretKey(rootKey);
}

/** The root key behind some of the shares, with those that gave it; null when none opens it. */
export async function findRootKey(
  store: Pick<StoreReads, "get">,
  path: string,
  scheme: Scheme,
  collection: Collection,
  timers: Timers,
): Promise<{ readonly rootKey: KeyObject; readonly shares: readonly Buffer[] } | null> {
  let rootKey: KeyObject | null = null;
  const opens = (key: KeyObject) => (rootKey = openRootKey(store, path, key)) !== null;
  const found = await findKey(scheme, collection, opens, timers);
  return found === null || rootKey === null ? null : { rootKey, shares: found.shares };
}

/**
 * Whether the shares are those of this server, asked while it is unsealed. What their key opens is
 * compared with the root key in memory: after a rekey, old rows put back on the disk would still
 * open with old shares, and give the old root key.
 */
export async function recognises(
  { barrier, store, timers }: Pick<Ground, "barrier" | "store" | "timers">,
  config: SealConfig,
  collection: Collection,
): Promise<boolean> {
  const scheme = schemeOf(config);
  if (config.type === "shamir" || config.recovery.canUnseal) {
    const path = config.type === "shamir" ? ROOT_KEY_PATH : RECOVERY_ROOT_KEY_PATH;
    const found = await findRootKey(store, path, scheme, collection, timers);
    return found?.rootKey.equals(barrier.rootKey) ?? false;
  }
  // Recovery shares that cannot unseal open nothing; there is only the copy to compare with. Read in
  // a transaction, which keeps it out of the cache of decrypted entries.
  const copy = await barrier.ceremony((tx) => tx.get(RECOVERY_KEY_COPY, bytesCodec));
  if (copy === null) throw rowMissing(`core/${RECOVERY_KEY_COPY}`);
  try {
    const found = await findKey(scheme, collection, (key) => isKey(key, copy), timers);
    return found !== null;
  } finally {
    wipe(copy);
  }
}

function isKey(key: KeyObject, bytes: Uint8Array): boolean {
  const exported = exportKey(key);
  try {
    return sameBytes(exported, bytes);
  } finally {
    wipe(exported);
  }
}
