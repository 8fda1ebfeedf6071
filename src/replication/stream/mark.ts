// Up to which index the log must be applied before the rows here are those of one index: they were read while the primary wrote. A
// row of this cluster alone, there until then.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, ViewReads } from "../../barrier/view.ts";

/** Below core/replication/<kind>/. */
const MARK = "mark";
const markCodec = jsonCodec<{ readonly index: string }>();

export function storedMark(reads: ViewReads): bigint | null {
  const stored = reads.get(MARK, markCodec);
  return stored === null ? null : BigInt(stored.index);
}

export function putMark(tx: Tx, index: bigint | null): void {
  if (index === null) tx.delete(MARK);
  else tx.put(MARK, { index: String(index) }, markCodec);
}
