// Ends tokens whose time is over: what hangs on them goes, within a minute. They are
// refused at once without this, by the clock; after it they stay refused even if the clock is set
// back. The record stays until it is collected.

import { describe } from "../base/failure.ts";
import type { Log } from "../base/log.ts";
import type { Clock, Nanos, Timer, Timers } from "../base/world.ts";
import type { Tx } from "../barrier/view.ts";
import type { TokenRows } from "./token-rows.ts";

const PERIOD: Nanos = 30_000_000_000n;
// Engines differ in how much one commit may change; what hangs on a token is in it as well.
const BATCH = 16;

export interface EndedToken {
  readonly accessor: string;
  readonly namespaceId: string;
}

export interface TokenEnding {
  /** In the transaction that ends the token: its leases are marked for revocation, its private space
   *  goes. Called once for each token. */
  ends(tx: Tx, token: EndedToken): void;
}

export interface ExpiryOptions {
  readonly rows: TokenRows;
  readonly ending: TokenEnding;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

export class TokenExpiry {
  readonly #options: ExpiryOptions;
  #timer: Timer | null = null;
  #running: Promise<void> = Promise.resolve();
  #open = false;

  constructor(options: ExpiryOptions) {
    this.#options = options;
  }

  open(): void {
    this.#open = true;
    this.#arm(0n);
  }

  async close(): Promise<void> {
    this.#open = false;
    this.#timer?.cancel();
    await this.#running;
  }

  #arm(delay: Nanos): void {
    if (!this.#open) return;
    this.#timer = this.#options.timers.after(delay, () => {
      this.#running = this.#sweep().finally(() => this.#arm(PERIOD));
    });
  }

  async #sweep(): Promise<void> {
    const { rows, clock, log } = this.#options;
    try {
      while (this.#open) {
        const due = rows.due(clock.now(), BATCH);
        if (due.length === 0) return;
        const end = (tx: Tx) => {
          for (const timed of due) {
            if (rows.end(tx, timed)) this.#options.ending.ends(tx, timed.place);
          }
        };
        await rows.local.write(end, { essential: true });
      }
    } catch (error) {
      log.error("could not end expired tokens", { cause: describe(error) });
    }
  }
}
