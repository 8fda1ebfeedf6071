// Generations of the sqlite engine: directories below that of the store, of which a file names the one in use.

import type { Fs } from "@holdfast/shared/world";
import { SqliteEngine, type SqliteOptions } from "../engines/sqlite.ts";
import { claimPlace, type Place } from "../engines/sqlite-place.ts";
import { ExchangeUncertain, type Generations, type NextGeneration } from "./generations.ts";
import { beginGeneration, directoryInUse, readLayout, takeIntoUse } from "./layout.ts";
import { removeGeneration, removeReplaced, tidied } from "./sqlite-removal.ts";

export class SqliteGenerations implements Generations {
  readonly #place: Place;
  readonly #options: SqliteOptions;
  readonly #fs: Fs;

  private constructor(place: Place, options: SqliteOptions) {
    this.#place = place;
    this.#options = options;
    this.#fs = options.fs;
  }

  /** Throws StorageLocked, a Failure, or an EngineError. What a crash left of other generations is removed. */
  static async claim(options: SqliteOptions): Promise<SqliteGenerations> {
    const place = claimPlace(options.directory, options.fs);
    try {
      await tidied(place.directory, options.fs);
      return new SqliteGenerations(place, options);
    } catch (error) {
      place.release();
      throw error;
    }
  }

  open(): Promise<SqliteEngine> {
    const { directory } = this.#place;
    const inUse = directoryInUse(directory, readLayout(this.#fs, directory));
    return SqliteEngine.openIn(inUse, this.#options);
  }

  async begin(): Promise<NextGeneration> {
    const { directory } = this.#place;
    await this.removeReplaced(); // what could not be removed the last time: one name has room in `current`
    const number = readLayout(this.#fs, directory).free;
    const made = beginGeneration(this.#fs, directory, number);
    const engine = await SqliteEngine.openIn(made, this.#options).catch(async (error: unknown) => {
      await removeGeneration(directory, number, this.#fs);
      throw error;
    });
    return {
      engine,
      takeIntoUse: async () => {
        await engine.close(); // everything is in the one file then, and synced
        this.#use(number);
      },
      discard: async () => {
        await engine.close().catch(() => {}); // it goes, in whatever state
        await removeGeneration(directory, number, this.#fs);
      },
    };
  }

  removeReplaced(): Promise<void> {
    return removeReplaced(this.#place.directory, this.#fs);
  }

  async close(): Promise<void> {
    this.#place.release();
  }

  #use(number: number): void {
    const { directory } = this.#place;
    const before = readLayout(this.#fs, directory).inUse;
    try {
      takeIntoUse(this.#fs, directory, number, before);
    } catch (error) {
      if (this.#names(before)) throw error;
      throw new ExchangeUncertain(error); // renamed, and the directory could not be synced
    }
  }

  /** Whether the one that was in use is still named; false where that cannot be read. */
  #names(before: number | null): boolean {
    try {
      return readLayout(this.#fs, this.#place.directory).inUse === before;
    } catch {
      return false;
    }
  }
}
