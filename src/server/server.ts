// The composition root: builds every room, in order; nothing else does. Today that is the ground: an
// engine, the store, the barrier and the keeper of the seal.

import { describe, Failure } from "./base/failure.ts";
import type { Log } from "./base/log.ts";
import type { World } from "./base/world.ts";
import { Barrier } from "./barrier/barrier.ts";
import { jsonCodec } from "./base/codec.ts";
import { type FirstTokens } from "./seal/keeper-options.ts";
import { SealKeeper } from "./seal/keeper.ts";
import { type Engine, StorageLocked } from "./storage/engines/engine.ts";
import { MemoryEngine } from "./storage/engines/memory.ts";
import { SqliteEngine } from "./storage/engines/sqlite.ts";
import { Store } from "./storage/store.ts";
import { Trimmer } from "./storage/trimming.ts";

export interface ServerSettings {
  /** Where to keep data; null keeps it in memory. */
  readonly directory: string | null;
  readonly version: string;
  readonly buildDate: string;
}

export interface Server {
  readonly store: Store;
  readonly keeper: SealKeeper;
  /** Seals, if need be, and lets go of the storage. */
  stop(): Promise<void>;
}

export async function openServer(
  settings: ServerSettings,
  world: World,
  log: Log,
): Promise<Server> {
  const engine = await openEngine(settings.directory, world);
  const { clock, timers, random } = world;
  const store = new Store({ engine, clock, timers, log: log.child("storage") });
  const barrier = new Barrier({ store, clock, timers, random, log: log.child("barrier") });
  const trimmer = new Trimmer(
    store,
    world,
    () => ({}),
    (error) => log.error("could not trim the log", { cause: describe(error) }),
  );
  const keeper = new SealKeeper({
    store,
    barrier,
    clock,
    random,
    log,
    tokens: bootstrapDoor,
    hooks: {
      opened: async () => trimmer.start(),
      closing: async () => trimmer.stop(),
    },
    version: settings.version,
    buildDate: settings.buildDate,
  });
  await keeper.start();
  const stop = async () => {
    await keeper.seal();
    await store.close();
  };
  return { store, keeper, stop };
}

/** 3 when the storage is in use by another process, else 1. */
export function exitCodeOf(error: unknown): number {
  return error instanceof StorageLocked ? 3 : 1;
}

function openEngine(directory: string | null, world: World): Promise<Engine> {
  if (directory === null) return Promise.resolve(new MemoryEngine());
  return SqliteEngine.open({ directory, fs: world.fs });
}

/** Until there is a token store only one of the two doors can be used: the one left open. */
const bootstrapDoor: FirstTokens = {
  length: 36,
  leaveDoorOpen: (tx) => tx.put("acl-bootstrap", { open: true }, jsonCodec<{ open: boolean }>()),
  mintFirst: refuseTokens,
  mintGenerated: refuseTokens,
};

function refuseTokens(): never {
  const message = 'this build has no token store yet; initialise with acl_bootstrap "open"';
  throw new Failure("invalid", "no-token-store", message);
}
