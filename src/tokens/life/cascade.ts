// Tokens made by a token end with it. When one ends, a mark is written with it; its
// children, and theirs, then go a few at a time, also after a restart. Where no time may pass, settled()
// waits for that. A token that is let go keeps nothing of its parent.

import { EMPTY } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import { Recurring } from "../../base/recurring.ts";
import type { Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { EndedToken, TokenEnding } from "./expiry.ts";
import type { Token } from "../token.ts";
import * as keys from "../rows/token-keys.ts";
import type { TokenPlace, TokenRows } from "../rows/token-rows.ts";

const BATCH = 16; // see expiry.ts

export interface CascadeParts {
  readonly rows: TokenRows;
  /** What else hangs on a token. */
  readonly ending: TokenEnding;
  /** Null for one that is not there or cannot be used. */
  readonly readable: (place: TokenPlace, tx: Tx) => Token | null;
  /** A token with all that hangs on it. */
  readonly remove: (tx: Tx, token: Token) => void;
  readonly timers: Timers;
  readonly log: Log;
}

export class Cascade implements TokenEnding {
  readonly #parts: CascadeParts;
  readonly #job: Recurring;
  #open = false;
  #unwatch = () => {};

  constructor(parts: CascadeParts) {
    this.#parts = parts;
    this.#job = new Recurring({
      trouble: "could not end the children of tokens",
      run: (isOpen) => this.#run(isOpen),
      timers: parts.timers,
      log: parts.log,
    });
  }

  open(): void {
    this.#open = true;
    this.#unwatch = this.#parts.rows.local.watch(keys.DESCENTS, () => this.#job.wake());
    this.#job.open();
  }

  async close(): Promise<void> {
    this.#open = false;
    this.#unwatch();
    await this.#job.close();
  }

  ends(tx: Tx, token: EndedToken): void {
    this.#parts.ending.ends(tx, token);
    const local = tx.on(this.#parts.rows.local);
    if (local.keys(keys.childrenOf(token), { limit: 1 }).length === 0) return;
    local.put(keys.descentKey(token), EMPTY, bytesCodec);
  }

  hasChildren(place: Omit<TokenPlace, "global">): boolean {
    return this.#parts.rows.local.keys(keys.childrenOf(place), { limit: 1 }).length > 0;
  }

  /** When the children of whatever has ended so far are gone. Rejects when that does not work now; it
   *  is tried again all the same. */
  async settled(): Promise<void> {
    while (this.#open && this.#next() !== undefined) await this.#job.now();
  }

  /** Deletes a token and leaves its children to themselves. */
  async deleteAlone(place: TokenPlace): Promise<void> {
    const { rows, readable, remove } = this.#parts;
    const release = (tx: Tx): boolean => {
      const local = tx.on(rows.local);
      const children = local.keys(keys.childrenOf(place), { limit: BATCH + 1 });
      for (const key of children.slice(0, BATCH)) this.#letGo(tx, keys.childPlace(place, key), key);
      if (children.length > BATCH) return false;
      const token = readable(place, tx);
      if (token !== null) remove(tx, token);
      return true;
    };
    while (!(await rows.shared.write(release, { essential: true })));
  }

  /** Its record says so too, since rows follow from records. */
  #letGo(tx: Tx, place: TokenPlace, key: string): void {
    const { rows, readable } = this.#parts;
    const child = readable(place, tx);
    const terms = child?.terms;
    if (child !== null && terms !== undefined && terms.parent !== null) {
      rows.replace(tx, child, { ...child, terms: { ...terms, parent: null } });
    }
    tx.on(rows.local).delete(key); // also of one that cannot be read
  }

  #next(): string | undefined {
    return this.#parts.rows.local.keys(keys.DESCENTS, { limit: 1 })[0];
  }

  async #run(isOpen: () => boolean): Promise<void> {
    const { rows, timers } = this.#parts;
    for (let key = this.#next(); isOpen() && key !== undefined; key = this.#next()) {
      const mark = key;
      await rows.shared.write((tx) => this.#step(tx, mark), { essential: true });
      await timers.turn();
    }
  }

  /** Each child that goes leaves a mark of its own if it has children. */
  #step(tx: Tx, mark: string): void {
    const { rows, readable, remove } = this.#parts;
    const local = tx.on(rows.local);
    const parent = keys.descentParent(mark);
    const children = local.keys(keys.childrenOf(parent), { limit: BATCH });
    for (const key of children) {
      const token = readable(keys.childPlace(parent, key), tx);
      if (token !== null) remove(tx, token);
      local.delete(key);
    }
    if (children.length < BATCH) local.delete(mark);
  }
}
