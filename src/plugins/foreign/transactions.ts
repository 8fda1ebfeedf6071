// Transactions of a plugin's storage, as one family of plugins asks for them by several calls: nothing is locked in between. What one
// has read is looked at again when it ends, and where it is not the same any more nothing is written. What it reads is of one
// moment throughout.

import { bytesCodec } from "@holdfast/shared/codec";
import { equalBytes } from "@holdfast/shared/bytes";
import { OwnError } from "@holdfast/shared/failure";
import { MINUTE } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import { seenRange, seenValue } from "@holdfast/plugin-sdk/wire/host-service";
import { escapeKey, escapeName } from "./key-escape.ts";
import { type Listed, listed, listedIn, type ListPage, type MountKeys } from "./mount-keys.ts";

/** Of one mount, at a time. */
const MAX_OPEN = 64;
/** Nobody asks it for anything any more. */
const IDLE: Nanos = 5n * MINUTE;
/** Of one: keys and lists that it reads, names in these, keys that it writes, bytes of both. Nobody else is served while it ends. */
const MAX_LOOKS = 1000;
const MAX_NAMES = 16_384;
const MAX_WRITES = 4096;
const MAX_BYTES = 60 * 1024 * 1024;
/** Looked at again, in a row: then others have their turn. */
const TURN_AFTER = 64;
/** To find what was read as it was, while others write. */
const MAX_TRIES = 3;

/** In words for the plugin. */
export class TransactionRefused extends OwnError {}

const gone = () =>
  new TransactionRefused(
    "there is no such transaction: it was committed, rolled back, or left alone for five minutes",
  );
const conflict = () =>
  new TransactionRefused("the transaction cannot be committed: what it has read was changed since");
const tooLarge = (what: string) => new TransactionRefused(`a transaction ${what}`);

interface ReadKey {
  readonly side: EngineStorage;
  readonly value: Uint8Array | null;
  readonly seen: Uint8Array;
}

interface ReadList {
  readonly side: EngineStorage;
  readonly prefix: string;
  readonly page: ListPage;
  readonly seen: Uint8Array;
}

interface Transaction {
  readonly isReadOnly: boolean;
  readonly reads: Map<string, ReadKey>;
  readonly lists: ReadList[];
  /** Null: deleted. */
  readonly written: Map<string, Uint8Array | null>;
  /** Where it writes. */
  side: EngineStorage | null;
  bytes: number;
  names: number;
  /** Of all keys, when what it has read was last the same. */
  state: number | null;
  used: Nanos;
  /** Its calls, one after the other. */
  last: Promise<unknown>;
}

export interface TransactionsParts {
  readonly keys: MountKeys;
  readonly clock: Pick<Clock, "elapsed">;
  readonly random: Pick<Random, "uuid">;
  readonly timers: Pick<Timers, "turn">;
}

export class PluginTransactions {
  readonly #parts: TransactionsParts;
  readonly #open = new Map<string, Transaction>();

  constructor(parts: TransactionsParts) {
    this.#parts = parts;
  }

