// UUIDs as text (8-4-4-4-12, lower case) and as 16 bytes.

import { fromHex, hex } from "../bytes.ts";
import { invariant } from "../invariant.ts";

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Turns 16 random bytes into the text of a version 4 UUID (122 random bits). */
export function formatUuid(random: Uint8Array): string {
  invariant(random.length === 16, "a UUID has 16 bytes");
  return uuidOfDigits(hex(random));
}

/** The same from 32 random hexadecimal digits. Every request takes one: it must cost little. */
export function uuidOfDigits(digits: string): string {
  const variant = "89ab"[Number.parseInt(digits.charAt(16), 16) & 3] ?? "8";
  return (
    `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-` +
    `${variant}${digits.slice(17, 20)}-${digits.slice(20, 32)}`
  );
}

export function isUuid(text: string): boolean {
  return FORM.test(text);
}

/** UUIDs are equal whatever their case: in lower case; any other text is itself. */
export function foldedUuid(text: string): string {
  return isUuid(text) ? text.toLowerCase() : text;
}

export function uuidText(bytes: Uint8Array): string {
  invariant(bytes.length === 16, "a UUID has 16 bytes");
  const digits = hex(bytes);
  const cuts = [0, 8, 12, 16, 20, 32] as const;
  return cuts
    .slice(1)
    .map((end, i) => digits.slice(cuts[i], end))
    .join("-");
}

/** The 16 bytes of a UUID, or null when the text is none. */
export function uuidBytes(text: string): Buffer | null {
  return isUuid(text) ? fromHex(text.replaceAll("-", "")) : null;
}
