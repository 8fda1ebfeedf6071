// The key of a static seal, as it comes out of a file or a setting: 32 bytes as they are, in hex or
// in base64, the last two with white space around them. From bytes to bytes, since text cannot be
// wiped. Reading the file is the caller's business.

import type { KeyObject } from "node:crypto";
import { alloc, concat, wipe } from "@holdfast/shared/bytes";
import { keyFromText, within } from "../barrier/key-text.ts";
import { secretKey } from "../crypto/aead.ts";
import { staticKeyUnreadable } from "./failures.ts";

const KEY_BYTES = 32;
const HEX_DIGITS = 64;
const BASE64_DIGITS = 43;
const PADDING = Uint8Array.of(61); // "="

/** Takes the bytes over and wipes them, whatever comes of it. */
export function readStaticKey(input: Buffer): KeyObject {
  try {
    // Exactly 32 bytes are the key: no text of it is that short.
    const key = input.length === KEY_BYTES ? concat(input) : fromText(trim(input));
    if (key === null) throw staticKeyUnreadable();
    return secretKey(key);
  } finally {
    wipe(input);
  }
}

function fromText(text: Buffer): Buffer | null {
  if (text.length === HEX_DIGITS) return fromHexText(text);
  if (text.length !== BASE64_DIGITS) return keyFromText(text, KEY_BYTES);
  const padded = concat(text, PADDING);
  try {
    return keyFromText(padded, KEY_BYTES);
  } finally {
    wipe(padded);
  }
}

function trim(text: Buffer): Buffer {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text[start]!)) start++;
  while (end > start && isSpace(text[end - 1]!)) end--;
  return text.subarray(start, end);
}

function isSpace(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13);
}

function fromHexText(text: Buffer): Buffer | null {
  const out = alloc(KEY_BYTES);
  let bad = 0;
  for (let i = 0; i < KEY_BYTES; i++) {
    const high = fourOf(text[2 * i]!);
    const low = fourOf(text[2 * i + 1]!);
    bad |= high | low; // negative when either is no digit
    out[i] = (high << 4) | (low & 15);
  }
  if (bad >= 0) return out;
  wipe(out);
  return null;
}

/** The four bits of a digit, or −1; by masks, without a branch or a table on key text. */
function fourOf(digit: number): number {
  const lower = digit | 32;
  const decimal = within(digit, 48, 57);
  const letter = within(lower, 97, 102);
  return ((decimal & (digit - 47)) | (letter & (lower - 86))) - 1;
}
