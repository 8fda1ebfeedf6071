// The server program with another storage engine or another clock handed to it, or with a type of secrets
// engine that only experiments have; everything else is the product's own. Used to make SQLite copy its
// log several times in a short run, to count what is made outside, to let days pass, and to plant bugs.

import { flushCompileCache } from "node:module";
import { runServer } from "../../src/daemon/server-command.ts";
import { SystemHost } from "../../src/daemon/system-host.ts";
import type { ServerModule } from "../../src/daemon/server-part.ts";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { SystemNet } from "../../src/system/net.ts";
import { SystemRandom } from "../../src/system/random.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { StateMarks } from "../../src/forwarding/consistency.ts";
import * as server from "../../src/server/server.ts";
import type { Generations } from "../../src/storage/generations/generations.ts";
import { SqliteGenerations } from "../../src/storage/generations/sqlite-generations.ts";
import { type CountingPartOptions, countingType, tickOften } from "../engines/counting-part.ts";
import { Deaths } from "../databases/deaths.ts";
import { MovedClock } from "../moved-clock.ts";
import {
  anyState,
  dying,
  lateWatch,
  neverTaken,
  staleSecret,
  unrecorded,
  unreported,
  writeBehind,
} from "../plants.ts";

export interface ApiTargetOptions {
  readonly checkpointBytes?: number;
  readonly plant?:
    | "normal-sync"
    | "write-behind"
    | "late-watch"
    | "never-taken"
    | "any-state"
    | "stale-secret"
    | "unrecorded"
    | "unreported";
  readonly counting?: CountingPartOptions;
  /** Ahead of the machine's time at first, moved on by standard input; rollback looks often. */
  readonly clock?: { readonly seconds: number };
  /** A folder that says at which commit it is to end, if at any. */
  readonly deaths?: string;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ApiTargetOptions;
const { checkpointBytes, plant, counting, clock, deaths } = options;
const moved = clock === undefined ? null : new MovedClock(clock.seconds);
moved?.follow();
const random = new SystemRandom();
const fs = new SystemFs(random);
const world = {
  clock: moved ?? new SystemClock(),
  timers: new SystemTimers(),
  random,
  fs,
  net: new SystemNet(),
};

const openServer: ServerModule["openServer"] = async (config, parts) => {
  const directory = config.directories.store;
  if (directory === null) throw new Error("a store on disk is needed");
  const sqlite = await SqliteGenerations.claim({
    directory,
    fs,
    ...(checkpointBytes === undefined ? {} : { checkpointBytes }),
    ...(plant === "normal-sync" ? { synchronous: "NORMAL" } : {}),
  });
  const generations: Generations = {
    open: async () => {
      const engine = await sqlite.open();
      if (deaths !== undefined) return dying(engine, new Deaths(deaths, "commit", process.pid));
      if (plant === "stale-secret") return staleSecret(engine);
      return plant === "write-behind" ? writeBehind(engine) : engine;
    },
    begin: () => sqlite.begin(),
    removeReplaced: () => sqlite.removeReplaced(),
    close: () => sqlite.close(),
  };
  const engineTypes = counting === undefined ? [] : [countingType(counting)];
  const opened = await server.openServer(config, { ...parts, generations, engineTypes });
  if (counting !== undefined || moved !== null) tickOften(opened.mounts);
  if (plant === "late-watch") lateWatch(opened.tokens.rows);
  if (plant === "never-taken") neverTaken(opened.tokens);
  if (plant === "any-state") anyState(StateMarks.prototype);
  if (plant === "unrecorded") unrecorded(opened.audit);
  if (plant === "unreported") unreported(opened.replication.divergent);
  flushCompileCache(); // for the next start: whoever is killed keeps nothing at its end
  return opened;
};

const load = () => Promise.resolve({ ...server, openServer });
const [, ...args] = process.argv.slice(3); // after the word "server"
process.exit(await runServer(args, { host: new SystemHost(process.env), world, load }));
