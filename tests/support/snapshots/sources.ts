// What is put into targets by tests, and what the targets are given.

import { createHash } from "node:crypto";
import type { Source } from "../../../src/snapshots/targets/target.ts";

/** Bytes that no two places have alike, by a number. */
export function someBytes(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed >>> 0;
  for (let at = 0; at + 4 <= length; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes.writeUInt32LE(state, at);
  }
  return bytes;
}

export function sourceOf(bytes: Buffer): Source & { readonly reads: [number, number][] } {
  const reads: [number, number][] = [];
  return {
    size: bytes.length,
    sha256: createHash("sha256").update(bytes).digest(),
    reads,
    async *read(from: number, to: number) {
      reads.push([from, to]);
      for (let at = from; at < to; at += 100_000) {
        yield bytes.subarray(at, Math.min(at + 100_000, to));
      }
    },
  };
}

export async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}
