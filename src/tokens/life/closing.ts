// Ends the tokens that came through a login: all of a mount that is closed, or those at or below a path of
// it. They are found by rows of their own, so that it costs what there is to end. A mount that is not active
// lets none of its tokens in (see lookup.ts); here they go for good, a few at a time, also after a crash,
// since the rows that lead to them go with them.

import type { Failure } from "@holdfast/shared/failure";
import type { Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { NamespaceRef, Origin } from "@holdfast/shared/endpoint/request";
import type { EndedToken } from "./expiry.ts";
import { prefixNotLogins, closingStopped } from "../failures.ts";
import type { Token } from "../token.ts";
import * as keys from "../rows/token-keys.ts";
import type { TokenPlace, TokenRows } from "../rows/token-rows.ts";

const BATCH = 16; // see expiry.ts
const LOOKED_AT = 64; // keys alone
const OWN = "auth/token";

/** A login: its mount, and the path below it; empty for all of the mount. */
export interface LoginPlace {
  readonly mount: string;
  readonly login: string;
}

/** What is known of mounts with logins. */
export interface LoginMounts {
  /** Whether one may come in by it: false for one that is being disabled or moved, or is gone. */
  isOpen(uuid: string): boolean;
  /** Those that a path leads to, into or above. */
  at(namespace: NamespaceRef, prefix: string): readonly LoginPlace[];
}

export interface EndOptions {
  readonly signal: AbortSignal;
  /** Called with each that has ended, and with what it made. Default: nobody needs to know. */
  readonly ended?: (token: EndedToken) => void;
}

export interface ClosingParts {
  readonly rows: TokenRows;
  readonly mounts: Pick<LoginMounts, "at">;
  /** Null for one that is not there or cannot be used. */
  readonly readable: (place: TokenPlace, tx: Tx) => Token | null;
  /** A token with all that hangs on it. */
  readonly remove: (tx: Tx, token: Token) => void;
  /** Waits for the end of what the removed ones made. */
  readonly settled: () => Promise<void>;
  readonly timers: Timers;
}

interface Watcher {
  readonly place: LoginPlace;
  readonly ended: (token: EndedToken) => void;
}

export class Closing {
  readonly #parts: ClosingParts;
  readonly #watchers = new Set<Watcher>();

  constructor(parts: ClosingParts) {
    this.#parts = parts;
  }

  /** A token is about to be removed, by whomever. */
  removing({ origin, namespaceId, accessor }: Token): void {
    for (const { place, ended } of this.#watchers) {
      if (origin !== undefined && isThrough(origin, place)) ended({ namespaceId, accessor });
    }
  }

  /** Whether there is a token of the mount. */
  has(tx: Tx, mount: string): boolean {
    const folder = keys.loginsBelow({ mount, login: "" });
    return tx.on(this.#parts.rows.local).keys(folder, { limit: 1 }).length > 0;
  }

  /** Of every login that the path of a mount, or one below or above it, stands for. */
  async endBelow(namespace: NamespaceRef, prefix: string, how: EndOptions): Promise<void> {
    const path = prefix.replace(/\/$/, "");
    if (path === OWN || path.startsWith(`${OWN}/`)) throw prefixNotLogins();
    for (const place of this.#parts.mounts.at(namespace, path)) await this.#end(place, how);
  }

  /** Of a mount that lets nobody in any more. What hangs on each is ended first, and waited for, so that a
   *  crash leaves the rows by which the rest is found. */
  async close(
    mount: string,
    endLeases: (token: EndedToken) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { rows, timers } = this.#parts;
    const folder = keys.loginsBelow({ mount, login: "" });
    for (let after: string | undefined; ;) {
      const page = rows.local.keys(folder, { limit: LOOKED_AT, ...from(after) });
      await Promise.all(page.map((key) => endLeases(keys.loginPlace(key))));
      after = page.at(-1);
      if (page.length < LOOKED_AT) break;
      await timers.turn();
      if (signal.aborted) throw stopped();
    }
    await this.#end({ mount, login: "" }, { signal });
  }

  async #end(place: LoginPlace, { signal, ended }: EndOptions): Promise<void> {
    const { rows, timers, settled } = this.#parts;
    const watcher = { place, ended: ended ?? (() => {}) };
    this.#watchers.add(watcher);
    try {
      let after: string | undefined;
      do {
        const start = after;
        const step = (tx: Tx) => this.#step(tx, place, start);
        after = await rows.shared.write(step, { essential: true });
        await timers.turn();
        if (signal.aborted) throw stopped();
      } while (after !== undefined);
      await settled();
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** The key to go on after, while there may be more. */
  #step(tx: Tx, place: LoginPlace, after: string | undefined): string | undefined {
    const { rows, readable, remove } = this.#parts;
    const local = tx.on(rows.local);
    const page = local.keys(keys.loginsBelow(place), { limit: BATCH, ...from(after) });
    for (const key of page) {
      const at = keys.loginPlace(key);
      if (at.global && rows.shared.writtenElsewhere) continue; // who writes them ends them
      const token = readable(at, tx);
      if (token === null) {
        rows.removeUnread(tx, at);
        local.delete(key);
      } else if (token.origin !== undefined && isThrough(token.origin, place)) remove(tx, token);
    }
    return page.length < BATCH ? undefined : page.at(-1);
  }
}

/** Names are looked up without regard to case, and so is what they are ended by. */
function isThrough(origin: Origin, { mount, login }: LoginPlace): boolean {
  if (origin.mount !== mount) return false;
  const [own, requested] = [origin.login.toLowerCase(), login.toLowerCase()];
  return requested === "" || own === requested || own.startsWith(`${requested}/`);
}

function from(after: string | undefined): { readonly after?: string } {
  return after === undefined ? {} : { after };
}

function stopped(): Failure {
  return closingStopped("the work was stopped");
}
