// A barrier over a store, created and unsealed, on a disk that outlives it: for every room's tests.

import { createSecretKey, type KeyObject } from "node:crypto";
import { Barrier, type BarrierOptions } from "../../../src/barrier/barrier.ts";
import { MemoryDisk, MemoryEngine } from "../../../src/storage/engines/memory.ts";
import { nextTurn } from "../fake-world.ts";
import type { MadeStore } from "./made-store.ts";
import { IDENTITY, openedStore, TREE_KEY } from "./made-store.ts";
import { WatchedEngine } from "../stores/watched-engine.ts";

export const ROOT_KEY: KeyObject = createSecretKey(Buffer.alloc(32, 9));
export const OTHER_KEY: KeyObject = createSecretKey(Buffer.alloc(32, 10));

export interface MadeBarrier extends MadeStore {
  readonly barrier: Barrier;
  readonly disk: MemoryDisk;
}

type Options = Partial<Pick<BarrierOptions, "cacheBytes" | "minMargin">>;

export async function madeBarrier(options: Options = {}): Promise<MadeBarrier> {
  const made = sealedBarrier(new MemoryDisk(), options);
  await made.barrier.create({ rootKey: ROOT_KEY, treeKey: TREE_KEY }, IDENTITY, () => {});
  made.engine.batches.length = 0;
  return made;
}

/** A process that has just started on the disk. */
export function sealedBarrier(disk: MemoryDisk, options: Options = {}): MadeBarrier {
  const opened = openedStore(new WatchedEngine(new MemoryEngine(disk)));
  const { store, world } = opened;
  return { ...opened, disk, barrier: new Barrier({ store, ...world, ...options }) };
}

/** Unseals it as the active node does. False when the root key is another one. */
export function unsealed(barrier: Barrier, rootKey: KeyObject = ROOT_KEY): boolean {
  const opened = barrier.unseal(rootKey);
  if (opened) barrier.activate();
  return opened;
}

/** The process dies: of what it has on its way nothing arrives any more. A new one starts. */
export async function crashed(before: MadeBarrier, options: Options = {}): Promise<MadeBarrier> {
  before.engine.hold();
  await nextTurn(); // what the engine had already taken is there
  return sealedBarrier(before.disk, options);
}
