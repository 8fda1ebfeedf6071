// What every ceremony stands on, handed to it by the keeper.

import type { Log } from "@holdfast/shared/log";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import type { Store } from "../../storage/store.ts";
import type { SealConfig } from "../config.ts";
import type { Turns } from "../turns.ts";

export interface Ground {
  readonly store: Store;
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly turns: Turns;
  /** Reading PGP keys can cost a second: one caller at a time, and nobody to be refused later. */
  readonly reading: Turns;
  /** The stored configuration; refuses while the node is not initialised, or sealed. */
  config(): SealConfig;
}

/** One share, as given to a running attempt. */
export interface ShareInput {
  readonly key: string;
  readonly nonce: string;
}
