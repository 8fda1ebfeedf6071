// Encrypting to an operator's PGP key, for shares and tokens that no one else may read on the way.
// What the plaintext looks like (hex of a share, text of a token) is the caller's convention. The
// library stays behind this file and is loaded on first use: most servers never need it.
//
// It draws session keys and padding from WebCrypto's getRandomValues, the same system source as
// Random; results therefore differ from run to run under a simulator's seed, as ciphertexts may.
// It also keeps copies of the plaintext that cannot be wiped: the caller wipes its own.

import type { Key } from "openpgp";
import { alloc, asBuffer, fromBase64, text } from "@holdfast/shared/bytes";
import { pgpKeyRefused, type PgpProblem } from "./failures.ts";
import type { Instant } from "@holdfast/shared/world";

const MAX_INPUT_CHARS = 64 * 1024;
const ARMOR = "-----BEGIN PGP ";
const NANOS_PER_MILLI = 1_000_000n;

// Keys come from callers without a token, and checking one verifies its signatures, several times
// over. Where the system's cryptography declines, the library goes on in plain JavaScript on the
// main thread: with 64 KiB of forged signatures seconds for curves, minutes for DSA or outsized RSA
// numbers. Hence what may verify (only the primary key does), how large, and how often. The curves
// left out are those that it has in JavaScript only, or in this runtime not at all.
const PRIMARY_KINDS: ReadonlySet<string> = new Set([
  "rsaEncryptSign",
  "rsaSign",
  "ed25519",
  "ed25519Legacy",
  "nistP256",
  "nistP384",
  "nistP521",
]);
const MAX_RSA_BITS = 8192; // the most that common tools make
const MAX_RSA_EXPONENT_BYTES = 4; // 65537 nearly everywhere
const MAX_OWN_SIGNATURES = 32;
// The library spends 20 µs on the smallest part of a key, of which 24,000 would fit; and 2 µs on a line
// before the key's own text in an armored one.
const MAX_PACKETS = 256;
const MAX_ARMOR_HEADERS = 16;

const inner = Symbol("the library's key");

/** A public key that could encrypt when it was read. */
export interface PublicKey {
  readonly [inner]: Key;
}

/**
 * Reads one public key: base64 of the binary or of the armored form, or the armored text itself.
 * `index` (from 0) is its place in the caller's list and only serves to name it in a refusal.
 */
export async function readPublicKey(
  input: string,
  now: Instant,
  index?: number,
): Promise<PublicKey> {
  const name = index === undefined ? "the PGP key" : `PGP key ${index + 1} of the list`;
  try {
    const key = await parse(input);
    checkEffort(key); // before anything is verified
    await checkUsable(key, now);
    // A key can be formally right and still hold numbers that nothing can be encrypted to. That has
    // to come out before a ceremony starts, not when its result is handed over.
    await encrypt(key, alloc(0), now).catch((cause: unknown) => {
      throw new Refusal("unusable", "holds values that nothing can be encrypted to", { cause });
    });
    return { [inner]: key };
  } catch (error) {
    throw asFailure(error, name);
  }
}

/** The fingerprint of the primary key in lower-case hex: 40 digits, or 64 for version 6 keys. */
export function fingerprint(key: PublicKey): string {
  return key[inner].getFingerprint().toLowerCase();
}

/** A binary PGP message. Refused when the key has expired since it was read. */
export async function encryptTo(
  key: PublicKey,
  plaintext: Uint8Array,
  now: Instant,
): Promise<Buffer> {
  try {
    await checkUsable(key[inner], now);
    return await encrypt(key[inner], plaintext, now);
  } catch (error) {
    throw asFailure(error, `the PGP key ${fingerprint(key)}`);
  }
}

async function encrypt(key: Key, plaintext: Uint8Array, now: Instant): Promise<Buffer> {
  const { createMessage, encrypt: encryptMessage } = await import("openpgp");
  const date = dateOf(now);
  const message = await createMessage({ binary: plaintext, date });
  const format = "binary";
  return asBuffer(await encryptMessage({ message, encryptionKeys: key, date, format }));
}

async function parse(input: string): Promise<Key> {
  if (input.length > MAX_INPUT_CHARS) {
    throw new Refusal("too-long", `is longer than ${MAX_INPUT_CHARS} characters`);
  }
  const found = unwrap(input);
  if (packetCount(found, MAX_PACKETS) > MAX_PACKETS) {
    const remedy = "a minimal export leaves out what others have signed";
    throw new Refusal("packets", `has more than ${MAX_PACKETS} parts (${remedy})`);
  }
  const { readKeys } = await import("openpgp");
  let keys: Key[];
  try {
    keys = await readKeys({ binaryKeys: found });
  } catch {
    throw unreadable(); // without the cause: the text may be anything, a share by mistake too
  }
  const [key, ...others] = keys;
  if (key === undefined) throw unreadable();
  if (others.length > 0) throw new Refusal("several", "is more than one key");
  if (key.isPrivate()) throw new Refusal("private", "is a private key, which nobody should send");
  return key;
}

/** The binary key inside the input. */
function unwrap(input: string): Buffer {
  const trimmed = input.trim();
  if (trimmed.startsWith(ARMOR)) return fromArmor(trimmed);
  const bytes = fromBase64(trimmed.replaceAll(/\s/g, "")); // tools wrap base64 at 76 characters
  if (bytes === null || bytes.length === 0) throw unreadable();
  const decoded = text(bytes.subarray(0, ARMOR.length));
  return decoded === ARMOR ? fromArmor(text(bytes)) : bytes;
}

