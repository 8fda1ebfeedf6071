// A store on a real disk, opened the way a node opens it: sqlite engine, committer, barrier. Its keys
// are fixed, because what is under test here is the disk and not the secrecy.

import { createHash, createSecretKey, type KeyObject } from "node:crypto";
import { SystemClock } from "../src/system/clock.ts";
import { SystemFs } from "../src/system/fs.ts";
import { type Log, makeLog } from "@holdfast/shared/log";
import { SystemRandom } from "../src/system/random.ts";
import { SystemTimers } from "../src/system/timers.ts";
import { Barrier } from "../src/barrier/barrier.ts";
import type { StorageEngine } from "../src/storage/engines/engine.ts";
import { SqliteEngine } from "../src/storage/engines/sqlite.ts";
import { Store } from "../src/storage/store.ts";
import { Trimmer } from "../src/storage/trimming.ts";

export interface OpenOptions {
  readonly directory: string;
  /** NORMAL is the planted bug of the power-loss experiment. Default FULL. */
  readonly synchronous?: "FULL" | "NORMAL";
  /** SQLite's log is copied into the database at this size. Default: the engine's own. */
  readonly checkpointBytes?: number;
  /** Stands between store and engine: how other bugs are planted. Default: nothing does. */
  readonly decorate?: (engine: StorageEngine) => StorageEngine;
  readonly log?: (line: string) => void;
}

export interface Opened {
  readonly store: Store;
  readonly barrier: Barrier;
  readonly close: () => Promise<void>;
}

const key = (name: string): KeyObject =>
  createSecretKey(createHash("sha256").update(`soak ${name}`).digest());

export async function openStore(options: OpenOptions): Promise<Opened> {
  const clock = new SystemClock();
  const timers = new SystemTimers();
  const random = new SystemRandom();
  const write = options.log ?? (() => {});
  const log: Log = makeLog({ level: "info", format: "standard", write, clock });
  const { directory, synchronous, checkpointBytes } = options;
  const sqlite = await SqliteEngine.open({
    directory,
    fs: new SystemFs(),
    ...(synchronous === undefined ? {} : { synchronous }),
    ...(checkpointBytes === undefined ? {} : { checkpointBytes }),
  });
  let store: Store | null = null;
  try {
    const engine = options.decorate?.(sqlite) ?? sqlite;
    store = new Store({ engine, clock, timers, log });
    const barrier = new Barrier({ store, clock, timers, random, log });
    const [rootKey, treeKey] = [key("root key"), key("tree key")];
    if (store.initialised) {
      if (!barrier.unseal(rootKey)) throw new Error("the fixed root key does not open the keyring");
      barrier.activate();
    } else {
      const identity = { lineage: random.bytes(16), cluster: random.uuid() };
      await barrier.create({ rootKey, treeKey }, identity, () => {});
    }
    const opened = store;
    // A short log, so that trimming is part of every experiment.
    const trimmer = new Trimmer({
      store: opened,
      clock,
      timers,
      log,
      retention: () => ({ minEntries: 2048n }),
    });
    trimmer.open();
    const close = async () => {
      await trimmer.close();
      await barrier.seal();
      await opened.close();
    };
    return { store, barrier, close };
  } catch (error) {
    await (store ?? sqlite).close().catch(() => {});
    throw error;
  }
}
