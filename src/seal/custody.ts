// The rows that hold the root key and under which key they do. Initialisation and rekey write them
// with the same code and in one transaction with the keyring, so that there is no moment at which
// the shares of neither side open them.

import type { KeyObject } from "node:crypto";
import { alloc, wipe } from "@holdfast/shared/bytes";
import { sameBytes } from "../base/same-bytes.ts";
import { bytesCodec } from "@holdfast/shared/codec";
import type { Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Tx } from "../barrier/view.ts";
import { exportKey, openEntry, sealEntry, secretKey } from "../crypto/aead.ts";
import type { StoreReads, StoreTx } from "../storage/transaction.ts";
import { putConfig, readConfig, type Scheme, type SealConfig, schemeOf } from "./config.ts";
import { autoSealMissing, autoSealWrongKey, rowMissing } from "./failures.ts";
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

/** The key that operators hold shares of, and how they do. All clusters of a set have the same, each behind its own seal. */
export interface Quorum {
  readonly key: KeyObject;
  readonly config: SealConfig;
}

/** That of an unsealed store. */
export function quorumOf({ store, barrier }: Pick<Ground, "store" | "barrier">): Quorum {
  const config = readConfig(store);
  const name = config.type === "shamir" ? UNSEAL_KEY_COPY : RECOVERY_KEY_COPY;
  // A look at the records keeps it out of the cache of decrypted entries.
  const [found] = barrier.view("core/").records(name, bytesCodec, { limit: 1 });
  if (found?.key !== name) throw rowMissing(`core/${name}`);
  const raw = alloc(found.value.length);
  raw.set(found.value);
  wipe(found.value);
  return { key: secretKey(raw), config };
}

/**
 * A root key in the custody of a cluster that has taken over the quorum of another: behind its own auto seal where it
 * has one, and then the shares are recovery shares here; else the shares themselves unseal it.
 */
export function custodyUnder(
  { key, config }: Quorum,
  rootKey: KeyObject,
  sealKey: KeyObject | null,
): Custody {
  const { nonce, created } = config;
  const { shares, threshold, pgpFingerprints } = schemeOf(config);
  const scheme = { shares, threshold, pgpFingerprints };
  if (sealKey === null) {
    return { config: { type: "shamir", scheme, nonce, created }, rootKey, unsealKey: key };
  }
  const canUnseal = config.type === "shamir" || config.recovery.canUnseal;
  const recovery = { ...scheme, canUnseal };
  const here = { type: "static", recovery, nonce, created } as const;
  return { config: here, rootKey, sealKey, recoveryKey: key };
}

/** A new root key is wrapped by the auto seal too: its key must be there, and the right one. */
export function assertReplaceable(
  { store, barrier }: { readonly store: Pick<StoreReads, "get">; readonly barrier: Barrier },
  config: SealConfig,
  sealKey: KeyObject | null,
): void {
  if (config.type === "shamir") return;
  if (sealKey === null) throw autoSealMissing(config.type);
  const opened = openRootKey(store, ROOT_KEY_PATH, sealKey);
  if (opened?.equals(barrier.rootKey) !== true) throw autoSealWrongKey(config.type);
}

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
