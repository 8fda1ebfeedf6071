// One machine: a disk and a clock that survive crashes, and on them, one life after the other, the
// production store and barrier. What a crash has left is checked row by row before it is used.

import type { KeyObject } from "node:crypto";
import { Barrier } from "../src/barrier/barrier.ts";
import type { View } from "../src/barrier/view.ts";
import type { Log } from "@holdfast/shared/log";
import { hex } from "@holdfast/shared/bytes";
import { secretKey } from "../src/crypto/aead.ts";
import { EngineError, type Limits } from "../src/storage/engines/engine.ts";
import { HEAD_ROW } from "../src/storage/rows/head.ts";
import { Audit, type Identity } from "./audit.ts";
import { SimDisk } from "./stores/disk.ts";
import { SimEngine } from "./stores/engine.ts";
import { History } from "./history.ts";
import { ObservedStore } from "./stores/observed-store.ts";
import { type Plant, plantVolume } from "./plants.ts";
import type { Prng } from "./prng.ts";
import { Violation } from "./state.ts";
import type { Trace } from "./trace.ts";
import { Life, SimClock, SimRandom, SimTimers, type SimWorld } from "./world.ts";

export interface MachineOptions {
  readonly world: SimWorld;
  readonly prng: Prng;
  readonly trace: Trace;
  readonly plant: Plant | null;
  readonly report: (violation: unknown) => void;
}

/** What the seed decides once for a machine. */
export interface Settings {
  readonly limits: Limits;
  readonly cacheBytes: number;
  readonly minMargin: number;
  readonly maxEntryBytes: number;
  readonly reserveBytes: number;
}

/** A process that is up. */
export interface Running {
  readonly life: Life;
  readonly engine: SimEngine;
  readonly store: ObservedStore;
  readonly barrier: Barrier;
  readonly timers: SimTimers;
  readonly views: { readonly shared: View; readonly local: View; readonly ignored: View };
  /** A seal has begun and no unseal has followed yet. */
  sealing: boolean;
  trimming: boolean;
  /** The store has said that it failed. */
  failed: boolean;
}

const MIB = 1024 * 1024;

export class Machine {
  readonly disk: SimDisk;
  readonly clock: SimClock;
  readonly history = new History();
  readonly settings: Settings;
  readonly prng: Prng;
  readonly #options: MachineOptions;
  readonly #audit: Audit;
  readonly #identity: Identity;
  readonly #treeKey: KeyObject;
  readonly #scopes: readonly [Buffer, Buffer, Buffer];
  #life: Life | null = null;
  #lives = 0;
  running: Running | null = null;

  constructor(options: MachineOptions) {
    const { world, prng } = options;
    this.#options = options;
    this.prng = prng;
    this.disk = new SimDisk(world, prng.fork("disk"));
    this.clock = new SimClock(world, prng.fork("clock"));
    const made = prng.fork("machine");
    this.settings = {
      limits: { operations: made.pick([8, 16, 8192]), bytes: made.pick([24_576, 64 * MIB]) },
      cacheBytes: made.pick([0, 4096, 32 * MIB]),
      minMargin: made.pick([30, 1_000_000]),
      maxEntryBytes: 4096,
      reserveBytes: 64 * MIB,
    };
    this.#treeKey = secretKey(made.bytes(32));
    this.#identity = { lineage: made.bytes(16), cluster: "sim" };
    this.#scopes = [made.bytes(16), made.bytes(16), made.bytes(16)];
    this.#audit = new Audit(this.#treeKey, this.#identity);
    this.disk.onFailure = (what) => this.#onDiskFailure(what);
  }

  /** What every row must be, by the naive state. */
  get audit(): Audit {
    return this.#audit;
  }

  get treeKey(): KeyObject {
    return this.#treeKey;
  }

  get life(): Life | null {
    return this.#life;
  }

  freshRootKey(): KeyObject {
    return secretKey(this.prng.fork(`root key ${this.history.position}`).bytes(32));
  }

