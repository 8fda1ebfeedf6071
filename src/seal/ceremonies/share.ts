// Shares as operators hold them: made from a fresh key, shown as text, encrypted to a PGP key, read
// from text, and put together again. Whether the result is the right key is custody.ts's to find out.

import type { KeyObject } from "node:crypto";
import { alloc, base64, fromBase64, fromHex, hex, wipe } from "@holdfast/shared/bytes";
import { Secret } from "@holdfast/shared/secret";
import type { Instant, Random, Timers } from "@holdfast/shared/world";
import { secretKey } from "../../crypto/aead.ts";
import { encryptTo, type PublicKey, readPublicKey } from "../../crypto/pgp.ts";
import { combineShares, splitSecret } from "../../crypto/shamir.ts";
import { type Collection, sets } from "./collection.ts";
import type { Scheme } from "../config.ts";
import { shareUnreadable } from "../failures.ts";

const KEY_BYTES = 32;
const LONGEST_TEXT = 2 * (KEY_BYTES + 1); // hex of a share with its x byte

/** Hex first, then base64. The caller owns the bytes and wipes them. */
export function parseShare(input: string): Buffer {
  if (input.length > LONGEST_TEXT) throw shareUnreadable(); // before anything is allocated for it
  for (const decode of [fromHex, fromBase64]) {
    const bytes = decode(input);
    if (bytes === null) continue;
    if (bytes.length === KEY_BYTES || bytes.length === KEY_BYTES + 1) return bytes;
    wipe(bytes);
  }
  throw shareUnreadable();
}

/** The 32 bytes that the shares determine, or null when they cannot be shares of this scheme. */
export function combineKey(scheme: Scheme, shares: readonly Uint8Array[]): Buffer | null {
  const length = scheme.shares === 1 ? KEY_BYTES : KEY_BYTES + 1;
  if (shares.some((share) => share.length !== length)) return null;
  if (scheme.shares > 1) return combineShares(shares);
  const [only] = shares;
  if (only === undefined) return null;
  const key = alloc(KEY_BYTES);
  key.set(only);
  return key;
}

/** A key, and the shares that gave it. */
export interface Combined {
  readonly key: KeyObject;
  readonly shares: readonly Buffer[];
}

/** So many sets are tried before others have their turn: some milliseconds. */
const SLICE = 200;

/** The first key that some of the shares give, the newest among them, and that is the right one. */
export async function findKey(
  scheme: Scheme,
  collection: Collection,
  isRight: (key: KeyObject) => boolean,
  timers: Timers,
): Promise<Combined | null> {
  let tried = 0;
  for (const combined of keysOf(scheme, collection)) {
    if (isRight(combined.key)) return combined;
    if (++tried % SLICE === 0) await timers.turn();
  }
  return null;
}

function* keysOf(scheme: Scheme, collection: Collection): Generator<Combined> {
  for (const shares of sets(collection)) {
    const combined = combineKey(scheme, shares);
    if (combined !== null) yield { key: secretKey(combined), shares };
  }
}

/** Shares in the two forms of an answer. */
export interface PrintedShares {
  readonly keys: Secret<readonly string[]>; // hex
  readonly keysBase64: Secret<readonly string[]>;
}

function showShares(shares: readonly Uint8Array[]): PrintedShares {
  return { keys: new Secret(shares.map(hex)), keysBase64: new Secret(shares.map(base64)) };
}

export interface SharedOut {
  readonly key: KeyObject;
  readonly printed: PrintedShares;
  /** The PGP messages that hold the shares; none without keys. */
  readonly messages: readonly Buffer[];
}

/** Makes a key and its shares: the only place where both exist in the clear. */
export async function shareOutFreshKey(
  random: Random,
  scheme: Scheme,
  pgpKeys: readonly PublicKey[],
  now: Instant,
): Promise<SharedOut> {
  const raw = random.bytes(KEY_BYTES);
  let shares: readonly Buffer[] = [];
  try {
    shares = splitSecret(random, raw, scheme.shares, scheme.threshold);
    const messages = pgpKeys.length === 0 ? [] : await protectShares(shares, pgpKeys, now);
    const printed = showShares(pgpKeys.length === 0 ? shares : messages);
    return { key: secretKey(raw), printed, messages };
  } finally {
    wipe(raw, ...shares);
  }
}

/** Reads a list of public keys; a bad one is named by its place. */
export async function readPublicKeys(
  inputs: readonly string[],
  now: Instant,
): Promise<PublicKey[]> {
  const keys: PublicKey[] = [];
  for (const [i, input] of inputs.entries()) keys.push(await readPublicKey(input, now, i));
  return keys;
}

/**
 * Each share to the key of the same place. What is encrypted is the lower-case hex text of the share,
 * which is what the tools of this trade expect to find.
 */
async function protectShares(
  shares: readonly Buffer[],
  keys: readonly PublicKey[],
  now: Instant,
): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  for (const [i, share] of shares.entries()) {
    const plaintext = hexText(share);
    try {
      messages.push(await encryptTo(keys[i]!, plaintext, now));
    } finally {
      wipe(plaintext);
    }
  }
  return messages;
}

/** A token's text to a PGP key: the message in base64. */
export async function protectText(text: string, key: PublicKey, now: Instant): Promise<string> {
  const plaintext = alloc(Buffer.byteLength(text)); // not from the pool, where it could not be wiped
  try {
    plaintext.write(text);
    return base64(await encryptTo(key, plaintext, now));
  } finally {
    wipe(plaintext);
  }
}

/** Hex as bytes: a string could not be wiped, and a table of digits would be indexed by the key. */
function hexText(bytes: Uint8Array): Buffer {
  const out = alloc(2 * bytes.length);
  bytes.forEach((byte, i) => {
    out[2 * i] = digitOf(byte >>> 4);
    out[2 * i + 1] = digitOf(byte & 15);
  });
  return out;
}

/** "0" to "9" from 48 on; "a" to "f" lie 39 further. */
function digitOf(four: number): number {
  return four + 48 + (39 & ((9 - four) >> 31));
}
