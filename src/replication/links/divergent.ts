// Entries that only this cluster has written, after another one was promoted: kept when they are given up, for thirty days,
// to be listed and taken out. They are never merged. What they held lies there as it did in the log: sealed.

import { alloc, concat, equalBytes, hex } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { DAY } from "@holdfast/shared/text/duration";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import { scopeOfKey } from "../../barrier/scope.ts";
import type { Tx, View } from "../../barrier/view.ts";
import {
  chainEntry,
  decodeEntry,
  encodeEntry,
  type LogEntry,
  LOST_SCOPE,
  sharedPart,
} from "../../storage/rows/log-entry.ts";
import { sha256 } from "../../storage/rows/merkle.ts";
import type { Store, Surplus } from "../../storage/store.ts";
import type { PurgeSteps } from "../filters/withheld-here.ts";

const KEPT: Nanos = 30n * DAY;
const PART = 512 * 1024; // of an entry, which may have 64 MiB
const AT_ONCE = 16;
const PARTS_AT_ONCE = 256; // in a transaction, which has no more bytes than two parts
const MAX_PARTS = 1000; // of an entry
const MAX_TAILS = 1000;
const MAX_ROWS = 10_000n; // of a tail without entries
const NO_CHAIN = alloc(32); // such a row stands in none
const ABOUT = "about";

interface StoredTail {
  readonly fork: string;
  readonly head: string;
  readonly epoch: number;
  readonly since: string;
  /** Not there where every index between the two is one. */
  readonly count?: number;
}

export interface DivergentTail {
  readonly id: string;
  /** The last index in common, and the last of what was given up. */
  readonly fork: bigint;
  readonly head: bigint;
  readonly count: number;
  readonly epoch: number;
  readonly since: Instant;
}

/** What is shared of a log between two indexes, without the first. */
export interface SharedTail {
  readonly fork: bigint;
  readonly until: bigint;
  readonly epoch: number;
}

/** A tail of which rows are kept. */
export interface KeptTail {
  readonly id: string;
  readonly fork: bigint;
  readonly epoch: number;
}

export interface DivergentEntry {
  readonly index: bigint;
  readonly time: Instant;
  readonly keys: readonly { readonly key: string; readonly deleted: boolean }[];
}

const aboutCodec = jsonCodec<StoredTail>();

export class Divergent {
  readonly #view: View;
  readonly #clock: Pick<Clock, "now">;
  #turn: Promise<unknown> = Promise.resolve();
  /** Null where it has to be counted. */
  #count: number | null = null;

  /** Of the folder divergent/ of its kind. */
  constructor(view: View, clock: Pick<Clock, "now">) {
    this.#view = view;
    this.#clock = clock;
  }

  /** Everything above the fork. Kept again after a crash, it is the same. */
  keep(store: Pick<Store, "logs">, surplus: Surplus): Promise<void> {
    return this.#inTurn(() => this.#keep(store, surplus));
  }

