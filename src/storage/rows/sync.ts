// The mark of a store that is between two states: part of another cluster's rows have been taken over, and where
// that is to end and how far it has come. Byte layout: docs/formats/head.md.

import { concat, utf8 } from "@holdfast/shared/bytes";
import type { Reads } from "../engines/engine.ts";
import { headDamaged } from "../failures.ts";
import { decodeHead, decodeTimeline, encodeTimeline, type Timeline } from "./head.ts";
import { ByteReader, MalformedBytes, u32, u8 } from "./row-bytes.ts";

export const SYNC_ROW = "repl/sync";
const VERSION = 1;
const KINDS = { adopt: 1, rewind: 2 } as const;

/** Where the log of another cluster stood when its rows began to be read. */
export interface Anchor {
  /** Its head as stored there. Rows that are read later may be newer; the entries after it make up for that. */
  readonly head: Uint8Array;
  readonly timeline: Timeline;
}

export interface Sync extends Anchor {
  /** The log here is given up for the anchor's, or cut back to the anchor. */
  readonly kind: keyof typeof KINDS;
  /** Whatever whoever fetches the rows needs to go on after the last ones that are here; empty before the first. */
  readonly cursor: string;
}

export function encodeSync({ kind, head, timeline, cursor }: Sync): Buffer {
  const parts = [head, encodeTimeline(timeline), utf8(cursor)];
  return concat(u8(VERSION), u8(KINDS[kind]), ...parts.flatMap((part) => [u32(part.length), part]));
}

/** Strict: throws MalformedBytes for anything that encodeSync would not have written. */
export function decodeSync(bytes: Uint8Array): Sync {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== VERSION) throw new MalformedBytes("mark of an unknown version");
  const code = reader.u8();
  const kind = code === KINDS.adopt ? "adopt" : code === KINDS.rewind ? "rewind" : null;
  if (kind === null) throw new MalformedBytes("mark of an unknown kind");
  const head = concat(reader.bytes(reader.u32()));
  const timeline = decodeTimeline(reader.bytes(reader.u32()));
  const cursor = reader.text(reader.u32());
  reader.end();
  decodeHead(head);
  return { kind, head, timeline, cursor };
}

/** Null where the store is whole. */
export function readSync(reads: Reads): Sync | null {
  const bytes = reads.meta(SYNC_ROW);
  if (bytes === null) return null;
  try {
    return decodeSync(bytes);
  } catch (error) {
    if (error instanceof MalformedBytes)
      throw headDamaged("what is half taken over makes no sense");
    throw error;
  }
}
