// What users are given to prove themselves with. It is made here and never by a plugin.

import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import type { Random } from "@holdfast/shared/world";

const LENGTH = 20;
const CLASSES = [
  "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  "abcdefghijklmnopqrstuvwxyz",
  "0123456789",
  "-",
] as const;
const ALL = CLASSES.join("");

/** Twenty characters of four classes, each of which is there; no "-" stands first, since tools take that for an option. */
export function newPassword(random: Pick<Random, "bytes">): string {
  for (;;) {
    const password = Array.from({ length: LENGTH }, () => letter(random)).join("");
    const isWhole = CLASSES.every((all) => Array.from(password).some((one) => all.includes(one)));
    if (isWhole && !password.startsWith("-")) return password;
  }
}

/** Each as likely as every other. */
function letter(random: Pick<Random, "bytes">): string {
  const fair = 256 - (256 % ALL.length);
  for (;;) {
    for (const byte of random.bytes(8)) if (byte < fair) return ALL.charAt(byte % ALL.length);
  }
}

export const KEY_BITS = [2048, 3072, 4096] as const;
export type KeyBits = (typeof KEY_BITS)[number];

export interface KeyPair {
  /** PEM of PKCS #8. */
  readonly privateKey: string;
  /** PEM. */
  readonly publicKey: string;
}

const generate = promisify(generateKeyPair);

export async function newKeyPair(bits: KeyBits): Promise<KeyPair> {
  return generate("rsa", {
    modulusLength: bits,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
}
