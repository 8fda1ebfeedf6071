// Ranges of keys as a transaction sees them that has written in them itself.

import { utf8 } from "@holdfast/shared/bytes";

export interface RangeSpec {
  readonly kind: "keys" | "list" | "records";
  readonly prefix: string;
  readonly after: string | null;
  readonly limit: number;
  readonly reverse: boolean;
}

/** By key; null: deleted. */
export type Written = ReadonlyMap<string, Uint8Array | null>;

export function touches(written: Written, prefix: string): boolean {
  return written.keys().some((key) => key.startsWith(prefix));
}

/** What is there with what was written, in order: `stored` are all keys below the prefix. */
export function overlaid(stored: readonly string[], written: Written, prefix: string): string[] {
  const keys = new Set(stored);
  for (const [key, value] of written) {
    if (!key.startsWith(prefix)) continue;
    if (value === null) keys.delete(key);
    else keys.add(key);
  }
  return [...keys].toSorted(inOrder);
}

/** The page of a range. */
export function pageOf(keys: readonly string[], spec: RangeSpec): string[] {
  const { kind, prefix, after, limit, reverse } = spec;
  const names = kind === "list" ? namesIn(keys, prefix) : reverse ? keys.toReversed() : keys;
  const isBeyond = (name: string) =>
    after === null || (reverse ? inOrder(name, after) < 0 : inOrder(name, after) > 0);
  return names.filter(isBeyond).slice(0, limit);
}

function namesIn(keys: readonly string[], prefix: string): string[] {
  const names = keys.map((key) => {
    const rest = key.slice(prefix.length);
    const slash = rest.indexOf("/");
    return slash < 0 ? rest : rest.slice(0, slash + 1);
  });
  return [...new Set(names)];
}

/** As every storage has them: by their UTF-8 bytes. */
export function inOrder(a: string, b: string): number {
  return Buffer.compare(utf8(a), utf8(b));
}
