// Ends tokens whose time is over: what hangs on them goes, within a minute. They are
// refused at once without this, by the clock; after it they stay refused even if the clock is set
// back. The record stays until it is collected.

import type { Log } from "@holdfast/shared/log";
import { Recurring } from "../../base/recurring.ts";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { TokenRows } from "../rows/token-rows.ts";

const PERIOD: Nanos = 30_000_000_000n;
// Engines differ in how much one commit may change; what hangs on a token is in it as well.
const BATCH = 16;

export interface EndedToken {
  readonly accessor: string;
  readonly namespaceId: string;
}

export interface TokenEnding {
  /** In the transaction that ends the token: its leases are marked for revocation, its private space
   *  goes. Called once for each token that can be read. */
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
  readonly #sweeps: Recurring;

  constructor(options: ExpiryOptions) {
    this.#options = options;
    this.#sweeps = new Recurring({
      trouble: "could not end expired tokens",
      period: PERIOD,
      run: (isOpen) => this.#sweep(isOpen),
      timers: options.timers,
      log: options.log,
    });
  }

  open(): void {
    this.#sweeps.open();
  }

  close(): Promise<void> {
    return this.#sweeps.close();
  }

  async #sweep(isOpen: () => boolean): Promise<void> {
    const { rows, clock } = this.#options;
    while (isOpen()) {
      const due = rows.due(clock.now(), BATCH);
      if (due.length === 0) return;
      const end = (tx: Tx) => {
        for (const timed of due) {
          if (rows.end(tx, timed)) this.#options.ending.ends(tx, timed.place);
        }
      };
      await rows.local.write(end, { essential: true });
    }
  }
}
