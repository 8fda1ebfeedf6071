// UUIDs as text (8-4-4-4-12, lower case) and as 16 bytes.

import { fromHex, hex } from "./bytes.ts";
import { invariant } from "./invariant.ts";

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Turns 16 random bytes into the text of a version 4 UUID (122 random bits). */
export function formatUuid(random: Uint8Array): string {
  const bytes = Uint8Array.from(random);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return uuidText(bytes);
}

export function isUuid(text: string): boolean {
  return FORM.test(text);
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
