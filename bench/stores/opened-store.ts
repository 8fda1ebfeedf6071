// The production store and barrier on a directory, put together as the server does it, with keys
// that protect nothing: what lies in these stores is made up.

import { performance } from "node:perf_hooks";
import { Barrier } from "../../src/barrier/barrier.ts";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { makeLog } from "@holdfast/shared/log";
import { SystemRandom } from "../../src/system/random.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { secretKey } from "../../src/crypto/aead.ts";
import { SqliteEngine } from "../../src/storage/engines/sqlite.ts";
import { Store } from "../../src/storage/store.ts";

export interface OpenedStore {
  readonly store: Store;
  readonly barrier: Barrier;
  /** From before the opening of the engine until unsealed. */
  readonly openMillis: number;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Default: the barrier's own. */
  readonly cacheBytes?: number;
}

/** Creates the store if there is none, else opens and unseals it. */
export async function openStore(
  directory: string,
  options: OpenOptions = {},
): Promise<OpenedStore> {
  const began = performance.now();
  const clock = new SystemClock();
  const timers = new SystemTimers();
  const random = new SystemRandom();
  const write = (line: string) => void process.stderr.write(line);
  const log = makeLog({ level: "warn", format: "standard", write, clock });
  const engine = await SqliteEngine.open({ directory, fs: new SystemFs(random) });
  const store = new Store({ engine, clock, timers, log });
  const barrier = new Barrier({ store, clock, timers, random, log, ...options });
  const rootKey = secretKey(Buffer.alloc(32, 1));
  if (!store.initialised) {
    const keys = { rootKey, treeKey: secretKey(Buffer.alloc(32, 2)) };
    await barrier.create(keys, { lineage: Buffer.alloc(16, 3), cluster: "bench" }, () => {});
  } else if (!barrier.unseal(rootKey)) {
    throw new Error(`${directory} has another root key`);
  }
  barrier.activate();
  const openMillis = performance.now() - began;
  const close = async () => {
    await barrier.seal();
    await store.close();
  };
  return { store, barrier, openMillis, close };
}

/** For one use: closed afterwards, whatever happens. */
export async function withStore<T>(
  directory: string,
  options: OpenOptions,
  use: (opened: OpenedStore) => T | Promise<T>,
): Promise<T> {
  const opened = await openStore(directory, options);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}
