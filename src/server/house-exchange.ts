// Exchanging the house: other data is filled in beside the running one, and takes its place whole. Until the switch the
// running house stays, and goes on if anything fails; from the switch on the next one stands.

import type { KeyObject } from "node:crypto";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { StorageEngine } from "../storage/engines/engine.ts";
import {
  ExchangeUncertain,
  type Generations,
  type NextGeneration,
} from "../storage/generations/generations.ts";
import { exchanging, exchangeRunning, serverStopping } from "./failures.ts";
import type { House } from "./house.ts";

export interface Replacement {
  /** The rows of the next house, while the present one runs. */
  fill(engine: StorageEngine, signal: AbortSignal): Promise<void>;
  /** The present house rests: what goes along to the next one, which is a whole store after this. Gives the key that
   *  opens it, or null where it stays sealed. */
  finish(engine: StorageEngine): Promise<KeyObject | null>;
}

export interface ExchangeHost {
  readonly log: Log;
  readonly generations: Generations;
  readonly house: () => House;
  /** Builds the next house on its storage; nobody has seen it yet. */
  readonly build: (engine: StorageEngine) => House;
  /** Requests are refused for a moment. */
  readonly pause: () => void;
  /** They go to this house from here on. */
  readonly resume: (house: House) => void;
  /** Nothing can be promised any more: the process is to end. */
  readonly lost: (cause: unknown) => void;
}

export class HouseExchange {
  readonly #host: ExchangeHost;
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;

  constructor(host: ExchangeHost) {
    this.#host = host;
  }

  async run(replacement: Replacement): Promise<void> {
    if (this.#stop.signal.aborted) throw serverStopping();
    if (this.#running !== null) throw exchangeRunning();
    this.#running = this.#run(replacement);
    try {
      await this.#running;
    } finally {
      this.#running = null;
    }
  }

  /** Gives up what is being filled; a switch that has begun is waited for. Nothing follows it. */
  async close(): Promise<void> {
    this.#stop.abort(serverStopping());
    await this.#running?.catch(() => {}); // its caller hears of it
  }

  async #run(replacement: Replacement): Promise<void> {
    const next = await this.#host.generations.begin();
    const { signal } = this.#stop;
    try {
      await replacement.fill(next.engine, signal);
      signal.throwIfAborted();
    } catch (error) {
      await this.#discard(next);
      throw error;
    }
    await this.#switch(next, replacement);
  }

  async #switch(next: NextGeneration, replacement: Replacement): Promise<void> {
    const { house, pause, resume, lost } = this.#host;
    const old = house();
    pause();
    const { keeper } = old.rooms.seal;
    let rootKey: KeyObject | null;
    try {
      rootKey = await keeper.undisturbed(() => this.#handOver(old, next, replacement));
    } catch (error) {
      if (error instanceof ExchangeUncertain) lost(error);
      else resume(old);
      throw error;
    }
    try {
      resume(await this.#moveIn(old, rootKey));
    } catch (error) {
      lost(error); // the next start finds the new one
      throw error;
    }
  }

  /** In a turn of the keeper's: nobody seals it meanwhile. */
  async #handOver(
    old: House,
    next: NextGeneration,
    replacement: Replacement,
  ): Promise<KeyObject | null> {
    try {
      await old.rest();
      const rootKey = await replacement.finish(next.engine);
      await next.takeIntoUse();
      old.rooms.seal.keeper.retire(exchanging());
      return rootKey;
    } catch (error) {
      if (error instanceof ExchangeUncertain) throw error;
      await this.#discard(next);
      await old.goOn();
      throw error;
    }
  }

  async #moveIn(old: House, rootKey: KeyObject | null): Promise<House> {
    const { generations, build, log } = this.#host;
    const left = async (what: string, work: () => Promise<void>) => {
      await work().catch((error: unknown) => log.error(what, { cause: describe(error) }));
    };
    await left("could not leave the old data in good order", () => old.stop());
    await left("could not remove the old data; the next start will", () =>
      generations.removeReplaced(),
    );
    const house = build(await generations.open());
    const { keeper } = house.rooms.seal;
    await (rootKey === null ? house.start() : keeper.enter(rootKey));
    log.info("the data was exchanged", { sealed: keeper.sealed });
    return house;
  }

  async #discard(next: NextGeneration): Promise<void> {
    await next.discard().catch((error: unknown) => {
      const cause = describe(error);
      this.#host.log.error("could not remove unused data; the next start will", { cause });
    });
  }
}
