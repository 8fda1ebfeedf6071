// Transactions of a plugin's engine: what it has read is compared, and what it writes is written, in one transaction of ours.
// Keys, sizes, ids and times are the plugin's choice, and each of them is looked at first; nobody else is served meanwhile, so that there
// is only so much of everything.

import { equalBytes, utf8 } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { readJson } from "@holdfast/shared/json/json-reader";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import {
  seenRange,
  seenValue,
  type Transacted,
  type WireTransaction,
} from "@holdfast/plugin-sdk/wire/host-service";
import { MANY_KEYS, PLUGIN_JSON } from "@holdfast/plugin-sdk/wire/limits";
import { isKey, isPrefix, isTooLong, MAX_KEY } from "./keys.ts";
import { notReady, readTooLarge, transactionRefused } from "./failures.ts";

/** That of one answer, with room around it. */
const MAX_READ = 60 * 1024 * 1024;
const PAGE = 256;
/** Reads and ranges of one, in all. */
const MAX_LOOKS = 1000;
/** Keys of all its ranges together, where it may write. */
const MAX_KEYS = 16_384;
/** What it writes, and write-ahead records that it begins and settles. */
const MAX_CHANGES = 4096;
/** Of what is only looked at: then others have their turn. */
const TURN_AFTER = 1024;
const MAX_AGE: Nanos = SECOND;
const MAX_KIND = 64;

export interface TransactionsParts {
  readonly needs: EngineNeeds;
  /** It is the one of its mount, and may write. */
  readonly isReady: () => boolean;
  /** Kinds of write-ahead records that it can undo. */
  readonly undoes: (kind: string) => boolean;
}

type Range = WireTransaction["ranges"][number];

interface Found {
  readonly reads: { readonly at: number; readonly value: Uint8Array | null }[];
  readonly ranges: {
    readonly at: number;
    readonly names: readonly string[];
    readonly values: readonly Uint8Array[];
  }[];
}

export class Transactions {
  readonly #parts: TransactionsParts;
  /** That a transaction has looked at. */
  #last: Instant = 0n;

  constructor(parts: TransactionsParts) {
    this.#parts = parts;
  }

