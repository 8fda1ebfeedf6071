// Snapshots that are loaded beside the data, to be read from: each in a store of its own, opened with the keys of this
// server and never written. They belong to the house that loaded them: when it closes, they are gone.

import { describe, Failure } from "@holdfast/shared/failure";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import {
  type MountRef,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import { HOUR } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Random, Timer, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import type { DataOfThen } from "../../house/room.ts";
import { EngineError } from "../../storage/engines/engine.ts";
import type { Generations, NextGeneration } from "../../storage/generations/generations.ts";
import { Store } from "../../storage/store.ts";
import type { ParsedArchive } from "../archive/archive-parser.ts";
import type { OwnKeys } from "../archive/opening.ts";
import { archiveMissing } from "../manual/failures.ts";
import { openedData } from "./data-of-then.ts";
import * as failures from "./failures.ts";
import { fillFrom } from "./filling.ts";

const MAX_LOADED = 2;
const LIFETIME = 72n * HOUR;

/** The mounts of a snapshot. */
export interface MountsOfThen {
  use<T>(mount: MountRef, run: (engine: unknown) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface LoadedOptions {
  readonly barrier: Barrier;
  readonly clusterId: () => string;
  /** When the root key was made. */
  readonly keyedAt: () => Instant;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly scratch: ScratchStores;
  readonly mountsOf: (data: DataOfThen) => MountsOfThen;
  readonly hadNamespace: (data: DataOfThen, namespace: NamespaceRef) => boolean;
}

/** Where stores of loaded snapshots lie. */
export interface ScratchStores {
  /** Removes what a crash has left. */
  sweep(): Promise<void>;
  open(): Promise<Generations>;
}

export interface LoadedSnapshot {
  readonly id: string;
  readonly archive: ParsedArchive;
  readonly loaded: Instant;
  readonly expires: Instant;
}

interface Loaded extends LoadedSnapshot {
  readonly data: DataOfThen;
  readonly mounts: MountsOfThen;
  readonly timer: Timer;
  readonly dispose: () => Promise<void>;
  users: number;
  /** Called when nobody uses it any more. */
  free: (() => void) | null;
}

export class LoadedSnapshots {
  readonly #options: LoadedOptions;
  readonly #loaded = new Map<string, Loaded>();
  /** Those that are being loaded. */
  readonly #loading = new Set<Promise<unknown>>();
  readonly #unloading = new Set<Promise<void>>();
  #generations: Promise<Generations> | null = null;
  #stop = new AbortController();

  constructor(options: LoadedOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { scratch, log } = this.#options;
    try {
      await scratch.sweep();
    } catch (error) {
      // It is ciphertext, and in nobody's way but for its size.
      log.warn("what is left of loaded snapshots was not removed", { cause: describe(error) });
    }
  }

  lead(): void {
    this.#stop = new AbortController();
  }

  /** What is being loaded ends, so that nobody waits for it. */
  interrupt(): void {
    this.#stop.abort(failures.loadingInterrupted());
  }

  async close(): Promise<void> {
    this.interrupt();
    await Promise.allSettled(this.#loading);
    // Requests had their time; one that still runs finds the keys gone.
    for (const one of this.#loaded.values()) one.users = 0;
    for (const id of this.#loaded.keys()) void this.#unload(id);
    await Promise.all(this.#unloading);
    const generations = this.#generations;
    this.#generations = null;
    await (await generations)?.close();
  }

  get all(): readonly LoadedSnapshot[] {
    return [...this.#loaded.values()].filter((one) => this.#isThere(one));
  }

  named(id: string): LoadedSnapshot {
    return this.#named(id);
  }

  async load(stream: BodyStream | undefined, signal: AbortSignal): Promise<LoadedSnapshot> {
    if (stream === undefined || stream.length === 0) throw archiveMissing();
    if (this.#loaded.size + this.#loading.size >= MAX_LOADED) {
      throw failures.tooManyLoaded(MAX_LOADED);
    }
    const loading = this.#load(stream, AbortSignal.any([signal, this.#stop.signal]));
    this.#loading.add(loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(loading);
    }
  }

  /** Something that is here is to be here no more, and may be in any of them, also in one that is being loaded. */
  withhold(): void {
    const { log } = this.#options;
    const ids = [...this.#loaded.keys()];
    if (ids.length + this.#loading.size === 0) return;
    log.warn(
      "loaded snapshots are unloaded: they may hold what is withheld from this cluster now",
      {
        event: "snapshot.withheld",
        count: ids.length + this.#loading.size,
      },
    );
    this.#stop.abort(failures.loadingWithheld());
    this.#stop = new AbortController();
    for (const id of ids) void this.#unload(id);
  }

  /** New requests find it gone at once; resolves when those under way have ended and nothing is left of it. */
  /** One that is not there is unloaded. */
  async unload(id: string): Promise<void> {
    await this.#unload(id);
  }

  /** The pipeline's look at it: see LoadedData. */
  async use<T>(
    id: string,
    {
      namespace,
      mount,
      endpoint,
    }: {
      readonly namespace: NamespaceRef;
      readonly mount: MountRef | null;
      readonly endpoint: Served;
    },
    run: (room: unknown) => Promise<T>,
  ): Promise<T> {
    const { hadNamespace } = this.#options;
    const one = this.#named(id);
    one.users++;
    try {
      if (mount !== null) return await one.mounts.use(mount, run);
      const { roomOver, name } = endpoint;
      invariant(roomOver !== null, `${name}: its room is not there over other data`);
      if (namespace.id !== ROOT_NAMESPACE.id && !hadNamespace(one.data, namespace)) {
        throw failures.noNamespaceThen(namespace.path);
      }
      return await run(roomOver(one.data));
    } finally {
      one.users--;
      if (one.users === 0) one.free?.();
    }
  }

  // --- inside ---

  #named(id: string): Loaded {
    const one = this.#loaded.get(id.toLowerCase());
    if (one === undefined || !this.#isThere(one)) throw failures.notLoaded();
    return one;
  }

  #isThere({ expires }: Loaded): boolean {
    return this.#options.clock.now() < expires;
  }

  async #load(stream: BodyStream, signal: AbortSignal): Promise<LoadedSnapshot> {
    const { scratch, log } = this.#options;
    try {
      this.#generations ??= scratch.open();
      const place = await (await this.#generations).begin();
      try {
        return await this.#fill(stream, place, signal);
      } catch (error) {
        await place.discard();
        throw error;
      }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      log.error("a snapshot could not be loaded", { cause: describe(error) });
      throw failures.notKept(error);
    }
  }

  async #fill(
    stream: BodyStream,
    place: NextGeneration,
    signal: AbortSignal,
  ): Promise<LoadedSnapshot> {
    const { barrier, clock, timers, random, clusterId, keyedAt, log } = this.#options;
    const { engine } = place;
    const { rootKey } = barrier;
    const own = { rootKey, clusterId: clusterId(), keyedAt: keyedAt() } satisfies OwnKeys;
    const world = { clock, timers, random };
    const { archive, keys } = await fillFrom(stream, engine, { ...world, barrier, own, signal });
    signal.throwIfAborted();
    // It stays locked: what is read needs no more, and nothing is written.
    const store = new Store({ engine, clock, timers, log });
    const data = openedData(store, keys);
    return this.#keep(archive, data, async () => {
      data.close();
      await store.close();
      await place.discard();
    });
  }

  #keep(archive: ParsedArchive, data: DataOfThen, dispose: () => Promise<void>): LoadedSnapshot {
    const { clock, timers, random, log, mountsOf } = this.#options;
    const id = random.uuid();
    const loaded = clock.now();
    const expires = loaded + LIFETIME;
    const timer = timers.after(LIFETIME, () => void this.#unload(id));
    const mounts = mountsOf(data);
    const one = {
      id,
      archive,
      loaded,
      expires,
      data,
      mounts,
      timer,
      dispose,
      users: 0,
      free: null,
    };
    this.#loaded.set(id, one);
    const { id: snapshot, index } = archive.meta;
    const until = showTime(expires);
    log.info("a snapshot was loaded", { event: "snapshot.loaded", id, snapshot, index, until });
    return one;
  }

  #unload(id: string): Promise<void> {
    const one = this.#loaded.get(id);
    if (one === undefined) return Promise.resolve();
    this.#loaded.delete(id);
    const done = this.#end(one).finally(() => this.#unloading.delete(done));
    this.#unloading.add(done);
    return done;
  }

  async #end(one: Loaded): Promise<void> {
    const { log } = this.#options;
    one.timer.cancel();
    const { promise, resolve } = Promise.withResolvers<void>();
    one.free = resolve;
    if (one.users > 0) await promise;
    try {
      await one.mounts.close();
      await one.dispose();
      log.info("a snapshot was unloaded", { event: "snapshot.unloaded", id: one.id });
    } catch (error) {
      const cause = error instanceof Failure ? describe(error) : "unexpected error";
      log.error("what was loaded of a snapshot was not removed", { id: one.id, cause });
    }
  }
}
