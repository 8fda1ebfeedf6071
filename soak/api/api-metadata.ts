// The metadata that a client's write number n leaves at its namespace. From n alone everything can be
// computed, so that half a write, or one of another client, shows.

import { createHash } from "node:crypto";

const KEPT = 3; // writes whose text is still there

export type Metadata = Readonly<Record<string, string>>;

export function metadataAfter(client: number, n: number): Metadata {
  const state: Record<string, string> = { n: String(n), check: textOf(client, -n) };
  for (let at = Math.max(1, n - KEPT + 1); at <= n; at++) state[`write${at}`] = textOf(client, at);
  return state;
}

/** The merge patch from the state before: adds, replaces and removes. */
export function patchTo(client: number, n: number): Readonly<Record<string, string | null>> {
  return {
    n: String(n),
    check: textOf(client, -n),
    [`write${n}`]: textOf(client, n),
    ...(n > KEPT ? { [`write${n - KEPT}`]: null } : {}),
  };
}

/** The number of the write that left this metadata; null when no write of the client did. */
export function writeOf(client: number, metadata: unknown): number | null {
  if (typeof metadata !== "object" || metadata === null) return null;
  const found = new Map<string, unknown>(Object.entries(metadata));
  const n = Number(found.get("n"));
  if (!Number.isSafeInteger(n) || n < 1) return null;
  const expected = Object.entries(metadataAfter(client, n));
  const same =
    found.size === expected.length && expected.every(([name, value]) => found.get(name) === value);
  return same ? n : null;
}

function textOf(client: number, n: number): string {
  const hash = createHash("sha256").update(`${client}/${n}`).digest();
  return hash.toString("hex").repeat(1 + (hash.readUInt8(0) % 6));
}
