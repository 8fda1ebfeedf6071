// The keys in rows that no barrier of this process serves: those of an archive. They open entries and nothing else.

import type { KeyObject } from "node:crypto";
import type { StoreReads } from "../storage/transaction.ts";
import { storedKeyring, storedTreeKey, withUpdates } from "./key-rows.ts";
import { Keyring } from "./keyring.ts";

export class StoredKeys {
  readonly treeKey: KeyObject;
  readonly #keyring: Keyring;

  private constructor(keyring: Keyring, treeKey: KeyObject) {
    this.#keyring = keyring;
    this.treeKey = treeKey;
  }

  /** Null when the root key is another one, or the rows are damaged. */
  static open(rows: Pick<StoreReads, "get" | "rows">, rootKey: KeyObject): StoredKeys | null {
    const keyring = storedKeyring(rows, rootKey);
    const treeKey = storedTreeKey(rows, rootKey);
    if (!(keyring instanceof Keyring) || treeKey === null) return null;
    const known = withUpdates(keyring, rows, 0n, () => {}); // of another root key: nothing here needs it
    return new StoredKeys(known, treeKey);
  }

  /** How many data keys there are. */
  get terms(): number {
    return this.#keyring.size;
  }

  /** The plaintext, which the caller wipes; null when it does not open. */
  open(path: string, sealed: Uint8Array): Buffer | null {
    return this.#keyring.open(path, sealed);
  }
}
