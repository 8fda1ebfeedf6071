// What the server stands on, by its configuration: the storage engine and the key of an auto seal.

import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { wipe } from "@holdfast/shared/bytes";
import { describe, Failure } from "@holdfast/shared/failure";
import type { ProcessGround } from "./ground.ts";
import { sealKeyUnreadable } from "./failures.ts";
import { isForbidden } from "../base/forbidden.ts";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Fs, World } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import { scopeOfKey } from "../barrier/scope.ts";
import type { Config } from "../config/config.ts";
import type { Room } from "../house/room.ts";
import { readStaticKey } from "../seal/static.ts";
import { StorageLocked } from "../storage/engines/engine.ts";
import type { Generations } from "../storage/generations/generations.ts";
import { MemoryGenerations } from "../storage/generations/memory-generations.ts";
import { emptyDatabase } from "../storage/engines/sqlite-place.ts";
import { SqliteGenerations } from "../storage/generations/sqlite-generations.ts";
import type { ScratchStores } from "../snapshots/loaded/loaded-snapshots.ts";
import { raiseLeaves } from "../storage/repair/raise.ts";
import type { Store } from "../storage/store.ts";
import { type Retention, Trimmer } from "../storage/trimming.ts";

const MAX_KEY_FILE = 4096;

/** 3 when the storage is in use by another process, 2 when settings or rights are to blame, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof StorageLocked) return 3;
  if (isForbidden(error)) return 2;
  return error instanceof Failure && error.kind === "invalid" ? 2 : 1;
}

/** What operators put files into: it is there before anybody needs it. A server without it runs as well. */
export function makeServerDirectory({ directories }: Config, { fs }: World, log: Log): void {
  try {
    fs.makeDirectory(directories.server);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const fields = { path: directories.server, cause: describe(error) };
    log.warn("the directory for the operator's files could not be made", fields);
  }
}

interface StorePlace {
  readonly storage: Pick<Config["storage"], "type">;
  readonly directories: Pick<Config["directories"], "store">;
}

/** The storage that the configuration names, which is ours alone until it is closed. */
export async function openGenerations(
  { storage, directories }: StorePlace,
  { fs }: Pick<World, "fs">,
  log: Log,
): Promise<Generations> {
  if (storage.type === "memory") return new MemoryGenerations();
  invariant(directories.store !== null, "a store on disk has a directory");
  fs.makeDirectory(directories.store);
  const generations = await SqliteGenerations.claim({ directory: directories.store, fs });
  const path = emptyDatabase(directories.store, fs);
  if (path !== null) log.warn(EMPTY_STORE, { path });
  return generations;
}

/** Where loaded snapshots lie: each a generation that is never taken into use, so that what a crash leaves is known for
 *  what it is. */
export function scratchStores({ directories }: Config, fs: Fs): ScratchStores {
  const directory = join(directories.server, "loaded");
  const open = () => SqliteGenerations.claim({ directory, fs }); // removes what a crash has left
  return {
    open,
    sweep: async () => {
      if (fs.info(directory) !== null) await (await open()).close();
    },
  };
}

const EMPTY_STORE =
  "there is a file with no store in it, and a new store is begun; if the server was initialised before, stop it and restore the file";

/** The store as a part of the house: its log is trimmed while it is written here. */
export function storagePart(
  store: Store,
  { world, log, logRetention }: ProcessGround,
  /** What other clusters need of the log; null where there are none. */
  needed: () => Partial<Retention> | null,
  /** A row that says when less of it is to be kept. */
  lessBy: string,
): Room {
  const { clock, timers } = world;
  const retention = () => ({ ...logRetention, ...needed() });
  const onLess = (wake: () => void) => store.watch(lessBy, wake);
  const trimmer = new Trimmer({ store, clock, timers, log, retention, onLess });
  return {
    name: "storage",
    endpoints: [],
    metrics: {
      storageIndexes: () => {
        const { head, tail } = store;
        if (!store.initialised) return null;
        const last = store.index;
        if (head === null || tail === null) return { last, oldest: null };
        const logBytes = head.logBytes - tail.logBytesBefore;
        return {
          last,
          oldest: tail.first,
          lastDr: head.lastDr,
          lastShared: head.lastPerf,
          logBytes,
        };
      },
    },
    whileFollowing: "leads",
    lead: async () => {
      // Leaves of another cluster's data are that cluster's matter.
      if (!store.following)
        await raiseLeaves(store, { clock, timers, scopeOfKey }, log.child("storage"));
    },
    jobs: [{ name: "trim the log", when: "while-active", work: trimmer }],
  };
}

/** The barrier as a part of the house: until it is active it seals nothing, so nobody can write an entry. */
export function barrierPart(barrier: Barrier): Room {
  return {
    name: "barrier",
    endpoints: [],
    whileFollowing: "leads",
    lead: () => barrier.activate(),
    rest: () => barrier.rest(),
    metrics: { barrierIntegrityErrors: () => barrier.integrityErrors },
  };
}

/** `files` are the operator's: links are followed. */
export function sealKeyOf(
  { seal }: Config,
  files: Pick<Fs, "read">,
): { readonly type: "static"; readonly key: KeyObject } | undefined {
  if (seal.type === "shamir") return undefined;
  const bytes =
    "file" in seal.key ? files.read(seal.key.file, MAX_KEY_FILE) : textKey(seal.key.reveal());
  if (bytes === null) {
    const message = "the key file of the static seal cannot be read";
    throw sealKeyUnreadable(message);
  }
  try {
    return { type: "static", key: readStaticKey(bytes) };
  } finally {
    wipe(bytes);
  }
}

function textKey(text: string): Buffer {
  const bytes = Buffer.alloc(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
