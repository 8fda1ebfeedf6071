// All keys of a cluster, for another one of its set: the keyring with the root key, the key of the trees, and the key that
// operators hold shares of. They leave the barrier sealed to a key of that one cluster, for its place in the set.

import type { KeyObject } from "node:crypto";
import { alloc, asBuffer, concat, utf8, wipe } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import type { Random } from "@holdfast/shared/world";
import type { Barrier, KeysVersion } from "../../barrier/barrier.ts";
import { decodeHandedKeys, encodeHandedKeys, type HandedKeys } from "../../barrier/handed-keys.ts";
import type { MemberName } from "../../cluster/names.ts";
import { exportKey, secretKey } from "../../crypto/aead.ts";
import { HPKE_KEY_BYTES, hpkeOpen, hpkeSeal } from "../../crypto/hpke.ts";
import { decodeConfig, encodeConfig } from "../../seal/config.ts";
import { type Quorum, quorumOf } from "../../seal/custody.ts";
import type { Store } from "../../storage/store.ts";
import { keysUnreadable, publicKeyUnusable } from "./failures.ts";

const VERSION = 1;
const PURPOSE = "holdfast key bundle 1";
const KEY_BYTES = 32;
const LENGTH_BYTES = 4;
/** A thousand data keys have 150 KiB. */
export const MAX_BUNDLE = 4 * 1024 * 1024;

export interface KeyBundle {
  readonly keys: HandedKeys;
  readonly quorum: Quorum;
}

/** Of an unsealed cluster. */
export function bundleOf(of: { readonly barrier: Barrier; readonly store: Store }): KeyBundle {
  return { keys: of.barrier.handOver(), quorum: quorumOf(of) };
}

/** As members say it to each other: whoever has another text lacks keys. */
export function showKeysVersion({ generation, term }: KeysVersion): string {
  return `${generation}.${term}`;
}

/** Null for what is none. */
export function readKeysVersion(text: string): KeysVersion | null {
  const [, generation, term] = /^(\d{1,15})\.(\d{1,10})$/.exec(text) ?? [];
  if (generation === undefined || term === undefined) return null;
  return { generation: Number(generation), term: Number(term) };
}

/** For one member alone: `publicKey` is the one that it has registered. */
export function sealBundle(
  bundle: KeyBundle,
  publicKey: Uint8Array,
  member: MemberName,
  random: Random,
): Buffer {
  const plaintext = encode(bundle);
  try {
    const sealed = hpkeSeal(publicKey, plaintext, { info: infoOf(member) }, random);
    if (sealed === null) throw publicKeyUnusable();
    return concat(Uint8Array.of(VERSION), sealed.enc, sealed.ciphertext);
  } finally {
    wipe(plaintext);
  }
}

export function openBundle(
  sealed: Uint8Array,
  privateKey: KeyObject,
  member: MemberName,
): KeyBundle {
  if (sealed.length > MAX_BUNDLE || sealed[0] !== VERSION) throw keysUnreadable();
  const enc = sealed.subarray(1, 1 + HPKE_KEY_BYTES);
  const ciphertext = sealed.subarray(1 + HPKE_KEY_BYTES);
  const plaintext = hpkeOpen(privateKey, { enc, ciphertext }, { info: infoOf(member) });
  if (plaintext === null) throw keysUnreadable();
  try {
    return decode(plaintext);
  } finally {
    wipe(plaintext);
  }
}

/** Nothing that is sealed for one member, set, kind or purpose opens for another. */
function infoOf({ kind, set, id }: MemberName): Buffer {
  return utf8([PURPOSE, kind, set, id].join("\0"));
}

// Key of the quorum, length of the seal's configuration, that, and the rest is what the barrier hands over.

function encode({ keys, quorum }: KeyBundle): Buffer {
  const config = encodeConfig(quorum.config);
  const key = exportKey(quorum.key);
  const handed = encodeHandedKeys(keys);
  const at = KEY_BYTES + LENGTH_BYTES;
  const whole = alloc(at + config.length + handed.length);
  whole.set(key);
  whole.writeUInt32BE(config.length, KEY_BYTES);
  whole.set(config, at);
  whole.set(handed, at + config.length);
  wipe(key, handed);
  return whole;
}

function decode(bytes: Buffer): KeyBundle {
  const at = KEY_BYTES + LENGTH_BYTES;
  const length = bytes.length < at ? Infinity : bytes.readUInt32BE(KEY_BYTES);
  if (at + length > bytes.length) throw keysUnreadable();
  const key = alloc(KEY_BYTES);
  key.set(bytes.subarray(0, KEY_BYTES));
  const quorumKey = secretKey(key);
  try {
    const config = decodeConfig(bytes.subarray(at, at + length));
    const keys = decodeHandedKeys(asBuffer(bytes.subarray(at + length)));
    if (keys === null) throw keysUnreadable();
    return { keys, quorum: { key: quorumKey, config } };
  } catch (error) {
    if (error instanceof Failure) throw keysUnreadable(); // a damaged seal is this one's, not ours
    throw error;
  }
}