/** RFC 9580, 6.2. Its checksum is of no use, and nobody is to be refused for it. */
function fromArmor(armored: string): Buffer {
  if (armored.includes(ARMOR, ARMOR.length)) throw new Refusal("several", "is more than one key");
  const lines = armored.split(/\r?\n/);
  const start = lines.findIndex((line) => line.trim() === "");
  const end = lines.findIndex((line) => line.startsWith("-----END PGP "));
  if (start < 0 || start > MAX_ARMOR_HEADERS || end < start) throw unreadable();
  const rows = lines.slice(start, end).filter((line) => !line.startsWith("="));
  const bytes = fromBase64(rows.join("").replaceAll(/\s/g, ""));
  if (bytes === null || bytes.length === 0) throw unreadable();
  return bytes;
}

/** How many packets there are (RFC 9580, 4.2), not counting further than one beyond `max`. */
function packetCount(bytes: Buffer, max: number): number {
  let count = 0;
  for (let at = 0; at < bytes.length && count <= max; count++) at = packetEnd(bytes, at);
  return count;
}

/** What is cut short or no packet ends with the input: the library has the last word on it. */
function packetEnd(bytes: Buffer, at: number): number {
  const tag = bytes[at] ?? 0;
  const first = bytes[at + 1] ?? 0;
  const second = bytes[at + 2] ?? 0;
  if ((tag & 0x80) === 0) return bytes.length;
  if ((tag & 0x40) === 0) {
    const kind = tag & 3; // the old form: a length of 1, 2 or 4 bytes, or to the end
    if (kind === 0) return at + 2 + first;
    if (kind === 1) return at + 3 + first * 256 + second;
    return kind === 2 ? longEnd(bytes, at + 1) : bytes.length;
  }
  if (first < 192) return at + 2 + first;
  if (first < 224) return at + 3 + (first - 192) * 256 + second + 192;
  if (first === 255) return longEnd(bytes, at + 2);
  return at + 2 + 2 ** (first & 31); // a part of a packet, which counts as one
}

function longEnd(bytes: Buffer, at: number): number {
  return at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : bytes.length;
}

function checkEffort(key: Key): void {
  const { algorithm, curve, bits } = key.getAlgorithmInfo();
  if (!PRIMARY_KINDS.has(curve ?? algorithm)) {
    const kinds = "RSA, Ed25519, NIST P-256, P-384 or P-521";
    throw new Refusal("algorithm", `has a primary key that is not of the kind ${kinds}`);
  }
  const numbers = key.keyPacket.publicParams;
  const exponent = "e" in numbers && numbers.e instanceof Uint8Array ? numbers.e.length : 0;
  if ((bits ?? 0) > MAX_RSA_BITS || exponent > MAX_RSA_EXPONENT_BYTES) {
    const limits = `${MAX_RSA_BITS} bits or an exponent of ${MAX_RSA_EXPONENT_BYTES} bytes`;
    throw new Refusal("algorithm", `has RSA numbers above ${limits}`);
  }
  // Signatures by others are never verified and do not count.
  const id = key.getKeyID();
  const own = key.toPacketList().filter((it) => "issuerKeyID" in it && it.issuerKeyID.equals(id));
  if (own.length > MAX_OWN_SIGNATURES) {
    const remedy = "a minimal export leaves one for each part of the key";
    throw new Refusal(
      "signatures",
      `has over ${MAX_OWN_SIGNATURES} signatures of its own (${remedy})`,
    );
  }
}

async function checkUsable(key: Key, now: Instant): Promise<void> {
  const date = dateOf(now);
  const found = await key.getEncryptionKey(undefined, date).catch(() => null);
  if (found === null) throw await whyUnusable(key, date);
}

async function whyUnusable(key: Key, date: Date): Promise<Refusal> {
  if (key.getCreationTime() > date) {
    return new Refusal("not-yet-valid", "has a creation time in the future");
  }
  if (await key.isRevoked(undefined, undefined, date)) return new Refusal("revoked", "is revoked");
  const end = await key.getExpirationTime();
  if (end !== null && end <= date) return new Refusal("expired", "is expired");
  return new Refusal("no-encryption-key", "has no encryption key that is valid now");
}

/** One reason against a key, before it is known what to call that key. */
class Refusal extends Error {
  readonly problem: PgpProblem;

  constructor(problem: PgpProblem, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.problem = problem;
  }
}

function unreadable(): Refusal {
  return new Refusal("unreadable", "is neither base64 of an OpenPGP key nor an armored key");
}

const ACCEPTED =
  `accepted is one public key in base64 or armored, of at most ${MAX_INPUT_CHARS} characters, ` +
  `with an encryption key that is unexpired, unrevoked and, if RSA, of at least 2048 bits`;

function asFailure(error: unknown, name: string): unknown {
  if (!(error instanceof Refusal)) return error;
  const message = `${name} ${error.message}; ${ACCEPTED}`;
  return pgpKeyRefused(error.problem, message, error.cause);
}

/** The library's form of a given time; nothing here reads the clock. */
function dateOf(now: Instant): Date {
  return new Date(Number(now / NANOS_PER_MILLI));
}
