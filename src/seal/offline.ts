// The root key in rows of a store that nobody runs, an archive's say: opened by shares of its operators, or by the key
// of its auto seal. Nothing is stored, and nothing of a running node is touched.

import type { KeyObject } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import type { Timers } from "@holdfast/shared/world";
import type { StoreReads } from "../storage/transaction.ts";
import { type Collection, collect, step } from "./ceremonies/collection.ts";
import { parseShare } from "./ceremonies/share.ts";
import { readConfig, type Scheme, schemeOf, type SealConfig } from "./config.ts";
import { findRootKey, openRootKey, RECOVERY_ROOT_KEY_PATH, ROOT_KEY_PATH } from "./custody.ts";
import { readStaticKey } from "./static.ts";

type Rows = Pick<StoreReads, "get">;

export class OfflineSeal {
  readonly #rows: Rows;
  readonly #timers: Timers;
  readonly #config: SealConfig;
  #collection: Collection;

  constructor(rows: Rows, timers: Timers) {
    this.#rows = rows;
    this.#timers = timers;
    this.#config = readConfig(rows);
    this.#collection = collect(this.scheme.threshold);
  }

  get scheme(): Scheme {
    return schemeOf(this.#config);
  }

  /** How it was sealed: by shares alone, or by a key from outside. */
  get type(): SealConfig["type"] {
    return this.#config.type;
  }

  /** Whether shares lead to the root key. */
  get takesShares(): boolean {
    return this.#config.type === "shamir" || this.#config.recovery.canUnseal;
  }

  /** One more share. `wrong`: enough were given, and no set of them was right. */
  async give(text: string): Promise<KeyObject | "more" | "wrong"> {
    const taken = step(this.#collection, { do: "give", share: parseShare(text) });
    this.#collection = taken.collection;
    wipe(...taken.dropped);
    if (taken.outcome !== "enough") return "more";
    const path = this.#config.type === "shamir" ? ROOT_KEY_PATH : RECOVERY_ROOT_KEY_PATH;
    const found = await findRootKey(this.#rows, path, this.scheme, this.#collection, this.#timers);
    if (found !== null) return found.rootKey;
    const failed = step(this.#collection, { do: "fail" });
    this.#collection = failed.collection;
    wipe(...failed.dropped);
    return "wrong";
  }

  /** With the key of the auto seal, whose bytes are wiped; null when it is another one. */
  openWith(key: Buffer): KeyObject | null {
    return openRootKey(this.#rows, ROOT_KEY_PATH, readStaticKey(key));
  }

  /** Forgets the shares. */
  wipe(): void {
    wipe(...this.#collection.shares);
    this.#collection = collect(this.scheme.threshold);
  }
}
