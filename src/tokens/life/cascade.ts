// Tokens made by a token end with it. When one ends, a mark is written with it; its
// children, and theirs, then go a few at a time, also after a restart. Where no time may pass, settled()
// waits for that. A token that is let go keeps nothing of its parent.
//
// Where another cluster writes shared rows, global children are left to it: the mark stays while there are any, in
// case that this cluster takes over before they have gone, and is passed over.

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
const LOOKED_AT = 64; // keys alone

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
  #left = false; // marks stay for others
  #unwatch: (() => void)[] = [];

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
    const { local } = this.#parts.rows;
    this.#unwatch = [
      local.watch(keys.DESCENTS, () => this.#job.wake()),
      local.watch(keys.CHILDREN, () => this.#left && this.#job.wake()), // the last may have gone
    ];
    this.#job.open();
  }

  async close(): Promise<void> {
    this.#open = false;
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
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

  /** When the children of whatever has ended so far are gone, but for those that another cluster ends. Rejects
   *  when that does not work now; it is tried again all the same. */
  async settled(): Promise<void> {
    do {
      await this.#job.now(); // also a run that has done everything and is about to end
    } while (this.#open && this.#hasWork());
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
    const isLeft = place.global && rows.shared.writtenElsewhere; // its record is another cluster's
    const child = isLeft ? null : readable(place, tx);
    const terms = child?.terms;
    if (child !== null && terms !== undefined && terms.parent !== null) {
      rows.replace(tx, child, { ...child, terms: { ...terms, parent: null } });
    }
    tx.on(rows.local).delete(key); // also of one that cannot be read
  }

  #next(after?: string): string | undefined {
    return this.#parts.rows.local.keys(keys.DESCENTS, { limit: 1, ...from(after) })[0];
  }

  #hasWork(): boolean {
    if (!this.#parts.rows.shared.writtenElsewhere) return this.#next() !== undefined;
    for (let mark = this.#next(); mark !== undefined; mark = this.#next(mark)) {
      if (!this.#isLeft(keys.descentParent(mark))) return true;
    }
    return false;
  }

  /** Whether there are children, and all of them are for another cluster to end. */
  #isLeft(parent: keys.RecordPlace): boolean {
    const { local } = this.#parts.rows;
    for (let after: string | undefined; ;) {
      const page = local.keys(keys.childrenOf(parent), { limit: LOOKED_AT, ...from(after) });
      if (page.length === 0) return after !== undefined;
      if (page.some((key) => !keys.childPlace(parent, key).global)) return false;
      after = page.at(-1);
    }
  }

  /** Marks that are written meanwhile wake it again. */
  async #run(isOpen: () => boolean): Promise<void> {
    const { rows } = this.#parts;
    this.#left = rows.shared.writtenElsewhere;
    let mark = this.#next();
    while (isOpen() && mark !== undefined) {
      const isPassed = rows.shared.writtenElsewhere;
      if (!isPassed || !this.#isLeft(keys.descentParent(mark))) await this.#descend(mark, isOpen);
      mark = this.#next(isPassed ? mark : undefined);
    }
    this.#left &&= this.#next() !== undefined;
  }

  async #descend(mark: string, isOpen: () => boolean): Promise<void> {
    const { rows, timers } = this.#parts;
    let after: string | undefined;
    do {
      const start = after;
      after = await rows.shared.write((tx) => this.#step(tx, mark, start), { essential: true });
      await timers.turn();
    } while (isOpen() && after !== undefined);
  }

  /** The key to go on after, while there may be more. Each child that goes leaves a mark of its own if it has
   *  children. */
  #step(tx: Tx, mark: string, after: string | undefined): string | undefined {
    const { rows, readable, remove } = this.#parts;
    const local = tx.on(rows.local);
    const parent = keys.descentParent(mark);
    const folder = keys.childrenOf(parent);
    const page = local.keys(folder, { limit: BATCH, ...from(after) });
    for (const key of page) {
      const place = keys.childPlace(parent, key);
      if (place.global && rows.shared.writtenElsewhere) continue;
      const token = readable(place, tx);
      if (token !== null) remove(tx, token);
      local.delete(key);
    }
    if (page.length === BATCH) return page.at(-1);
    if (local.keys(folder, { limit: 1 }).length === 0) local.delete(mark);
    return undefined;
  }
}

function from(after: string | undefined): { readonly after?: string } {
  return after === undefined ? {} : { after };
}
