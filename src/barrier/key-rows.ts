// The rows in which keys lie, and the records of the log that carry them: keyring and key of the trees under the root key,
// each new data key under the one before it for a standby, and under the root key for the other clusters of the set.

import type { KeyObject } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import type { Instant, Random } from "@holdfast/shared/world";
import {
  deriveKey,
  entryTerm,
  exportKey,
  openEntry,
  sealEntry,
  secretKey,
} from "../crypto/aead.ts";
import { unreadControls } from "../storage/following/control-records.ts";
import type { StoreReads, StoreTx } from "../storage/transaction.ts";
import { Keyring, type NewTerm } from "./keyring.ts";

export const KEYRING_PATH = "core/keyring";
export const TREE_KEY_PATH = "core/tree-key";
/** The type of a control record that carries a new data key. */
export const KEYRING_UPDATE = 1;
/** The same of one that carries all keys: they were taken over from the cluster that writes what is shared. */
export const KEYRING_TAKEN = 3;
const UPGRADES = "core/upgrade/";

export const NONCE_BYTES = 12;
/** Keyring and key of the trees are sealed by the root key, under this term in their header. */
const ROOT_TERM = 1;
const UPDATE_PURPOSE = "holdfast keyring update 1";
const TAKEN_PURPOSE = "holdfast keyring taken 1";
const TAKEN_PATH = "control/keyring-taken";

// --- keyring ---

/** With what the margin leaves to be sealed before it is stored again. */
export function putKeyring(raw: StoreTx, keyring: Keyring, margin: number, random: Random): void {
  putSealed(raw, keyring.rootKey, KEYRING_PATH, keyring.encode(margin), random);
}

/** As it was stored last. "foreign" when the root key is another one, "damaged" when it is no keyring. */
export function storedKeyring(
  reads: Pick<StoreReads, "get">,
  rootKey: KeyObject,
): Keyring | "foreign" | "damaged" {
  const stored = reads.get(KEYRING_PATH);
  if (stored === null) return "damaged";
  const document = openEntry(rootKey, KEYRING_PATH, stored);
  if (document === null) return "foreign";
  return Keyring.decode(document) ?? "damaged";
}

/** With what the log has brought since it was stored. `unread` is called for each record that another root key has sealed. */
export function withUpdates(
  keyring: Keyring,
  reads: Pick<StoreReads, "get" | "rows">,
  now: Instant,
  unread: () => void,
): Keyring {
  let after = keyring;
  for (const { record } of unreadControls(reads)) {
    if (record.type === KEYRING_TAKEN) {
      const taken = takenInto(after, record.body);
      if (taken === null) unread();
      else after = taken;
    }
    if (record.type !== KEYRING_UPDATE || isKnown(after, record.body)) continue;
    const update = openUpdate(after.rootKey, record.body);
    if (update === null) unread();
    else after = after.withTerm(update, now);
  }
  return after;
}

// --- key of the trees ---

export function putTreeKey(
  raw: StoreTx,
  rootKey: KeyObject,
  treeKey: KeyObject,
  random: Random,
): void {
  putSealed(raw, rootKey, TREE_KEY_PATH, exportKey(treeKey), random);
}

/** Null when it is not there, or the root key is another one. */
export function storedTreeKey(
  reads: Pick<StoreReads, "get">,
  rootKey: KeyObject,
): KeyObject | null {
  const stored = reads.get(TREE_KEY_PATH);
  const raw = stored === null ? null : openEntry(rootKey, TREE_KEY_PATH, stored);
  return raw === null ? null : secretKey(raw);
}

// --- a new data key ---

/** Key N+1 under key N: a standby that holds N learns N+1 without a new unseal. */
export function putUpgrade(raw: StoreTx, before: Keyring, after: Keyring, random: Random): void {
  const { newest } = before;
  const path = `${UPGRADES}${newest.term}`;
  const nonce = random.bytes(NONCE_BYTES);
  const key = exportKey(after.newest.key);
  try {
    newest.encryptions++;
    raw.put(path, sealEntry(newest.key, newest.term, path, key, nonce));
  } finally {
    wipe(key);
  }
}

