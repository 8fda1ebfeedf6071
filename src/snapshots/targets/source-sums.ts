// Sums of what is put, as stores want them. A first reading makes them, a second one sends: nothing is held.

import { createHash, type Hash } from "node:crypto";
import { storeRefuses } from "./store-error.ts";
import type { Source } from "./target.ts";

/** Reads a part into every one of them. */
export async function feed(
  source: Source,
  from: number,
  to: number,
  hashes: readonly Hash[],
): Promise<void> {
  for await (const chunk of source.read(from, to)) for (const hash of hashes) hash.update(chunk);
}

/** Of all of it; throws where it is not what it was said to be. */
export async function md5Of(source: Source): Promise<Buffer> {
  const md5 = createHash("md5");
  const sha256 = createHash("sha256");
  await feed(source, 0, source.size, [md5, sha256]);
  checkWhole(source, sha256.digest());
  return md5.digest();
}

export function checkWhole({ sha256 }: Source, found: Uint8Array): void {
  if (Buffer.compare(found, sha256) === 0) return;
  throw storeRefuses("reading the snapshot again", "it is not what was written to it");
}

/** How it is cut: parts of equal length but for the last, at most `maxParts` of them. */
export function partsOf(
  size: number,
  usual: number,
  maxParts: number,
): { readonly from: number; readonly to: number }[] {
  const quarter = 256 * 1024;
  const wanted = Math.ceil(size / maxParts / quarter) * quarter;
  const length = Math.max(usual, wanted);
  const parts = [];
  for (let from = 0; from < size; from += length) {
    parts.push({ from, to: Math.min(from + length, size) });
  }
  return parts;
}
