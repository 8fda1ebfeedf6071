// What a tail of the log that is given up has made outside: the rows that stand for it, kept until the primary of now has
// taken them over. They outlive a crash, and whatever this cluster follows or becomes meanwhile.

import { createHash } from "node:crypto";
import { text, utf8 } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { partsCodec } from "../parts-codec.ts";

const AT_ONCE = 64;
const MAX_COUNTED = 1_000_000;
const ESSENTIAL = { essential: true };
/** Of what goes to the primary in one call; one row may go beyond the bytes. */
export const BATCH_ROWS = 256;
const BATCH_BYTES = 1 << 20;
/** Longer ones are nobody's: no engine keeps so much of a lease. */
const MAX_ROW = 1 << 20;

/** A row below local/, opened. */
export interface BroughtRow {
  readonly key: string;
  readonly value: Uint8Array;
}

export interface Adoption {
  readonly adopted: number;
  /** Those that were there already stay as they are. */
  readonly known: number;
  /** Nobody here can end what they stand for. */
  readonly left: number;
}

/** Rows that stand for something outside, in the words of the rooms that have them. Keys are below local/. */
export interface OutsideRows {
  readonly standsFor: (key: string) => boolean;
  /** The keys of all of them. */
  readonly all: () => Iterable<readonly string[]>;
  /** Takes over those that are not here, to be ended now. They may have come from anybody. */
  readonly adopt: (rows: readonly BroughtRow[]) => Promise<Adoption>;
}

export interface OrphansOptions {
  /** Of core/replication/dr/orphans/. */
  readonly view: View;
  /** Of everything below local/. */
  readonly local: View;
  readonly outside: OutsideRows;
  readonly timers: Timers;
  readonly log: Log;
}

export class Orphans {
  readonly #options: OrphansOptions;
  #waiting = 0;

  constructor(options: OrphansOptions) {
    this.#options = options;
  }

  load(): void {
    this.#waiting = this.#options.view.keys("", { limit: MAX_COUNTED }).length;
  }

  /** How many nobody has taken over yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Before any of these keys of the store changes. Kept again after a crash, what was kept first stays. */
  async keep(keys: readonly string[]): Promise<void> {
    const { local, outside } = this.#options;
    const own = keys
      .filter((key) => key.startsWith(local.prefix))
      .map((key) => key.slice(local.prefix.length))
      .filter((key) => outside.standsFor(key));
    await this.#keep(own);
  }

  /** Where nobody knows any more what the tail has changed: the primary has most of them. */
  async keepAll(): Promise<void> {
    for (const keys of this.#options.outside.all()) await this.#keep(keys);
  }

  /** The next to be handed over; empty where none is left. */
  batch(): BroughtRow[] {
    const { view } = this.#options;
    const rows: BroughtRow[] = [];
    let bytes = 0;
    for (const { value: parts } of view.records("", partsCodec, { limit: BATCH_ROWS })) {
      const [key, value] = parts;
      invariant(key !== undefined && value !== undefined, "a row has a key and a value");
      bytes += value.length;
      if (rows.length > 0 && bytes > BATCH_BYTES) break;
      rows.push({ key: text(key), value });
    }
    return rows;
  }

  /** Somebody else has them now, or has counted them. */
  async settle(rows: readonly BroughtRow[]): Promise<void> {
    const { view } = this.#options;
    await view.write((tx) => rows.forEach(({ key }) => tx.delete(nameOf(key))), ESSENTIAL);
    this.#waiting -= rows.length;
  }

  async #keep(keys: readonly string[]): Promise<void> {
    const { view, timers, log } = this.#options;
    let lost = 0;
    for (let at = 0; at < keys.length; at += AT_ONCE) {
      const some = keys.slice(at, at + AT_ONCE);
      const rows = some.flatMap((key) => {
        const value = this.#read(key);
        if (value === "unreadable") lost++;
        return value === null || value === "unreadable" ? [] : [{ key, value }];
      });
      this.#waiting += await view.write((tx) => {
        const fresh = rows.filter(({ key }) => tx.get(nameOf(key), bytesCodec) === null);
        for (const { key, value } of fresh) tx.put(nameOf(key), [utf8(key), value], partsCodec);
        return fresh.length;
      }, ESSENTIAL);
      await timers.turn();
    }
    if (lost === 0) return;
    const what = "leases or write-ahead records that are given up cannot be read: nobody ends them";
    log.error(what, { event: "replication.orphans", lost });
  }

  /** Null for one that the tail has removed. */
  #read(key: string): Uint8Array | "unreadable" | null {
    try {
      const value = this.#options.local.get(key, bytesCodec);
      return value !== null && value.length > MAX_ROW ? "unreadable" : value;
    } catch (error) {
      if (error instanceof Failure && error.kind === "damaged") return "unreadable";
      throw error;
    }
  }
}

/** Keys of rows may be too long to be put behind another prefix. */
function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