  begin(isReadOnly: boolean): string {
    const { clock, random } = this.#parts;
    const now = clock.elapsed();
    for (const [id, { used }] of this.#open) if (now - used > IDLE) this.#open.delete(id);
    if (this.#open.size >= MAX_OPEN) {
      throw new TransactionRefused(`there are ${MAX_OPEN} transactions already`);
    }
    const id = random.uuid();
    this.#open.set(id, {
      isReadOnly,
      reads: new Map(),
      lists: [],
      written: new Map(),
      side: null,
      bytes: 0,
      names: 0,
      state: null,
      used: now,
      last: Promise.resolve(),
    });
    return id;
  }

  get(id: string, key: string): Promise<Uint8Array | null> {
    return this.#in(id, (tx) => this.#get(tx, key));
  }

  /** Null: it is deleted. */
  put(id: string, key: string, value: Uint8Array | null): Promise<void> {
    return this.#in(id, async (tx) => this.#put(tx, key, value));
  }

  list(id: string, prefix: string, page: ListPage): Promise<string[]> {
    return this.#in(id, async (tx) => (await this.#list(tx, prefix, page)).map(({ name }) => name));
  }

  async commit(id: string): Promise<void> {
    const tx = this.#end(id);
    await tx.last;
    const { side, written } = tx;
    if (side === null) return await this.#lookAgain(tx, () => true);
    await this.#lookAgainElsewhere(tx, side);
    const isDeletion = [...written.values()].every((value) => value === null);
    const run = (storage: EngineTx) => {
      if (!isAsRead(storage, tx, side)) throw conflict();
      for (const [key, value] of written) {
        if (value === null) storage.delete(escapeKey(key));
        else storage.put(escapeKey(key), value, bytesCodec);
      }
    };
    await this.#parts.keys.writeOn(side, run, isDeletion);
  }

  rollback(id: string): void {
    this.#end(id);
  }

  #end(id: string): Transaction {
    const tx = this.#found(id);
    this.#open.delete(id);
    return tx;
  }

  #found(id: string): Transaction {
    const tx = this.#open.get(id);
    if (tx === undefined) throw gone();
    return tx;
  }

  async #in<T>(id: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const tx = this.#found(id);
    tx.used = this.#parts.clock.elapsed();
    const mine = tx.last.then(() => work(tx));
    tx.last = mine.catch(() => {});
    return await mine;
  }

  async #get(tx: Transaction, key: string): Promise<Uint8Array | null> {
    const { keys } = this.#parts;
    const own = tx.written.get(key);
    if (own !== undefined) return own;
    const known = tx.reads.get(key);
    if (known !== undefined) return known.value;
    const value = await keys.get(key);
    take(tx, value?.length ?? 0);
    tx.reads.set(key, { side: keys.sideOf(key), value, seen: seenValue(value) });
    await this.#lookAgain(tx, () => true);
    return value;
  }

  #put(tx: Transaction, key: string, value: Uint8Array | null): void {
    if (tx.isReadOnly) throw new TransactionRefused("cannot write in a read-only transaction");
    const side = this.#parts.keys.sideOf(key);
    if (tx.side !== null && tx.side !== side) {
      throw tooLarge("writes keys of this cluster alone, or others, and not both");
    }
    if (tx.written.size >= MAX_WRITES && !tx.written.has(key)) {
      throw tooLarge(`writes at most ${MAX_WRITES} keys`);
    }
    take(tx, value?.length ?? 0, 0);
    tx.side = side;
    tx.written.set(key, value);
  }

  /** In the order of storage, as it is with what the transaction has written. */
  async #list(tx: Transaction, prefix: string, page: ListPage): Promise<Listed[]> {
    const below = [...tx.written].filter(([key]) => key.startsWith(prefix) && key !== prefix);
    const away = below.filter(([, value]) => value === null).length;
    const wanted = { after: page.after, limit: page.limit + away };
    const found = new Map<string, string>();
    for (const side of this.#parts.keys.sides) {
      for (const { stored, name } of await this.#listOn(tx, side, prefix, wanted)) {
        found.set(stored, name);
      }
    }
    await this.#lookAgain(tx, () => true);
    const begin = prefix.slice(prefix.lastIndexOf("/") + 1);
    const after = page.after === "" ? null : escapeName(`${begin}${page.after}`);
    for (const [key, value] of below) {
      const [name = ""] = /^[^/]*\/?/.exec(key.slice(prefix.length)) ?? [];
      const stored = escapeName(`${begin}${name}`);
      if (after !== null && inOrder(stored, after) <= 0) continue;
      const isThere =
        value !== null || (name.endsWith("/") && (await this.#any(tx, prefix + name)));
      if (isThere) found.set(stored, name);
      else found.delete(stored);
    }
    return [...found]
      .map(([stored, name]) => ({ stored, name }))
      .toSorted((a, b) => inOrder(a.stored, b.stored))
      .slice(0, page.limit);
  }

  /** Whether a key is left below a folder. */
  async #any(tx: Transaction, folder: string): Promise<boolean> {
    return (await this.#list(tx, folder, { after: "", limit: 1 })).length > 0;
  }

  async #listOn(
    tx: Transaction,
    side: EngineStorage,
    prefix: string,
    { after, limit }: ListPage,
  ): Promise<Listed[]> {
    // One more shows that there are too many.
    const page = { after, limit: Math.min(limit, MAX_NAMES - tx.names + 1) };
    const found = await listed(side, prefix, page);
    tx.names += found.length;
    if (tx.names > MAX_NAMES) throw tooLarge(`lists at most ${MAX_NAMES} names`);
    take(tx, 0);
    tx.lists.push({ side, prefix, page, seen: seenList(found) });
    return found;
  }

  /** What lies elsewhere than what it writes is looked at just before. */
  async #lookAgainElsewhere(tx: Transaction, side: EngineStorage): Promise<void> {
    tx.state = null;
    await this.#lookAgain(tx, (looked) => looked.side !== side);
  }

  /** Whether what it has read is still so, all of it at once; or some of it. */
  async #lookAgain(
    tx: Transaction,
    isMeant: (looked: { readonly side: EngineStorage }) => boolean,
  ): Promise<void> {
    const { keys, timers } = this.#parts;
    const reads = [...tx.reads].filter(([, read]) => isMeant(read));
    const lists = tx.lists.filter(isMeant);
    if (reads.length + lists.length === 0) return;
    // What was read alone is of one moment, whichever that is.
    if (tx.reads.size + tx.lists.length === 1 && tx.side === null) {
      tx.state = null;
      return;
    }
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const state = keys.state;
      if (state !== null && state === tx.state) return;
      let looked = 0;
      for (const [key, { seen }] of reads) {
        if (++looked % TURN_AFTER === 0) await timers.turn();
        if (!equalBytes(seenValue(await keys.get(key)), seen)) throw conflict();
      }
      for (const list of lists) {
        if (++looked % TURN_AFTER === 0) await timers.turn();
        const { side, prefix, page, seen } = list;
        if (!equalBytes(seenList(await listed(side, prefix, page)), seen)) throw conflict();
      }
      tx.state = state;
    }
    if (keys.state !== tx.state || tx.state === null) throw conflict();
  }
}

function isAsRead(storage: EngineTx, { reads, lists }: Transaction, side: EngineStorage): boolean {
  for (const [key, read] of reads) {
    if (read.side !== side) continue;
    if (!equalBytes(seenValue(storage.get(escapeKey(key), bytesCodec)), read.seen)) return false;
  }
  return lists.every(
    (list) =>
      list.side !== side ||
      equalBytes(seenList(listedIn(storage, list.prefix, list.page)), list.seen),
  );
}

function seenList(found: readonly Listed[]): Uint8Array {
  return seenRange(found.map(({ stored }) => stored));
}

function take(tx: Transaction, bytes: number, looks = 1): void {
  if (looks > 0 && tx.reads.size + tx.lists.length >= MAX_LOOKS) {
    throw tooLarge(`reads at most ${MAX_LOOKS} keys and lists`);
  }
  tx.bytes += bytes;
  if (tx.bytes > MAX_BYTES) throw tooLarge(`holds at most ${MAX_BYTES} bytes`);
}

function inOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
