// A store that was filled while nobody had its keys: a copy of another cluster's. It has every row, and leaves that say
// what belongs to whom but have no hash yet; and instead of a head a row that says where its log begins. Whoever
// brings the keys first has the leaves hashed and the head made, if they add up to the head that was copied.

import type { KeyObject } from "node:crypto";
import type { Clock, Timers } from "@holdfast/shared/world";
import { Slices } from "../commit/slices.ts";
import type { Reads, StorageEngine } from "../engines/engine.ts";
import { copyChanged, headDamaged } from "../failures.ts";
import { afterKey, classOf, hasClass } from "../key.ts";
import {
  decodeHead,
  encodeHead,
  type Head,
  HEAD_ROW,
  headIsAuthentic,
  sameTotal,
} from "../rows/head.ts";
import { firstChain } from "../rows/log-entry.ts";
import { type Forest, HASH_BYTES, LeafHasher, sha256, slotOf } from "../rows/merkle.ts";
import { ByteReader, MalformedBytes, u32, u64, u8 } from "../rows/row-bytes.ts";
import { concat } from "@holdfast/shared/bytes";
import type { FilledRow } from "./filler.ts";
import { GatheredLeaves } from "./gathered-leaves.ts";

export const UNHASHED_ROW = "repl/unhashed";
export const UNHASHED_LEAF: Uint8Array = new Uint8Array(HASH_BYTES);
const VERSION = 1;
const CHUNK_ROWS = 16; // each may have megabytes

export interface Unhashed {
  readonly lineage: Uint8Array;
  readonly epoch: number;
  readonly index: bigint;
  /** The head of the store that it is a copy of, as stored there: its rows add up to that, or they were changed. */
  readonly copied: Uint8Array;
}

export function encodeUnhashed({ lineage, epoch, index, copied }: Unhashed): Uint8Array {
  return concat(u8(VERSION), lineage, u32(epoch), u64(index), copied);
}

export function decodeUnhashed(bytes: Uint8Array): Unhashed {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== VERSION) throw new MalformedBytes("of an unknown version");
  const [lineage, epoch, index] = [reader.bytes(16), reader.u32(), reader.u64()];
  const left = bytes.length - 1 - 16 - 4 - 8;
  return { lineage, epoch, index, copied: reader.bytes(left) };
}

/** Null where the store has its head, or is none. */
export function readUnhashed(engine: Reads): Unhashed | null {
  const bytes = engine.meta(UNHASHED_ROW);
  if (bytes === null || engine.meta(HEAD_ROW) !== null) return null;
  try {
    return decodeUnhashed(bytes);
  } catch (error) {
    if (error instanceof MalformedBytes) throw headDamaged("where the log begins makes no sense");
    throw error;
  }
}

/** Without a head it is no store, so a crash in between changes nothing: hashing begins anew. Nobody else may use the
 *  engine meanwhile. */
export async function hashLeaves(
  engine: StorageEngine,
  treeKey: KeyObject,
  world: { readonly clock: Clock; readonly timers: Timers },
): Promise<void> {
  const unhashed = readUnhashed(engine);
  if (unhashed === null) return;
  const slices = new Slices(world);
  const leaves = new GatheredLeaves(engine, slices);
  const hasher = new LeafHasher(treeKey);
  try {
    for await (const { key, scope, value } of rowsOf(engine, slices)) {
      const slot = slotOf(classOf(key), key);
      if (slot === null) continue;
      const hash = hasher.hash(key, scope, sha256(value));
      leaves.forest.of(slot).replace(slot, null, hash);
      await leaves.add({ slot, key, leaf: { hash, scope } });
    }
  } finally {
    hasher.wipe();
  }
  const { lineage, epoch, index, copied } = unhashed;
  const { shared, local } = leaves.forest;
  if (!addsUpTo(leaves.forest, copied, treeKey)) throw copyChanged();
  const head: Head = {
    lineage,
    epoch,
    index,
    chain: firstChain(lineage),
    lastDr: index,
    lastPerf: index,
    logBytes: 0n,
    shared: shared.total(),
    local: local.total(),
  };
  await leaves.end([
    { name: HEAD_ROW, value: encodeHead(head, treeKey) },
    { name: UNHASHED_ROW, value: null },
  ]);
}

/** Whether the leaves are those of a head that was made with this key. */
export function addsUpTo(forest: Forest, headRow: Uint8Array, treeKey: KeyObject): boolean {
  if (!headIsAuthentic(headRow, treeKey)) return false;
  const head = decodeHead(headRow);
  const { shared, local } = forest;
  return sameTotal(shared.total(), head.shared) && sameTotal(local.total(), head.local);
}

async function* rowsOf(engine: StorageEngine, slices: Slices): AsyncGenerator<FilledRow> {
  for (let from = ""; ;) {
    const rows = engine.rows({ from, to: null, limit: CHUNK_ROWS });
    for (const { key, value } of rows) {
      if (!hasClass(key)) throw headDamaged("a key of no class lies in it");
      const slot = slotOf(classOf(key), key);
      const leaf = slot === null ? null : engine.leaf(slot, key);
      if (slot !== null && leaf === null) throw headDamaged("the leaf of a key is missing");
      yield { key, scope: leaf?.scope ?? new Uint8Array(16), value };
    }
    if (rows.length < CHUNK_ROWS) return;
    from = afterKey(rows.at(-1)!.key);
    await slices.pause();
  }
}
