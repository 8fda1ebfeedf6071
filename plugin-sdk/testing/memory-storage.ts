// The storage of one mount in memory, with its write-ahead records: for tests of engines. Values are kept
// encoded, so that what a codec does not keep is lost here as well; transactions are all or nothing.

import { utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Clock, Instant, Random } from "@holdfast/shared/world";
import type { WriteAhead, WriteAheadRecord } from "../engine.ts";
import type { EngineStorage, EngineTx, StoragePage, StorageRecord } from "../storage.ts";

type Rows = Map<string, Uint8Array>;
type Records = Map<string, WriteAheadRecord>;
type NamesPage = { readonly after?: string; readonly limit: number };

export class MemoryStorage implements EngineStorage {
  readonly #world: { readonly clock: Clock; readonly random: Random };
  #rows: Rows = new Map();
  #records: Records = new Map();

  constructor(world: { readonly clock: Clock; readonly random: Random }) {
    this.#world = world;
  }

  async get<T>(key: string, codec: Codec<T>): Promise<T | null> {
    return read(this.#rows, key, codec);
  }

  async records<T>(
    prefix: string,
    codec: Codec<T>,
    page: StoragePage,
  ): Promise<StorageRecord<T>[]> {
    return recordsIn(this.#rows, prefix, codec, page);
  }

  async keys(prefix: string, page: StoragePage): Promise<string[]> {
    return keysIn(this.#rows, prefix, page);
  }

  async list(prefix: string, page: NamesPage): Promise<string[]> {
    return namesIn(this.#rows, prefix, page);
  }

  async write<T>(fn: (tx: EngineTx) => T): Promise<T> {
    const rows = new Map(this.#rows);
    const records = new Map(this.#records);
    const { clock } = this.#world;
    const result = fn(new MemoryTx(rows, records, clock.now(), this.#world));
    invariant(!(result instanceof Promise), "a transaction's function is synchronous");
    this.#rows = rows;
    this.#records = records;
    return result;
  }

  /** What an engine notes before it makes something outside. Orphans are records like the others. */
  get writeAhead(): WriteAhead {
    return {
      begin: (kind, data) => this.write((tx) => tx.begin(kind, data)),
      note: async (id, data) => {
        const found = this.#records.get(id);
        invariant(found !== undefined, "a record that is gone cannot be changed");
        this.#records.set(id, { ...found, data });
      },
      drop: (id) => this.write((tx) => tx.settle(id)),
      orphan: async (kind, data) => {
        const same = this.noted.find(
          (one) => one.kind === kind && JSON.stringify(one.data) === JSON.stringify(data),
        );
        return same?.id ?? this.write((tx) => tx.begin(kind, data));
      },
    };
  }

  /** The write-ahead records that there are, oldest first. */
  get noted(): readonly WriteAheadRecord[] {
    return [...this.#records.values()];
  }
}

class MemoryTx implements EngineTx {
  readonly time: Instant;
  readonly #rows: Rows;
  readonly #records: Records;
  readonly #random: Random;

  constructor(rows: Rows, records: Records, time: Instant, { random }: { random: Random }) {
    this.time = time;
    this.#rows = rows;
    this.#records = records;
    this.#random = random;
  }

  get<T>(key: string, codec: Codec<T>): T | null {
    return read(this.#rows, key, codec);
  }

  records<T>(prefix: string, codec: Codec<T>, page: StoragePage): StorageRecord<T>[] {
    return recordsIn(this.#rows, prefix, codec, page);
  }

  keys(prefix: string, page: StoragePage): string[] {
    return keysIn(this.#rows, prefix, page);
  }

  list(prefix: string, page: NamesPage): string[] {
    return namesIn(this.#rows, prefix, page);
  }

  put<T>(key: string, value: T, codec: Codec<T>): void {
    invariant(isCanonical(key), `a key is words with "/" between them: ${JSON.stringify(key)}`);
    this.#rows.set(key, new Uint8Array(codec.encode(value)));
  }

  delete(key: string): void {
    this.#rows.delete(key);
  }

  settle(recordId: string): void {
    this.#records.delete(recordId);
  }

  begin(kind: string, data: JsonObject, id: string = this.#random.uuid()): string {
    invariant(!this.#records.has(id), "no two records have one id");
    this.#records.set(id, { id, kind, data, created: this.time });
    return id;
  }
}

function read<T>(rows: Rows, key: string, codec: Codec<T>): T | null {
  const bytes = rows.get(key);
  return bytes === undefined ? null : codec.decode(new Uint8Array(bytes));
}

function recordsIn<T>(
  rows: Rows,
  prefix: string,
  codec: Codec<T>,
  page: StoragePage,
): StorageRecord<T>[] {
  return keysIn(rows, prefix, page).map((key) => {
    return { key, value: codec.decode(new Uint8Array(rows.get(key)!)) };
  });
}

/** In the order of their UTF-8 bytes, as every storage has them. */
function keysIn(rows: Rows, prefix: string, page: StoragePage): string[] {
  const { after, limit, reverse = false } = page;
  const sorted = [...rows.keys()].filter((key) => key.startsWith(prefix)).toSorted(inOrder);
  const keys = reverse ? sorted.toReversed() : sorted;
  const isBeyond = (key: string) =>
    after === undefined || (reverse ? inOrder(key, after) < 0 : inOrder(key, after) > 0);
  return keys.filter(isBeyond).slice(0, limit);
}

function namesIn(rows: Rows, prefix: string, { after, limit }: NamesPage): string[] {
  const names = keysIn(rows, prefix, { limit: Infinity }).map((key) => {
    const rest = key.slice(prefix.length);
    const slash = rest.indexOf("/");
    return slash < 0 ? rest : rest.slice(0, slash + 1);
  });
  const isBeyond = (name: string) => after === undefined || inOrder(name, after) > 0;
  return [...new Set(names)].filter(isBeyond).slice(0, limit);
}

function inOrder(a: string, b: string): number {
  return Buffer.compare(utf8(a), utf8(b));
}

function isCanonical(key: string): boolean {
  return key !== "" && key.split("/").every((segment) => segment !== "");
}
