// What exists outside, on its way to data of other keys: leases and write-ahead records that the archive does not know.
// They hold what engines keep of a provider, so they lie beside the new data sealed under a key that is in memory of
// this process alone, until somebody unseals. Without that process nobody opens them: then they are counted.

import type { KeyObject } from "node:crypto";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import type { Tx, View } from "../../barrier/view.ts";
import { freshKey, sealEntry } from "../../crypto/aead.ts";
import { leftWarning, noteLeft } from "./left-outside.ts";
import type { RestoreBook } from "./restore-book.ts";

/** Below core/snapshots/. */
export const CARRIED = "carried/";
/** In clear: how many were left behind. There from the exchange until everything was taken in. */
const ABOUT = "about";
const ROWS = "rows/";
const TERM = 1;
const NONCE_BYTES = 12;
const REMOVED_AT_ONCE = 100;
const ESSENTIAL = { essential: true }; // a full disk keeps nobody from unsealing

/** The key of what waits for somebody to unseal. It outlives the house that made it. */
export class HeldRowsKey {
  #key: KeyObject | null = null;

  get key(): KeyObject | null {
    return this.#key;
  }

  hold(key: KeyObject): void {
    this.#key = key;
  }

  drop(): void {
    this.#key = null;
  }
}

/** A row below local/ that the other data does not know; null where nobody there could end what it stands for. */
export interface OutsideRow {
  readonly key: string;
  readonly value: Uint8Array | null;
}

export interface CarriedOutside {
  /** Taken over into the data there is now; `taken` belongs into the transaction that does it. */
  readonly adopt: (
    from: View,
    taken: (tx: Tx, key: string) => void,
  ) => Promise<{ readonly adopted: number }>;
  /** Leases that had ended and are in the data there is now. */
  readonly hastenEnded: () => Promise<void>;
}

export interface CarriedRowsOptions extends CarriedOutside {
  readonly barrier: Barrier;
  /** core/snapshots/ */
  readonly view: View;
  readonly held: HeldRowsKey;
  readonly book: RestoreBook;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

interface About {
  readonly left: number;
}

const about = jsonCodec<About>();

export class CarriedRows {
  readonly #options: CarriedRowsOptions;
  /** In clear or sealed by others: to be counted and removed. */
  readonly #foreign: View;

  constructor(options: CarriedRowsOptions) {
    this.#options = options;
    this.#foreign = options.barrier.clearView(options.view.prefix + CARRIED);
  }

  /** Everything that goes along, as it is to be stored. The house rests: nothing changes any more. */
  async *rows(
    unknown: Iterable<readonly OutsideRow[]>,
  ): AsyncGenerator<{ readonly key: string; readonly value: Uint8Array }> {
    const { held, book, timers, random, log } = this.#options;
    const { prefix } = this.#foreign;
    const key = freshKey(random);
    let [waiting, left] = [0, 0];
    for (const page of unknown) {
      for (const { key: name, value } of page) {
        if (value === null) {
          left++;
          continue;
        }
        const path = prefix + ROWS + name;
        waiting++;
        yield { key: path, value: sealEntry(key, TERM, path, value, random.bytes(NONCE_BYTES)) };
      }
      await timers.turn();
    }
    yield { key: prefix + ABOUT, value: about.encode({ left }) };
    held.hold(key);
    book.left(left);
    if (waiting === 0) return;
    const event = "restore.waiting";
    log.info("leases and write-ahead records are taken over when this process is unsealed", {
      event,
      waiting,
    });
  }

  /** What was carried here is taken over, and what could not be is counted. It can be stopped anywhere, and goes on the
   *  next time if the process is the same. */
  async takeIn(): Promise<void> {
    const { held, view } = this.#options;
    const isThere = this.#foreign.keys("", { limit: 1 }).length > 0;
    const found = isThere ? this.#about() : null;
    if (found !== null) {
      await this.#options.hastenEnded();
      const { adopted } = held.key === null ? { adopted: 0 } : await this.#adopt(held.key);
      const lost = await this.#count();
      const left = found.left + lost;
      const { clock } = this.#options;
      await view.write((tx) => {
        noteLeft(tx, left, clock.now());
        tx.on(this.#foreign).delete(ABOUT);
      }, ESSENTIAL);
      this.#tell({ adopted, left, lost });
    }
    if (isThere) await this.#remove();
    held.drop();
  }

  /** Null: what lies there was counted already. */
  #about(): About | null {
    const bytes = this.#foreign.get(ABOUT, bytesCodec);
    if (bytes === null) return null;
    try {
      const { left } = about.decode(bytes);
      return { left: Number.isSafeInteger(left) && left > 0 ? left : 0 };
    } catch {
      return { left: 0 }; // somebody has changed it: what is still there counts all the same
    }
  }

  async #adopt(key: KeyObject): Promise<{ readonly adopted: number }> {
    const { barrier, adopt } = this.#options;
    const from = barrier.viewUnder(key, this.#foreign.prefix + ROWS);
    return adopt(from, (tx, row) => tx.on(from).delete(row));
  }

  async #count(): Promise<number> {
    const { timers } = this.#options;
    let count = 0;
    for (let after: string | undefined; ;) {
      const page = { limit: REMOVED_AT_ONCE, ...(after === undefined ? {} : { after }) };
      const keys = this.#foreign.keys(ROWS, page);
      after = keys.at(-1);
      if (after === undefined) return count;
      count += keys.length;
      await timers.turn();
    }
  }

  async #remove(): Promise<void> {
    for (;;) {
      const keys = this.#foreign.keys("", { limit: REMOVED_AT_ONCE });
      if (keys.length === 0) return;
      await this.#foreign.write((tx) => keys.forEach((key) => tx.delete(key)), ESSENTIAL);
    }
  }

  #tell({ adopted, left, lost }: { adopted: number; left: number; lost: number }): void {
    const { book, log } = this.#options;
    book.tell({ adopted });
    book.left(left);
    const event = left === 0 ? "restore.adopted" : "restore.left";
    if (left > 0) log.error(leftWarning(left), { event, adopted, left, lost });
    else if (adopted > 0) log.info("what the snapshot did not know ends now", { event, adopted });
  }
}
