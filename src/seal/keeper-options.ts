// What the keeper is given, and what it asks of the rooms behind it.

import type { KeyObject } from "node:crypto";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Tx } from "../barrier/view.ts";
import type { Store } from "../storage/store.ts";

/** The two doors to the first management token, and the one back in; kept by the token room. */
export interface FirstTokens {
  /** Makes the first management token and spends the bootstrap. Gives its text. */
  mintFirst(tx: Tx): string;
  /** Makes no token and leaves the bootstrap open to its first caller. */
  leaveDoorOpen(tx: Tx): void;
  /** A management token made from key shares. Gives its text. */
  mintGenerated(tx: Tx): string;
  /** Bytes in the text of a token, every time. */
  readonly length: number;
}

export interface Hooks {
  /** Adds to the first transaction of the store, before the first token. */
  created?(tx: Tx): void;
  /** The keys are there: load, open, start. Until it resolves the node counts as sealed. When it
   *  rejects the node seals again; it undoes its own steps before. */
  opened(): Promise<void>;
  /** The keys are about to go: stop. Called only after `opened` has resolved. */
  closing(): Promise<void>;
}

export interface KeeperOptions {
  readonly store: Store;
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** A seal that opens by itself. Default: shares of operators (Shamir). */
  readonly autoSeal?: { readonly type: "static"; readonly key: KeyObject } | undefined;
  readonly tokens: FirstTokens;
  readonly hooks: Hooks;
  /** Default: holdfast- and eight random hex digits. */
  readonly clusterName?: string | undefined;
  readonly version: string;
  readonly buildDate: string;
}
