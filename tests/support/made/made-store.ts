// A store that is created and unlocked, on an engine that can be watched, in a world that stands
// still: where most tests of storage begin.

import { createSecretKey, type KeyObject } from "node:crypto";
import type { StorageEngine } from "../../../src/storage/engines/engine.ts";
import { Store, type StoreOptions } from "../../../src/storage/store.ts";
import { type FakeWorld, fakeWorld } from "../fake-world.ts";
import { WatchedEngine } from "../stores/watched-engine.ts";

export const TREE_KEY: KeyObject = createSecretKey(Buffer.alloc(32, 7));
export const IDENTITY = { lineage: Buffer.alloc(16, 3), cluster: "test" };

export interface MadeStore {
  readonly store: Store;
  readonly engine: WatchedEngine;
  readonly world: FakeWorld;
}

/** Empty but for the head, with index 0. */
export async function madeStore(
  inner?: StorageEngine,
  options: Partial<Pick<StoreOptions, "maxEntryBytes" | "reserveBytes">> = {},
): Promise<MadeStore> {
  const opened = openedStore(new WatchedEngine(inner), options);
  await opened.store.create(TREE_KEY, IDENTITY, () => {});
  opened.engine.batches.length = 0;
  return opened;
}

/** As it comes: locked, and new if the engine is. */
export function openedStore(
  engine: WatchedEngine,
  options: Partial<Pick<StoreOptions, "maxEntryBytes" | "reserveBytes">> = {},
): MadeStore {
  const world = fakeWorld();
  return { store: new Store({ engine, ...world, ...options }), engine, world };
}

export function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}
