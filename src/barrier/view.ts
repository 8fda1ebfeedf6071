// What a room sees of storage: records below its own prefix, decoded, with the barrier in between.
// `view.write(tx => …)` is the only way anything is ever written.

import type { Codec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import { classOf, type Page } from "../storage/key.ts";
import { scopeOfKey } from "./scope.ts";
import type { Store, WriteOptions } from "../storage/store.ts";
import type { StoreTx } from "../storage/transaction.ts";
import type { Change } from "../storage/watch.ts";

export type { Page } from "../storage/key.ts";
export type { Change } from "../storage/watch.ts";

export interface StoredRecord<T> {
  readonly key: string; // below the view's prefix
  readonly value: T;
}

/** Keys and prefixes are relative to the view. */
export interface ViewReads {
  get<T>(key: string, codec: Codec<T>): T | null;
  records<T>(prefix: string, codec: Codec<T>, page: Page): StoredRecord<T>[];
  keys(prefix: string, page: Page): string[];
  /** Names one level down, folders with "/". */
  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[];
}

export interface Tx extends ViewReads {
  /** The index this transaction will have; CreateIndex and ModifyIndex of what it writes. */
  readonly index: bigint;
  readonly time: Instant;
  put<T>(key: string, value: T, codec: Codec<T>): void;
  /** Like put, for what cannot be there yet: see StoreTx.add. */
  add<T>(key: string, value: T, codec: Codec<T>): void;
  delete(key: string): void;
  /** Like delete, for what somebody may have put below core/ on the disk, under whatever name. */
  discard(key: string): void;
  /** The same transaction, seen from another view. */
  on(view: View): Tx;
}

/** How values get through the barrier; implemented by Barrier, which owns the keys. */
export interface Sealer {
  seal(path: string, plaintext: Uint8Array): Uint8Array;
  open(path: string, sealed: Uint8Array): Uint8Array;
  /** A durable entry through the cache of decrypted ones; the bytes belong to the caller. */
  read(path: string): Uint8Array | null;
  /** What such an entry says: the same value each time, for as long as the cache has it; undefined where it does not. */
  kept<T>(path: string, codec: Codec<T>): T | undefined;
  /** Whether the key is here that it says it is sealed under. */
  hasKeyOf(sealed: Uint8Array): boolean;
  /** Whether the cache has an entry that a commit should bring up to date. */
  holds(path: string): boolean;
  assertUnsealed(): void;
}

export class View implements ViewReads {
  readonly prefix: string;
  /** Of everything written here; null: as the keys say. */
  readonly scope: Uint8Array | null;
  readonly #store: Store;
  readonly #sealer: Sealer;

  constructor(store: Store, sealer: Sealer, prefix: string, scope: Uint8Array | null) {
    invariant(prefix.endsWith("/"), "the prefix of a view ends with a slash");
    this.#store = store;
    this.#sealer = sealer;
    this.prefix = prefix;
    this.scope = scope;
  }

  /** A view of what lies below; `scope` is that of a mount. */
  sub(prefix: string, scope: Uint8Array | null = this.scope): View {
    return new View(this.#store, this.#sealer, this.prefix + prefix, scope);
  }

  /** The same, for records whose keys do not say where they belong. */
  in(scope: Uint8Array): View {
    return this.sub("", scope);
  }

  /** Whether the key is here that it says it is sealed under; true for what says nothing. */
  hasKeyOf(sealed: Uint8Array): boolean {
    return this.#sealer.hasKeyOf(sealed);
  }

  /** The last durable index: what the reads of this turn are as of. */
  get index(): bigint {
    return this.#store.index;
  }

  /** Whether another cluster writes what lies here, and nobody else does. */
  get writtenElsewhere(): boolean {
    return this.#store.leavesShared && classOf(this.prefix) === "shared";
  }

  get<T>(key: string, codec: Codec<T>): T | null {
    const plaintext = this.#sealer.read(this.prefix + key);
    return plaintext === null ? null : codec.decode(plaintext);
  }

  /** The same, for what is looked at with every request: decoded once, and the same value is given until something else is stored. Nobody changes it, and
   *  no secret is in it. */
  getKept<T>(key: string, codec: Codec<T>): T | null {
    this.#sealer.assertUnsealed(); // what is kept goes after the keys
    return this.#sealer.kept(this.prefix + key, codec) ?? this.get(key, codec);
  }

  records<T>(prefix: string, codec: Codec<T>, page: Page): StoredRecord<T>[] {
    this.#sealer.assertUnsealed();
    const rows = this.#store.rows(this.prefix + prefix, absolute(this.prefix, page));
    return rows.map(({ key, value }) => this.#record(key, value, codec));
  }

  keys(prefix: string, page: Page): string[] {
    this.#sealer.assertUnsealed();
    const keys = this.#store.keys(this.prefix + prefix, absolute(this.prefix, page));
    return keys.map((key) => key.slice(this.prefix.length));
  }

  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[] {
    this.#sealer.assertUnsealed();
    return this.#store.list(this.prefix + prefix, page);
  }

  /**
   * Runs `fn` synchronously and serialisably; resolves with its result once durable. A throw inside
   * undoes everything. See Store.write.
   */
  async write<T>(fn: (tx: Tx) => T, options?: WriteOptions): Promise<T> {
    this.#sealer.assertUnsealed();
    return this.#store.write((raw) => fn(this.within(raw)), options);
  }

  /** Calls after each commit that changes `place` (a key, or a folder ending in "/"; "" for all). */
  watch(place: string, call: (change: Change) => void): () => void {
    const cut = (key: string) => key.slice(this.prefix.length);
    return this.#store.watch(this.prefix + place, ({ index, keys }) =>
      call({ index, keys: keys.map(cut) }),
    );
  }

  /** Calls with the keys of this view that somebody else has changed, before watchers are woken. */
  onForeign(call: (keys: readonly string[]) => void): () => void {
    const { prefix } = this;
    return this.#store.onForeign((keys) => {
      const own = keys.filter((key) => key.startsWith(prefix));
      if (own.length > 0) call(own.map((key) => key.slice(prefix.length)));
    });
  }

  onIndex(index: bigint, call: () => void): () => void {
    return this.#store.onIndex(index, call);
  }

  /** This view inside a transaction that is already running. */
  within(raw: StoreTx): Tx {
    this.#sealer.assertUnsealed();
    return new ViewTx(raw, this, this.#sealer);
  }

  #record<T>(path: string, sealed: Uint8Array, codec: Codec<T>): StoredRecord<T> {
    const value = codec.decode(this.#sealer.open(path, sealed));
    return { key: path.slice(this.prefix.length), value };
  }
}

/** A view inside a transaction. One is made for every look from another view: it must be cheap. */
class ViewTx implements Tx {
  readonly index: bigint;
  readonly time: Instant;
  readonly #raw: StoreTx;
  readonly #view: View;
  readonly #sealer: Sealer;

  constructor(raw: StoreTx, view: View, sealer: Sealer) {
    this.index = raw.index;
    this.time = raw.time;
    this.#raw = raw;
    this.#view = view;
    this.#sealer = sealer;
  }

  get<T>(key: string, codec: Codec<T>): T | null {
    const path = this.#view.prefix + key;
    // Mostly nobody is changing it, and then the cache of decrypted entries knows it.
    if (this.#raw.isDurable(path)) {
      const plaintext = this.#sealer.read(path);
      return plaintext === null ? null : codec.decode(plaintext);
    }
    const sealed = this.#raw.get(path);
    return sealed === null ? null : codec.decode(this.#sealer.open(path, sealed));
  }

  records<T>(below: string, codec: Codec<T>, page: Page): StoredRecord<T>[] {
    const { prefix } = this.#view;
    return this.#raw.rows(prefix + below, absolute(prefix, page)).map(({ key, value }) => ({
      key: key.slice(prefix.length),
      value: codec.decode(this.#sealer.open(key, value)),
    }));
  }

  keys(below: string, page: Page): string[] {
    const { prefix } = this.#view;
    const keys = this.#raw.keys(prefix + below, absolute(prefix, page));
    return keys.map((key) => key.slice(prefix.length));
  }

  list(below: string, page: { readonly after?: string; readonly limit: number }): string[] {
    return this.#raw.list(this.#view.prefix + below, page);
  }

  put<T>(key: string, value: T, codec: Codec<T>): void {
    const path = this.#view.prefix + key;
    const plain = codec.encode(value);
    const sealed = this.#sealer.seal(path, plain);
    // A copy: whoever wrote a key wipes it before it is durable.
    const kept = this.#sealer.holds(path) ? new Uint8Array(plain) : undefined;
    this.#raw.put(path, sealed, this.#scopeOf(path), kept);
  }

  add<T>(key: string, value: T, codec: Codec<T>): void {
    const path = this.#view.prefix + key;
    this.#raw.add(path, this.#sealer.seal(path, codec.encode(value)), this.#scopeOf(path));
  }

  delete(key: string): void {
    const path = this.#view.prefix + key;
    this.#raw.delete(path, this.#scopeOf(path));
  }

  discard(key: string): void {
    this.#raw.discard(this.#view.prefix + key);
  }

  on(view: View): Tx {
    return view.within(this.#raw);
  }

  #scopeOf(path: string): Uint8Array {
    return this.#view.scope ?? scopeOfKey(path);
  }
}

function absolute(prefix: string, page: Page): Page {
  return page.after === undefined ? page : { ...page, after: prefix + page.after };
}