/** Those that lead to this term or an older one. */
export function removeUpgrades(raw: StoreTx, term: number): void {
  for (const key of raw.keys(UPGRADES, { limit: 1000 })) {
    if (Number(key.slice(UPGRADES.length)) < term) raw.delete(key);
  }
}

/** The new key for the other clusters of the set, which all hold the same root key. */
export function sealUpdate(keyring: Keyring, random: Random): Uint8Array {
  const { term, key } = keyring.newest;
  const wrapper = deriveKey(keyring.rootKey, UPDATE_PURPOSE);
  const nonce = random.bytes(NONCE_BYTES);
  const raw = exportKey(key);
  try {
    return sealEntry(wrapper, term, `control/keyring/${term}`, raw, nonce);
  } finally {
    wipe(raw);
  }
}

/** Null when it was sealed under another root key. */
export function openUpdate(rootKey: KeyObject, body: Uint8Array): NewTerm | null {
  const term = entryTerm(body);
  if (term === null) return null;
  const wrapper = deriveKey(rootKey, UPDATE_PURPOSE);
  const raw = openEntry(wrapper, `control/keyring/${term}`, body);
  return raw === null ? null : { term, key: secretKey(raw) };
}

/** Whether an update brings nothing new. A key that was given up since is known: were it installed where none has its place, it would
 *  seal again, and be newer than those of the cluster that has given it up. */
export function isKnown(keyring: Keyring, body: Uint8Array): boolean {
  const term = entryTerm(body);
  if (term === null || keyring.key(term) !== null) return term !== null;
  const update = openUpdate(keyring.rootKey, body);
  if (update !== null) return keyring.holds(update);
  // Where the root key was replaced since it was given up, its term alone tells.
  return keyring.generation > 1 && keyring.hasKeyOf(body);
}

/** All keys, for those who stand in for this cluster: it has not made them, and no other record tells of them. */
export function sealTaken(keyring: Keyring, random: Random): Uint8Array {
  const wrapper = deriveKey(keyring.rootKey, TAKEN_PURPOSE);
  const document = keyring.encode(0);
  try {
    const nonce = random.bytes(NONCE_BYTES);
    return sealEntry(wrapper, keyring.generation, TAKEN_PATH, document, nonce);
  } finally {
    wipe(document);
  }
}

function openTaken(rootKey: KeyObject, body: Uint8Array): Keyring | null {
  const document = openEntry(deriveKey(rootKey, TAKEN_PURPOSE), TAKEN_PATH, body);
  return document === null ? null : Keyring.decode(document);
}

/** With those of such a record in the place of these. Null when it was sealed under a root key that is still to come; one of before says
 *  nothing that whoever was handed later keys has not heard. */
export function takenInto(keyring: Keyring, body: Uint8Array): Keyring | null {
  const taken = openTaken(keyring.rootKey, body);
  if (taken !== null) return keyring.goesBy(taken) ? keyring : keyring.replacedBy(taken);
  const generation = entryTerm(body);
  return generation !== null && generation < keyring.generation ? keyring : null;
}

/** Records whose keys are in the stored keyring now have been read; and of those with all keys the ones before, which it has had too. */
export function removeRead(raw: StoreTx, keyring: Keyring): void {
  const all = [...unreadControls(raw)];
  const last = all.findLastIndex(
    ({ record }) => record.type === KEYRING_TAKEN && takenInto(keyring, record.body) === keyring,
  );
  for (const [i, { key, record }] of all.entries()) {
    const { type, body } = record;
    const isRead = type === KEYRING_UPDATE ? isKnown(keyring, body) : i <= last;
    if (isRead && (type === KEYRING_UPDATE || type === KEYRING_TAKEN)) raw.delete(key);
  }
}

function putSealed(
  raw: StoreTx,
  key: KeyObject,
  path: string,
  plaintext: Buffer,
  random: Random,
): void {
  try {
    raw.put(path, sealEntry(key, ROOT_TERM, path, plaintext, random.bytes(NONCE_BYTES)));
  } finally {
    wipe(plaintext);
  }
}
