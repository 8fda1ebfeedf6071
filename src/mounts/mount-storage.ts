// What an engine is given of storage: a view that ends at its mount, for as long as the mount is open.
// What comes after that, from a request that still ran, is refused: it would write into what is being
// wiped.

import type { Codec } from "../base/codec.ts";
import type { View } from "../barrier/view.ts";
import type {
  EngineStorage,
  EngineTx,
  StoragePage,
  StorageRecord,
} from "../../plugin-sdk/storage.ts";
import * as failures from "./failures.ts";

/** One opening of an engine. */
export interface Life {
  ended: boolean;
}

export class MountStorage implements EngineStorage {
  readonly #view: View;
  readonly #life: Life;

  constructor(view: View, life: Life) {
    this.#view = view;
    this.#life = life;
  }

  async get<T>(key: string, codec: Codec<T>): Promise<T | null> {
    this.#check();
    return this.#view.get(key, codec);
  }

  async records<T>(
    prefix: string,
    codec: Codec<T>,
    page: StoragePage,
  ): Promise<StorageRecord<T>[]> {
    this.#check();
    return this.#view.records(prefix, codec, page);
  }

  async keys(prefix: string, page: StoragePage): Promise<string[]> {
    this.#check();
    return this.#view.keys(prefix, page);
  }

  async list(
    prefix: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<string[]> {
    this.#check();
    return this.#view.list(prefix, page);
  }

  write<T>(fn: (tx: EngineTx) => T): Promise<T> {
    return this.#view.write((tx) => {
      this.#check();
      return fn(tx);
    });
  }

  #check(): void {
    if (this.#life.ended) throw failures.gone();
  }
}
