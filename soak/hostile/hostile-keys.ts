// PGP keys that are dear to read: rubbish, as many parts as fit, as many signatures as are looked at.

import * as openpgp from "openpgp";

export interface HostileKey {
  readonly name: string;
  readonly keys: readonly string[]; // as a ceremony takes them
  /** Whether a ceremony may begin with it. */
  readonly good: boolean;
}

const MAX_KEY = 64 * 1024; // characters of one key
const MAX_BYTES = (MAX_KEY / 4) * 3;
const DAY_MS = 86_400_000;
const USER_ID = 0xc0 | 13;
const MARKER = 0xc0 | 10;
const userIDs = [{ name: "Operator", email: "operator@example.org" }];

export async function hostileKeys(): Promise<HostileKey[]> {
  const date = new Date(Date.now() - DAY_MS);
  const curve = await openpgp.generateKey({ type: "ecc", userIDs, date, format: "object" });
  const slow = await openpgp.generateKey({
    type: "ecc",
    curve: "nistP521",
    // Each user has a signature of its own, and the subkey one: all of them are verified.
    userIDs: Array.from({ length: 31 }, (_, i) => ({ name: `User ${i}` })),
    date,
    format: "object",
  });
  const plain = Buffer.from(curve.publicKey.write());
  const bad = (name: string, ...bytes: Buffer[]): HostileKey => ({
    name,
    keys: bytes.map((one) => one.toString("base64")),
    good: false,
  });
  const heavy = Buffer.from(slow.publicKey.write());
  const primary = plain.subarray(0, 2 + plain.readUInt8(1));
  const forged = forgedSignatures(plain);
  return [
    bad("64 KiB of zeros", Buffer.alloc(MAX_BYTES)),
    bad("64 KiB of ones", Buffer.alloc(MAX_BYTES, 0xff)),
    { name: "64 KiB of A", keys: ["A".repeat(MAX_KEY)], good: false },
    { name: "64 KiB of spaces", keys: [" ".repeat(MAX_KEY)], good: false },
    {
      name: "armor around 64 KiB",
      keys: [`-----BEGIN PGP PUBLIC KEY BLOCK-----\n${"\n".repeat(MAX_KEY - 40)}`],
      good: false,
    },
    {
      name: "armor of 64 KiB of headers",
      keys: [`-----BEGIN PGP PUBLIC KEY BLOCK-----\n${"A: b\n".repeat(13_000)}`],
      good: false,
    },
    bad("a key and 16,000 users", packets(primary, [USER_ID, 1, 0x78])),
    bad("a key and 24,000 empty users", packets(primary, [USER_ID, 0])),
    { ...bad("a good key and 24,000 markers", packets(plain, [MARKER, 0])), good: true },
    bad("a key and forged signatures", forged),
    bad("14 keys with forged signatures", ...Array.from({ length: 14 }, () => forged)),
    { name: "a P-521 key with 32 signatures", keys: [heavy.toString("base64")], good: true },
    {
      name: "4 P-521 keys with 32 signatures",
      keys: Array.from({ length: 4 }, () => heavy.toString("base64")),
      good: true,
    },
  ];
}

/** `start`, and `packet` as often as a key may be long. */
function packets(start: Buffer, packet: readonly number[]): Buffer {
  const times = Math.floor((MAX_BYTES - start.length) / packet.length);
  return Buffer.concat([start, ...Array.from({ length: times }, () => Buffer.from(packet))]);
}

/** The key's last signature, again and again, each with another last byte: none of them is right. */
function forgedSignatures(key: Buffer): Buffer {
  const signature = lastPacket(key);
  const times = Math.floor((MAX_BYTES - key.length) / signature.length);
  const copies = Array.from({ length: times }, (_, i) => {
    const copy = Buffer.from(signature);
    copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ ((i % 255) + 1);
    return copy;
  });
  return Buffer.concat([key, ...copies]);
}

function lastPacket(key: Buffer): Buffer {
  let at = 0;
  for (;;) {
    const first = key.readUInt8(at + 1);
    const length = first < 192 ? 2 + first : 3 + ((first - 192) << 8) + key.readUInt8(at + 2) + 192;
    if (at + length >= key.length) return key.subarray(at);
    at += length;
  }
}