  /** What is shared of the entries between. What is not stays, and no index is given up with it. Gives how many these are; those that were
   *  kept before a crash are the same. */
  async keepShared(store: Pick<Store, "logs">, tail: SharedTail): Promise<number> {
    const id = `shared-${tail.epoch}-${tail.fork}-${tail.until}`;
    await this.#inTurn(async () => {
      if (this.tails().some((one) => one.id === id)) return;
      const { count, last } = await this.#keepEntries(store, { ...tail, id }, sharedPart);
      if (count > 0) await this.#keepAbout(id, { ...tail, head: last, count });
    });
    return this.tails().find((one) => one.id === id)?.count ?? 0;
  }

  async #keep(store: Pick<Store, "logs">, { fork, before }: Surplus): Promise<void> {
    const { epoch, index: until } = before;
    const id = `${epoch}-${fork}-${until}`;
    await this.#keepEntries(store, { id, fork, until }, (entry) => entry);
    await this.#keepAbout(id, { fork, head: until, epoch });
  }

  async #keepAbout(
    id: string,
    {
      fork,
      head,
      epoch,
      count,
    }: Omit<DivergentTail, "id" | "since" | "count"> & { count?: number },
  ): Promise<void> {
    const about = {
      fork: String(fork),
      head: String(head),
      epoch,
      since: showTime(this.#clock.now()),
      ...(count === undefined ? {} : { count }),
    };
    await this.#write((tx) => tx.put(`${id}/${ABOUT}`, about, aboutCodec));
  }

  /** What is left of each by `cut`. */
  async #keepEntries(
    store: Pick<Store, "logs">,
    { id, fork, until }: { readonly id: string; readonly fork: bigint; readonly until: bigint },
    cut: (entry: Uint8Array) => Uint8Array | null,
  ): Promise<{ count: number; last: bigint }> {
    let [count, last] = [0, fork];
    let [waiting, bytes]: [EntryPart[], number] = [[], 0];
    const flush = async () => {
      const parts = waiting;
      [waiting, bytes] = [[], 0];
      if (parts.length === 0) return;
      await this.#write((tx) => {
        for (const part of parts) tx.put(part.key, part.bytes, bytesCodec);
      });
    };
    for (let next = fork + 1n; next <= until;) {
      const rows = store.logs(next, AT_ONCE).filter(({ index }) => index <= until);
      if (rows.length === 0) break;
      for (const { index, entry } of rows) {
        const kept = cut(entry);
        if (kept === null) continue;
        count++;
        last = index;
        for (const part of partsOf(kept, `${id}/${padded(index)}/`)) {
          waiting.push(part);
          bytes += part.bytes.length;
          if (bytes >= PART || waiting.length >= PARTS_AT_ONCE) await flush();
        }
      }
      next = rows.at(-1)!.index + 1n;
    }
    await flush();
    return { count, last };
  }

  /** One row of a tail of which no entries are kept, in the transaction that replaces it. Those beyond the bound go. */
  keepRow(
    other: Tx,
    { id, fork, epoch }: KeptTail,
    {
      key,
      value,
      scope,
    }: { readonly key: string; readonly value: Uint8Array; readonly scope: Uint8Array },
  ): void {
    const tx = other.on(this.#view);
    const since = showTime(this.#clock.now());
    const about = tx.get(`${id}/${ABOUT}`, aboutCodec) ?? {
      fork: String(fork),
      head: String(fork),
      epoch,
      since,
    };
    const index = BigInt(about.head) + 1n;
    this.#count = null;
    if (index - fork > MAX_ROWS) return;
    const valueDigest = sha256(value);
    const operations = [{ class: "shared", scope, key, value, valueDigest } as const];
    const draft = { epoch, index, time: tx.time, operations, control: null };
    const entry = encodeEntry(chainEntry(draft, NO_CHAIN));
    for (const part of partsOf(entry, `${id}/${padded(index)}/`)) {
      tx.put(part.key, part.bytes, bytesCodec);
    }
    const count = about.count === undefined ? {} : { count: about.count + 1 };
    tx.put(`${id}/${ABOUT}`, { ...about, head: String(index), ...count }, aboutCodec);
  }

  /** What of the tails is of these scopes goes: it is not to be here any more. */
  async purge(scopes: ReadonlySet<string>, steps: PurgeSteps): Promise<void> {
    await this.#inTurn(async () => {
      for (const id of this.#ids()) await this.#purge(id, scopes, steps);
    });
  }

  async #purge(id: string, scopes: ReadonlySet<string>, steps: PurgeSteps): Promise<void> {
    for (let after: string | undefined; ;) {
      const page = { limit: AT_ONCE, ...(after === undefined ? {} : { after }) };
      const names = this.#view.list(`${id}/`, page);
      after = names.at(-1);
      if (after === undefined) return;
      for (const name of names) {
        if (name !== ABOUT) await this.#purgeEntry(id, name, scopes, steps);
        await steps.pause();
      }
    }
  }

  /** The others of its operations stay. */
  async #purgeEntry(
    id: string,
    name: string,
    scopes: ReadonlySet<string>,
    { found }: PurgeSteps,
  ): Promise<void> {
    const folder = `${id}/${name}`;
    const entry = this.#entryIn(folder);
    const isOf = (scope: Uint8Array) => scopes.has(hex(scope)) || equalBytes(scope, LOST_SCOPE);
    const operations = entry.operations.filter(
      ({ key, scope }) => !isOf(scope) && !isOf(scopeOfKey(key)),
    );
    if (operations.length === entry.operations.length) return;
    await found();
    const left = operations.length === 0 ? null : chainEntry({ ...entry, operations }, NO_CHAIN);
    await this.#write((tx) => {
      for (const key of tx.keys(folder, { limit: MAX_PARTS })) tx.delete(key);
      if (left !== null) {
        for (const part of partsOf(encodeEntry(left), folder)) {
          tx.put(part.key, part.bytes, bytesCodec);
        }
        return;
      }
      const about = tx.get(`${id}/${ABOUT}`, aboutCodec);
      if (about === null) return; // what a crash has left
      const count = (about.count ?? Number(BigInt(about.head) - BigInt(about.fork))) - 1;
      if (count === 0) tx.delete(`${id}/${ABOUT}`);
      else tx.put(`${id}/${ABOUT}`, { ...about, count }, aboutCodec);
    });
  }

  #entryIn(folder: string): LogEntry {
    const parts = this.#view.records(folder, bytesCodec, { limit: MAX_PARTS });
    return decodeEntry(concat(...parts.map(({ value }) => value)));
  }

  /** Those are durable. */
  counted(): void {
    this.#count = null;
  }

  tails(): readonly DivergentTail[] {
    return this.#ids().flatMap((id) => {
      const about = this.#view.get(`${id}/${ABOUT}`, aboutCodec);
      if (about === null) return []; // it was not given up yet
      const { epoch } = about;
      const [fork, head] = [BigInt(about.fork), BigInt(about.head)];
      const since = parseTime(about.since) ?? 0n;
      return [{ id, fork, head, count: about.count ?? Number(head - fork), epoch, since }];
    });
  }

  /** How many entries lie there. Every status tells it, so it is kept. */
  get count(): number {
    this.#count ??= this.tails().reduce((sum, { count }) => sum + count, 0);
    return this.#count;
  }

  /** What each entry of a tail has changed, in order. */
  *entries(
    id: string,
    { after, max }: { readonly after: bigint; readonly max: number },
  ): Generator<DivergentEntry> {
    const page = { limit: max + 1, ...(after === 0n ? {} : { after: `${padded(after)}/` }) };
    const names = this.#view.list(`${id}/`, page).filter((name) => name !== ABOUT);
    for (const name of names.slice(0, max)) {
      const entry = this.#entryIn(`${id}/${name}`);
      const keys = entry.operations.map((operation) => ({
        key: operation.key,
        deleted: operation.value === null,
      }));
      yield { index: entry.index, time: entry.time, keys };
    }
  }

  /** Those that were given up long ago go, and what a crash has left of one: where it is to be given up after all, it is
   *  kept again first. */
  tidy(): Promise<void> {
    return this.#inTurn(async () => {
      const now = this.#clock.now();
      const kept = this.tails().filter(({ since }) => now - since <= KEPT);
      const ids = new Set(kept.map(({ id }) => id));
      for (const id of this.#ids()) if (!ids.has(id)) await this.#remove(id);
    });
  }

  #ids(): string[] {
    return this.#view.list("", { limit: MAX_TAILS }).map((name) => name.replace(/\/$/, ""));
  }

  /** Nothing is removed of what is being kept. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #remove(id: string): Promise<void> {
    for (;;) {
      const keys = this.#view.keys(`${id}/`, { limit: 256 });
      if (keys.length === 0) return;
      await this.#write((tx) => {
        for (const key of keys) tx.delete(key);
      });
    }
  }

  async #write(fn: Parameters<View["write"]>[0]): Promise<void> {
    try {
      await this.#view.write((tx) => void fn(tx), { essential: true });
    } finally {
      this.#count = null; // also where it failed: nobody knows what of it is there
    }
  }
}

interface EntryPart {
  readonly key: string;
  readonly bytes: Uint8Array;
}

function* partsOf(entry: Uint8Array, below: string): Generator<EntryPart> {
  for (let at = 0, part = 0; at < entry.length; at += PART, part++) {
    yield { key: below + String(part).padStart(4, "0"), bytes: entry.subarray(at, at + PART) };
  }
}

function padded(index: bigint): string {
  return String(index).padStart(20, "0");
}
