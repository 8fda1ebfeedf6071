// Base64 of key bytes, from bytes to bytes. A JavaScript string cannot be wiped, so a key is never
// one; and a table indexed by key bits would show them through the cache, so there is none.

import { alloc, wipe } from "@holdfast/shared/bytes";

/** All ones when low ≤ x ≤ high, else zero: without a branch. */
export function within(x: number, low: number, high: number): number {
  return -(((low - 1 - x) & (x - high - 1)) >>> 31);
}

function digitOf(six: number): number {
  return (
    (within(six, 0, 25) & (six + 65)) |
    (within(six, 26, 51) & (six + 71)) |
    (within(six, 52, 61) & (six - 4)) |
    (within(six, 62, 62) & 43) |
    (within(six, 63, 63) & 47)
  );
}

/** The six bits of a digit; −1 when it is none. */
function sixOf(digit: number): number {
  const value =
    (within(digit, 65, 90) & (digit - 64)) |
    (within(digit, 97, 122) & (digit - 70)) |
    (within(digit, 48, 57) & (digit + 5)) |
    (within(digit, 43, 43) & 63) |
    (within(digit, 47, 47) & 64);
  return value - 1;
}

/** 32 bytes as 44 characters of standard base64. */
export function keyText(key: Uint8Array): Buffer {
  const out = alloc(Math.ceil(key.length / 3) * 4).fill("=");
  let at = 0;
  for (let i = 0; i < key.length; i += 3) {
    const group = (key[i]! << 16) | ((key[i + 1] ?? 0) << 8) | (key[i + 2] ?? 0);
    const digits = Math.min(4, key.length - i + 1);
    for (let digit = 0; digit < digits; digit++) {
      out[at + digit] = digitOf((group >>> (18 - 6 * digit)) & 63);
    }
    at += 4;
  }
  return out;
}

/** The inverse, or null when the text is not exactly that of `length` bytes. */
export function keyFromText(text: Uint8Array, length: number): Buffer | null {
  if (text.length !== Math.ceil(length / 3) * 4) return null;
  const out = alloc(length);
  const padding = (3 - (length % 3)) % 3;
  let bad = 0;
  for (let at = 0, i = 0; at < text.length; at += 4, i += 3) {
    let group = 0;
    for (let digit = 0; digit < 4; digit++) {
      const place = at + digit;
      const padded = place >= text.length - padding;
      const six = padded ? 0 : sixOf(text[place]!);
      bad |= padded ? text[place]! ^ 61 : six & ~63;
      group = (group << 6) | (six & 63);
    }
    for (let byte = 0; byte < 3; byte++) {
      const value = (group >>> (16 - 8 * byte)) & 255;
      if (i + byte < length) out[i + byte] = value;
      else bad |= value;
    }
  }
  if (bad === 0) return out;
  wipe(out);
  return null;
}
