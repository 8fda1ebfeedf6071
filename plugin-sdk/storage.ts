// What an engine sees of storage: records below its own mount, and nothing beside them. Reads outside a
// transaction may come from another process, so they are promises; inside one everything is at hand.

import type { Codec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";

export interface StorageRecord<T> {
  readonly key: string;
  readonly value: T;
}

export interface StoragePage {
  readonly limit: number;
  /** Only keys after this one; before it with `reverse`. Default: from the first. */
  readonly after?: string;
  /** Default false. */
  readonly reverse?: boolean;
}

export interface EngineWriteOptions {
  /** It deletes, though it writes a little for that (a mark, a shorter record): it still works when the
   *  disk is nearly full. Not for what brings something back. Default false. */
  readonly deletion?: boolean;
}

/** Keys are "/"-joined canonical segments, relative to the mount. */
export interface EngineStorage {
  /** Another cluster writes what the mount keeps: nobody here may. It may change at any time. Default false. */
  readonly writtenElsewhere?: boolean;
  get<T>(key: string, codec: Codec<T>): Promise<T | null>;
  records<T>(prefix: string, codec: Codec<T>, page: StoragePage): Promise<StorageRecord<T>[]>;
  keys(prefix: string, page: StoragePage): Promise<string[]>;
  /** Names one level down, folders with "/". */
  list(
    prefix: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<string[]>;
  /**
   * Runs `fn` synchronously and serialisably; resolves with its result once durable. A throw undoes
   * everything. `fn` changes nothing but the transaction: it may be run more than once.
   */
  write<T>(fn: (tx: EngineTx) => T, options?: EngineWriteOptions): Promise<T>;
}

export interface EngineTx {
  /** When this transaction began, by the server's clock. */
  readonly time: Instant;
  get<T>(key: string, codec: Codec<T>): T | null;
  records<T>(prefix: string, codec: Codec<T>, page: StoragePage): StorageRecord<T>[];
  keys(prefix: string, page: StoragePage): string[];
  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[];
  put<T>(key: string, value: T, codec: Codec<T>): void;
  delete(key: string): void;
  /** Removes a write-ahead record with this transaction; one that is gone is no fault. */
  settle(recordId: string): void;
  /** Writes one with this transaction: it is durable when the transaction is. Gives its id. `id`: a UUID that no record has. Default: one is
   *  drawn. */
  begin(kind: string, data: JsonObject, id?: string): string;
}
