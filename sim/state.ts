// What the store should hold, kept in the most naive way: a map, and a list of everything that was
// ever put into the log. No code of the store is used here.

import type { KeyObject } from "node:crypto";
import type { Instant } from "@holdfast/shared/world";
import type { Tail } from "../src/storage/rows/head.ts";
import type { ControlRecord } from "../src/storage/rows/log-entry.ts";

export class Violation extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Violation";
  }
}

export interface Change {
  readonly key: string;
  readonly value: Uint8Array | null; // as stored: sealed
  readonly scope: Uint8Array;
  readonly plain: string | null; // what a client put, if it was a client
}

/** One transaction that the store has accepted. */
export interface Entry {
  readonly position: number; // in the order of acceptance, over all crashes
  readonly changes: readonly Change[]; // one per key, in the order of the last change
  readonly control: ControlRecord | null;
  readonly time: Instant;
  readonly index: bigint | null; // null: it changes only rows that have no place in the log
  readonly tail: Tail | null; // the log was cut
  readonly rootKey: KeyObject | null; // the key that opens the keyring from here on
}

export interface StateRow {
  readonly value: Uint8Array;
  readonly scope: Uint8Array;
  readonly plain: string | null;
}

export class State {
  readonly rows: Map<string, StateRow>;
  /** Entries with an index, the first one at place 0; also those that the log no longer has. */
  readonly log: Entry[];
  tail: Tail | null;
  rootKey: KeyObject | null;

  constructor(from?: State) {
    this.rows = new Map(from?.rows);
    this.log = [...(from?.log ?? [])];
    this.tail = from?.tail ?? null;
    this.rootKey = from?.rootKey ?? null;
  }

  get index(): bigint {
    return BigInt(this.log.length);
  }

  get created(): boolean {
    return this.rootKey !== null;
  }

  plain(key: string): string | null {
    return this.rows.get(key)?.plain ?? null;
  }

  apply(entry: Entry): void {
    for (const { key, value, scope, plain } of entry.changes) {
      if (value === null) this.rows.delete(key);
      else this.rows.set(key, { value, scope, plain });
    }
    if (entry.index !== null) this.log.push(entry);
    if (entry.tail !== null) this.tail = entry.tail;
    if (entry.rootKey !== null) this.rootKey = entry.rootKey;
  }

  /** All keys that begin with the prefix, in the order of their UTF-8 bytes. */
  keysBelow(prefix: string): string[] {
    const found = [...this.rows.keys()].filter((key) => key.startsWith(prefix));
    return found.sort(inByteOrder);
  }
}

export function inByteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Whether a key belongs to no tree and no log entry. */
export function isIgnored(key: string): boolean {
  return key.startsWith("core/");
}

/** One page of keys below a prefix, as the store defines pages. */
export function pageOf(
  keys: readonly string[],
  page: { readonly after?: string; readonly limit: number; readonly reverse?: boolean },
): string[] {
  const { after, limit, reverse = false } = page;
  const ordered = reverse ? keys.toReversed() : keys;
  const beyond = (key: string) => {
    if (after === undefined) return true;
    const order = inByteOrder(key, after);
    return reverse ? order < 0 : order > 0;
  };
  return ordered.filter(beyond).slice(0, limit);
}

/** Names one level below a prefix, folders with a slash. */
export function namesOf(
  keys: readonly string[],
  prefix: string,
  page: { readonly after?: string; readonly limit: number },
): string[] {
  const names = new Set<string>();
  for (const key of keys) {
    const rest = key.slice(prefix.length);
    const slash = rest.indexOf("/");
    names.add(slash < 0 ? rest : rest.slice(0, slash + 1));
  }
  const { after, limit } = page;
  return [...names]
    .filter((name) => after === undefined || inByteOrder(name, after) > 0)
    .slice(0, limit);
}
