// What an engine is given of storage: a view that ends at its mount, for as long as the mount is open.
// What comes after that, from a request that still ran, is refused: it would write into what is being
// wiped.

import type { Codec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import type {
  EngineStorage,
  EngineTx,
  EngineWriteOptions,
  StoragePage,
  StorageRecord,
} from "@holdfast/plugin-sdk/storage";
import * as failures from "./failures.ts";
import type { WriteAheadLog } from "./undo/write-ahead.ts";

/** One opening of an engine. */
export interface Life {
  ended: boolean;
}

export class MountStorage implements EngineStorage {
  readonly #view: View;
  readonly #life: Life;
  readonly #writeAhead: WriteAheadLog;

  constructor(view: View, life: Life, writeAhead: WriteAheadLog) {
    this.#view = view;
    this.#life = life;
    this.#writeAhead = writeAhead;
  }

  get writtenElsewhere(): boolean {
    return this.#view.writtenElsewhere;
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

  write<T>(fn: (tx: EngineTx) => T, { deletion = false }: EngineWriteOptions = {}): Promise<T> {
    const run = (tx: Tx) => {
      this.#check();
      return fn(new MountTx(tx, this.#writeAhead));
    };
    return this.#view.write(run, { deletion });
  }

  #check(): void {
    if (this.#life.ended) throw failures.gone();
  }
}

/** One transaction over what the engine keeps and its write-ahead records, which lie elsewhere. */
class MountTx implements EngineTx {
  readonly time: Instant;
  readonly #tx: Tx;
  readonly #writeAhead: WriteAheadLog;

  constructor(tx: Tx, writeAhead: WriteAheadLog) {
    this.time = tx.time;
    this.#tx = tx;
    this.#writeAhead = writeAhead;
  }

  get<T>(key: string, codec: Codec<T>): T | null {
    return this.#tx.get(key, codec);
  }

  records<T>(prefix: string, codec: Codec<T>, page: StoragePage): StorageRecord<T>[] {
    return this.#tx.records(prefix, codec, page);
  }

  keys(prefix: string, page: StoragePage): string[] {
    return this.#tx.keys(prefix, page);
  }

  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[] {
    return this.#tx.list(prefix, page);
  }

  put<T>(key: string, value: T, codec: Codec<T>): void {
    this.#tx.put(key, value, codec);
  }

  delete(key: string): void {
    this.#tx.delete(key);
  }

  settle(recordId: string): void {
    this.#writeAhead.settleWith(this.#tx, recordId);
  }

  begin(kind: string, data: JsonObject, id?: string): string {
    return this.#writeAhead.beginWith(this.#tx, kind, data, id);
  }
}