  async run(sent: WireTransaction): Promise<Transacted> {
    check(sent, this.#parts);
    const { needs, isReady } = this.#parts;
    const storage = sent.local ? (needs.localStorage ?? needs.storage) : needs.storage;
    if (!sent.commit) {
      const found = await look(storage, sent, () => needs.timers.turn());
      return { failure: null, committed: false, time: needs.clock.now(), ...found };
    }
    if (!isReady()) throw notReady();
    const begins = sent.begins.map(({ id, kind, data }) => ({ id, kind, data: objectOf(data) }));
    const answer = await storage.write(
      (tx): Transacted => {
        const found = differing(tx, sent);
        const isSame = found.reads.length + found.ranges.length === 0;
        if (!isSame || !this.#isOfNow(sent.time, tx.time)) {
          return { failure: null, committed: false, time: tx.time, ...found };
        }
        for (const { key, value } of sent.puts) {
          if (value === null) tx.delete(key);
          else tx.put(key, value, bytesCodec);
        }
        for (const id of sent.settles) tx.settle(id);
        for (const { id, kind, data } of begins) tx.begin(kind, data, id);
        return { failure: null, committed: true, time: tx.time, reads: [], ranges: [] };
      },
      { deletion: sent.deletion },
    );
    if (answer.committed && sent.time !== null && sent.time > this.#last) this.#last = sent.time;
    return answer;
  }

  #isOfNow(looked: Instant | null, now: Instant): boolean {
    if (looked === null) return true;
    return looked <= now && now - looked <= MAX_AGE && looked >= this.#last;
  }
}

function check(sent: WireTransaction, { undoes }: TransactionsParts): void {
  if (sent.reads.length + sent.ranges.length > MAX_LOOKS) {
    throw transactionRefused(`it reads more than ${MAX_LOOKS} keys and ranges`);
  }
  if (sent.puts.length + sent.settles.length + sent.begins.length > MAX_CHANGES) {
    throw transactionRefused(`it writes more than ${MAX_CHANGES} keys and records`);
  }
  for (const { key } of sent.reads) checkKey(key);
  for (const { kind, prefix, after } of sent.ranges) {
    if (kind !== "keys" && kind !== "list" && kind !== "records") {
      throw transactionRefused("a range is of keys, list or records");
    }
    checkText(prefix);
    if (after !== null) checkText(after);
  }
  const keys = new Set(sent.puts.map(({ key }) => key));
  if (keys.size < sent.puts.length) throw transactionRefused("a key is written twice");
  for (const key of keys) checkKey(key);
  for (const id of sent.settles) checkId(id);
  for (const { id, kind } of sent.begins) {
    checkId(id);
    if (kind.length > MAX_KIND || !undoes(kind)) {
      throw transactionRefused("a write-ahead record is of a kind that the plugin cannot undo");
    }
  }
}

function checkKey(key: string): void {
  checkText(key);
  if (!isKey(key)) throw transactionRefused('a key is words with "/" between them');
}

function checkText(text: string): void {
  if (!isPrefix(text)) throw transactionRefused("a key has what no key may have");
  if (isTooLong(text)) throw transactionRefused(`a key has at most ${MAX_KEY} bytes`);
}

function checkId(id: string): void {
  if (!isUuid(id)) throw transactionRefused("a write-ahead record has a UUID");
}

function objectOf(text: string): JsonObject {
  const found = readJson(utf8(text), PLUGIN_JSON);
  if (!isObject(found)) throw transactionRefused("a write-ahead record holds an object");
  return found;
}

/** What is handed out at once has a bound, however many ranges there are, and so has what is looked at for it. */
class Room {
  readonly #maxKeys: number;
  #left = MAX_READ;
  #keys = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  /** One more shows that there are too many. */
  limit(wanted: number): number {
    return Math.min(wanted, this.#maxKeys - this.#keys + 1);
  }

  takeKeys(count: number): void {
    this.#keys += count;
    if (this.#keys <= this.#maxKeys) return;
    throw transactionRefused(`its ranges have more than ${this.#maxKeys} keys`);
  }

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw readTooLarge(MAX_READ);
  }
}

function differing(tx: EngineTx, { reads, ranges }: WireTransaction): Found {
  const found: Found = { reads: [], ranges: [] };
  const room = new Room(MAX_KEYS);
  reads.forEach(({ key, seen }, at) => {
    const value = tx.get(key, bytesCodec);
    if (isSame(seen, seenValue(value))) return;
    room.take(value?.length ?? 0);
    found.reads.push({ at, value });
  });
  ranges.forEach((range, at) => {
    const now = rangeIn(tx, range, room);
    if (!isSame(range.seen, seenRange(now.names, now.values))) found.ranges.push({ at, ...now });
  });
  return found;
}

function rangeIn(tx: EngineTx, range: Range, room: Room) {
  const { prefix } = range;
  const page = pageOf(range);
  if (range.kind !== "records") {
    const part = { ...page, limit: room.limit(page.limit) };
    const names = range.kind === "keys" ? tx.keys(prefix, part) : tx.list(prefix, part);
    room.takeKeys(names.length);
    for (const name of names) room.take(name.length);
    return { names, values: [] };
  }
  const names: string[] = [];
  const values: Uint8Array[] = [];
  for (let after = page.after; names.length < page.limit;) {
    const limit = Math.min(PAGE, page.limit - names.length);
    const part = tx.records(prefix, bytesCodec, { ...page, ...afterOf(after), limit });
    room.takeKeys(part.length);
    for (const { key, value } of part) {
      room.take(key.length + value.length);
      names.push(key);
      values.push(value);
    }
    after = part.at(-1)?.key;
    if (part.length < limit) break;
  }
  return { names, values };
}

/** The same outside of a transaction: what is durable, also where nobody here may write, and no faster than others are served. */
async function look(
  storage: EngineStorage,
  { reads, ranges }: WireTransaction,
  turn: () => Promise<void>,
): Promise<Found> {
  const found: Found = { reads: [], ranges: [] };
  const room = new Room(MANY_KEYS);
  const pace = new Pace(turn);
  for (const [at, { key }] of reads.entries()) {
    const value = await storage.get(key, bytesCodec);
    room.take(value?.length ?? 0);
    found.reads.push({ at, value });
    await pace.after(LOOK);
  }
  for (const [at, range] of ranges.entries()) {
    found.ranges.push({ at, ...(await rangeOf(storage, range, { room, pace })) });
    await pace.after(LOOK);
  }
  return found;
}

async function rangeOf(
  storage: EngineStorage,
  range: Range,
  { room, pace }: { readonly room: Room; readonly pace: Pace },
) {
  const { prefix } = range;
  const page = pageOf(range);
  const isRecords = range.kind === "records";
  const names: string[] = [];
  const values: Uint8Array[] = [];
  for (let after = page.after; names.length < page.limit;) {
    const limit = Math.min(isRecords ? PAGE : TURN_AFTER, page.limit - names.length);
    const part = { ...page, ...afterOf(after), limit };
    let found: readonly string[];
    if (isRecords) {
      const records = await storage.records(prefix, bytesCodec, part);
      for (const { value } of records) room.take(value.length);
      values.push(...records.map(({ value }) => value));
      found = records.map(({ key }) => key);
    } else {
      found = await (range.kind === "keys"
        ? storage.keys(prefix, part)
        : storage.list(prefix, part));
    }
    room.takeKeys(found.length);
    for (const name of found) room.take(name.length);
    names.push(...found);
    after = found.at(-1);
    if (found.length < limit) break;
    await pace.after(found.length);
  }
  return { names, values };
}

/** What a read costs, in keys of a range. */
const LOOK = 16;

class Pace {
  readonly #turn: () => Promise<void>;
  #since = 0;

  constructor(turn: () => Promise<void>) {
    this.#turn = turn;
  }

  async after(keys: number): Promise<void> {
    this.#since += keys;
    if (this.#since < TURN_AFTER) return;
    this.#since = 0;
    await this.#turn();
  }
}

function pageOf({ after, limit, reverse, kind }: Range) {
  return {
    limit: Math.min(limit, MANY_KEYS),
    ...afterOf(after ?? undefined),
    ...(kind === "list" ? {} : { reverse }),
  };
}

function afterOf(after: string | undefined): { readonly after?: string } {
  return after === undefined ? {} : { after };
}

function isSame(seen: Uint8Array | null, now: Uint8Array): boolean {
  return seen !== null && equalBytes(seen, now);
}
