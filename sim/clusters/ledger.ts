// What really happened: every entry that any cluster has made durable, by its chain, and which of them clients were answered
// for. Two logs that part have one beginning here and two ends. No code of replication is used.

import { equalBytes, hex } from "@holdfast/shared/bytes";
import type { Tail } from "../../src/storage/rows/head.ts";
import { decodeEntry, followsFrom } from "../../src/storage/rows/log-entry.ts";
import type { Store } from "../../src/storage/store.ts";
import { Violation } from "../state.ts";

/** A place in a log: the chain says whose. */
export interface Spot {
  readonly index: bigint;
  readonly chain: string;
}

interface Change {
  readonly key: string;
  readonly value: Uint8Array | null;
  /** Of which entry it is, by its chain, where that is another one. */
  readonly of?: string;
}

interface Known extends Spot {
  readonly before: string;
  readonly time: bigint;
  readonly changes: readonly Change[];
}

/** How the log of one cluster is seen. */
export interface Seen {
  readonly name: string;
  /** Null before anything was seen. */
  spot: Spot | null;
  /** Whether a token has said that it may give up what it has. */
  mayGoBack: boolean;
  /** Logs that its primary has given up as a whole, by their first places: it leaves them for another one, and nobody tells it so. */
  readonly mayLeave: Set<string>;
  /** Up to which entry of its primary there may be rows here that are newer than the log; null where there are none. Who is promoted by
   *  force then begins with them. */
  newerTo: bigint | null;
  /** How many of those it began with when it led last. */
  newerRows: number;
}

export class Ledger {
  readonly #known = new Map<string, Known>();
  readonly #indexes = new Map<number, bigint>(); // of writes, by their numbers
  readonly #numbers = new Map<string, number>(); // of writes that were answered, by their chains
  /** Clients were answered for these. */
  readonly answered: (Spot & { readonly by: string; readonly log?: number })[] = [];

  get size(): number {
    return this.#known.size;
  }

  /** Looks at what has become durable since the last time. Throws where it is nothing that may be. */
  observe(seen: Seen, store: Store, leads: boolean): void {
    const { head, tail } = store;
    if (head === null || tail === null) return;
    const before = seen.spot;
    // Who takes over what is shared passes over indexes: no entry has them, and the log goes on behind the same place.
    const skips = before !== null && hex(tail.chainBefore) === before.chain;
    if (skips && hex(head.chain) === before.chain) return;
    const now: Spot = { index: head.index, chain: hex(head.chain) };
    if (before?.chain === now.chain && before.index === now.index) return;
    const from = before === null || before.index + 1n < tail.first ? tail.first : before.index + 1n;
    const isNext = before !== null && before.index < now.index && from === before.index + 1n;
    if (isNext || (skips && before.index < now.index)) this.#append(seen, store, before, leads);
    else if (before === null) this.#first(seen, store);
    const isKnown = this.#known.has(now.chain);
    if (!isKnown) throw new Violation(`${seen.name} has a head that nobody has written`);
    if (before !== null && !this.isBefore(before, now) && !this.mayPart(seen, before, now)) {
      throw new Violation(
        `${seen.name} gave up entries of its own without a token: ${before.index} to ${now.index}`,
      );
    }
    seen.spot = now;
  }

  /** Whether the log that ends at `end` has this entry. */
  isBefore(spot: Spot, end: Spot): boolean {
    return this.at(end, spot.index)?.chain === spot.chain;
  }

  /** Whether a log that was let go up to its tail has passed over indexes behind that one: nobody has written these, and with them it was
   *  given up as a whole. */
  passesOver(index: bigint, { first, chainBefore }: Tail): boolean {
    let next = first;
    let at = this.#known.get(hex(chainBefore));
    for (; at !== undefined && next > index + 1n; at = this.#known.get(at.before)) {
      if (at.index + 1n !== next) return true;
      next = at.index;
    }
    return false;
  }

  /** Whether a token has said that it may, or its primary has another log since: then it leaves its own, and goes back in neither. */
  mayPart({ mayGoBack, mayLeave }: Seen, from: Spot, to: Spot): boolean {
    if (mayGoBack || mayLeave.size === 0) return mayGoBack;
    const { root } = this.lineOf(from);
    return mayLeave.has(root) && this.lineOf(to).root !== root;
  }

  /** The place with that index in the log that ends there. */
  at(end: Spot, index: bigint): Spot | null {
    let place: Spot | undefined = end;
    while (place !== undefined && place.index > index) {
      place = this.#known.get(this.#known.get(place.chain)?.before ?? "");
    }
    return place?.index === index ? place : null;
  }

  /** The last place that two logs have in common. */
  fork(one: Spot, other: Spot): Spot | null {
    let [a, b]: (Spot | undefined)[] = [one, other];
    while (a !== undefined && b !== undefined && a.chain !== b.chain) {
      if (a.index >= b.index) a = this.#known.get(this.#known.get(a.chain)?.before ?? "");
      else b = this.#known.get(this.#known.get(b.chain)?.before ?? "");
    }
    return a ?? null;
  }

  /** Every place of the log that ends there, by chain, and the first of them: whose log it is. */
  lineOf(end: Spot): { readonly places: ReadonlySet<string>; readonly root: string } {
    const places = new Set<string>();
    let root = end.chain;
    for (let at = this.#known.get(end.chain); at !== undefined; at = this.#known.get(at.before)) {
      places.add(at.chain);
      root = at.chain;
    }
    return { places, root };
  }

  /** A write is going to have that index in the log of whoever takes it. */
  begun(number: number, index: bigint): void {
    this.#indexes.set(number, index);
  }

  /** It was answered, and is that entry. */
  ended(number: number, { chain }: Spot): void {
    this.#numbers.set(chain, number);
  }