  /** Starts a process. Resolves with false when the disk failed under it; never, when it crashes. */
  async boot(): Promise<boolean> {
    const { world, trace, plant } = this.#options;
    const life = new Life(`node life ${++this.#lives}`);
    this.#life = life;
    const prng = this.prng.fork(life.name);
    const planted = prng.fork("plant");
    const volume = plantVolume(this.disk.mount(life), plant, planted);
    const { settings, clock, history } = this;
    const { limits, cacheBytes, minMargin, maxEntryBytes, reserveBytes } = settings;
    const skip = plant?.skip;
    let engine: SimEngine;
    try {
      engine = await SimEngine.open(volume, skip === undefined ? { limits } : { limits, skip });
    } catch (error) {
      if (!(error instanceof EngineError) || history.failure === null) throw error;
      trace.add("boot failed: the disk did");
      return false;
    }
    this.#recover(engine);
    const random = new SimRandom(prng.fork("random"));
    const timers = new SimTimers(world, life);
    const log = this.#log();
    const { report } = this.#options;
    const store = new ObservedStore({
      engine: plant?.engine?.(engine, planted) ?? engine,
      plant: plant?.store?.(planted) ?? {},
      clock,
      timers,
      log,
      maxEntryBytes,
      reserveBytes,
      history,
      report,
    });
    const barrier = new Barrier({
      random: plant?.random?.(random, planted) ?? random,
      store,
      clock,
      timers,
      log,
      cacheBytes,
      minMargin,
    });
    const opened = await this.#unsealOrCreate(store, barrier, prng);
    if (!opened) return false;
    const [shared, local, ignored] = this.#scopes;
    const views = {
      shared: barrier.view("shared/sim/", shared),
      local: barrier.view("local/sim/", local),
      ignored: barrier.view("core/sim/", ignored),
    };
    const flags = { sealing: false, trimming: false, failed: false };
    this.running = { life, engine, store, barrier, timers, views, ...flags };
    return true;
  }

  /** Ends the process at once; nothing of it happens any more. */
  crash(how: "kill" | "power"): void {
    this.#life?.end();
    this.#life = null;
    this.running = null;
    this.disk.failing = null;
    if (how === "kill") this.disk.kill();
    else this.disk.cutPower();
    this.history.crashed();
  }

  /** With nothing on its way to the disk: every row must be as everything accepted has left it. */
  checkAtRest(running: Running): void {
    const { tip } = this.history;
    this.#audit.check(running.engine, tip);
    for (const row of running.engine.sums()) {
      const { sum, count } = running.store.trees.of(row.slot).row(row.slot);
      if (count !== row.count || hex(sum) !== hex(row.sum)) {
        throw new Violation("the trees in memory differ from the stored sums");
      }
    }
  }

  #recover(engine: SimEngine): void {
    const { history } = this;
    if (!history.recover(this.#audit.explains(engine))) {
      const detail = this.#audit.describe(engine, history.acknowledged);
      throw new Violation(`what the crash has left is no state that may be: ${detail}`);
    }
    this.#audit.check(engine, history.tip);
    const head = engine.meta(HEAD_ROW);
    const text = head === null ? "none" : hex(head.slice(-8));
    this.#options.trace.add(`recovered at ${history.tip.index}, head ${text}`);
  }

  async #unsealOrCreate(store: ObservedStore, barrier: Barrier, prng: Prng): Promise<boolean> {
    const { history } = this;
    const { rootKey, created, index } = history.tip;
    if (store.initialised !== created) throw new Violation("the store is not what it was");
    if (rootKey !== null) {
      if (prng.chance(0.1) && barrier.unseal(this.freshRootKey())) {
        throw new Violation("a wrong root key opened the barrier");
      }
      if (!barrier.unseal(rootKey)) throw new Violation("the root key does not open the barrier");
      barrier.activate();
      if (store.index !== index) throw new Violation("the store has another index after a crash");
      return true;
    }
    const fresh = this.freshRootKey();
    const keys = { rootKey: fresh, treeKey: this.#treeKey };
    try {
      await barrier.create(keys, this.#identity, (tx) => {
        history.rootKey = fresh;
        tx.put("sim/created", "yes", plainCodec(history));
      });
      return true;
    } catch (error) {
      if (history.failure === null) throw error;
      return false;
    }
  }

  #onDiskFailure(what: string): void {
    this.#options.trace.add(`disk: ${what} failed`);
    const { history } = this;
    history.failure = what;
    // A write fails in the middle of a turn, when answers to what is durable may be leaving.
    if (what === "sync") history.silent = true;
    const { running } = this;
    this.#options.world.after(0, this.#life, () => {
      history.silent = true;
      if (running === null || running.failed) return;
      this.#options.report(new Violation(`the store goes on after a failed ${what}`));
    });
  }

  /** Production code logs an error only when something is wrong with the storage. */
  #log(): Log {
    const quiet = () => {};
    const error = (message: string, fields?: object) => {
      const due = ["the storage failed; stopping", "automatic rotation failed"];
      if (due.includes(message) && this.history.failure !== null) return;
      if (message.startsWith("the disk is nearly full") && this.disk.wasFull) return;
      const parts = Object.entries(fields ?? {}).map(([key, value]) => `${key}=${String(value)}`);
      this.#options.report(new Violation(`an error was logged: ${message} ${parts.join()}`));
    };
    const log: Log = { debug: quiet, info: quiet, warn: quiet, error, child: () => log };
    return log;
  }
}

/** Text as it is; what is encoded is remembered for the history. */
export function plainCodec(history: History): {
  encode(value: string): Buffer;
  decode(bytes: Uint8Array): string;
} {
  return {
    encode: (value) => {
      history.plain = value;
      return Buffer.from(value);
    },
    decode: (bytes) => Buffer.from(bytes).toString(),
  };
}