  /** Whether a key has what the last entry of that log has made of it: the value of write `number`, or none. */
  isLast(number: number | null, key: string, end: Spot): boolean {
    let at = this.#known.get(end.chain);
    let last: Change | undefined;
    for (; at !== undefined; at = this.#known.get(at.before)) {
      last = at.changes.findLast((change) => change.key === key);
      if (last !== undefined) break;
    }
    if (last?.of !== undefined) at = this.#known.get(last.of);
    if (at === undefined || last === undefined || last.value === null) return number === null;
    if (number === null || this.#indexes.get(number) !== at.index) return false;
    return (this.#numbers.get(at.chain) ?? number) === number;
  }

  timeOf({ chain }: Spot): bigint {
    return this.#known.get(chain)?.time ?? 0n;
  }

  /** All rows after the entry, by their keys. */
  rowsAt(end: Spot): Map<string, Uint8Array> {
    const path: Known[] = [];
    for (let at = this.#known.get(end.chain); at !== undefined; at = this.#known.get(at.before)) {
      path.push(at);
    }
    const rows = new Map<string, Uint8Array>();
    for (const { changes } of path.toReversed()) {
      for (const { key, value } of changes) {
        if (value === null) rows.delete(key);
        else rows.set(key, value);
      }
    }
    return rows;
  }

  /** Of a log that was never seen: with everything that it has. */
  #first(seen: Seen, store: Store): void {
    const tail = store.tail!;
    const place = { index: tail.first - 1n, chain: hex(tail.chainBefore) };
    if (!this.#known.has(place.chain)) {
      // One that was restored begins with rows.
      const changes = place.index === 0n ? [] : leavingRows(store);
      this.#known.set(place.chain, { ...place, before: "", time: 0n, changes });
    }
    this.#append(seen, store, place, true);
  }

  #append(seen: Seen, store: Store, after: Spot, leads: boolean): void {
    const { name } = seen;
    let before = after;
    for (const { index, entry: bytes } of store.logs(after.index + 1n, Infinity)) {
      const entry = decodeEntry(bytes);
      const chain = hex(entry.chain);
      const isFirst = index === store.tail!.first && hex(store.tail!.chainBefore) === before.chain;
      if (index !== before.index + 1n && !isFirst)
        throw new Violation(`the log of ${name} has a hole`);
      const known = this.#known.get(chain);
      if (known === undefined) {
        if (!leads) throw new Violation(`${name} has an entry ${index} that nobody has written`);
        if (!followsFrom(entry, Buffer.from(before.chain, "hex"))) {
          throw new Violation(`the chain of ${name} is broken at ${index}`);
        }
        const own = entry.operations.map(({ key, value }) => ({
          key,
          value: value === null ? null : Uint8Array.from(value),
        }));
        const newer = this.#newerRows(seen, store, before);
        if (seen.newerTo !== null) seen.newerRows = newer.length;
        seen.newerTo = null;
        const changes = [...newer, ...own];
        this.#known.set(chain, { index, chain, before: before.chain, time: entry.time, changes });
      } else if (known.before !== before.chain) {
        throw new Violation(`the chain of ${name} is broken at ${index}`);
      }
      before = { index, chain };
    }
  }

  /** What the first entry of whoever was promoted by force comes on top of: rows of its primary that are newer than the last entry that
   *  came. Each is what an entry has made of it that went on from there, up to the last that was read. */
  #newerRows({ name, newerTo }: Seen, store: Store, before: Spot): Change[] {
    if (newerTo === null || newerTo <= before.index) return [];
    const theirs = [...this.#known.values()].filter(
      (one) => one.index > before.index && one.index <= newerTo && this.isBefore(before, one),
    );
    const madeBy = new Map<string, Change[]>();
    for (const { chain, changes } of theirs) {
      for (const { key, value, of = chain } of changes) {
        madeBy.set(key, [...(madeBy.get(key) ?? []), { key, value, of }]);
      }
    }
    const touched = new Set(
      [...store.logs(before.index + 1n, Infinity)].flatMap(({ entry }) =>
        decodeEntry(entry).operations.map(({ key }) => key),
      ),
    );
    const rows = this.rowsAt(before);
    const here = new Map(leavingRows(store).map(({ key, value }) => [key, value]));
    const found: Change[] = [];
    for (const key of new Set([...rows.keys(), ...here.keys()])) {
      const value = here.get(key) ?? null;
      if (touched.has(key) || isSame(value, rows.get(key) ?? null)) continue;
      const made = madeBy.get(key)?.findLast((one) => isSame(value, one.value));
      if (made === undefined) throw new Violation(`${name} begins with a wrong value of ${key}`);
      found.push({ ...made, value: value === null ? null : Uint8Array.from(value) });
    }
    return found;
  }
}

function isSame(one: Uint8Array | null, other: Uint8Array | null): boolean {
  return one === null || other === null ? one === other : equalBytes(one, other);
}

/** Of all classes that leave a cluster. */
function leavingRows(store: Store): { readonly key: string; readonly value: Uint8Array }[] {
  const all = { limit: Number.MAX_SAFE_INTEGER };
  return ["shared/", "local/"].flatMap((prefix) => store.rows(prefix, all));
}

/** Those rows, against what they should be. */
export function assertRows(name: string, store: Store, expected: Map<string, Uint8Array>): void {
  let count = 0;
  for (const { key, value } of leavingRows(store)) {
    count++;
    const right = expected.get(key);
    if (right === undefined || !equalBytes(right, value)) {
      throw new Violation(`${name} holds a wrong value of ${key}`);
    }
  }
  if (count !== expected.size) {
    throw new Violation(`${name} holds ${count} rows, and not ${expected.size}`);
  }
}
