// The keys in rows that no barrier of this process serves: those of an archive. They open entries and nothing else.

import type { KeyObject } from "node:crypto";
import { openEntry, secretKey } from "../crypto/aead.ts";
import { unreadControls } from "../storage/following/control-records.ts";
import type { StoreReads } from "../storage/transaction.ts";
import { KEYRING_PATH, KEYRING_UPDATE, openUpdate, TREE_KEY_PATH } from "./barrier.ts";
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
    const stored = { keyring: rows.get(KEYRING_PATH), treeKey: rows.get(TREE_KEY_PATH) };
    if (stored.keyring === null || stored.treeKey === null) return null;
    const document = openEntry(rootKey, KEYRING_PATH, stored.keyring);
    let keyring = document === null ? null : Keyring.decode(document);
    const treeKey = openEntry(rootKey, TREE_KEY_PATH, stored.treeKey);
    if (keyring === null || treeKey === null) return null;
    for (const { record } of unreadControls(rows)) {
      const update = record.type === KEYRING_UPDATE ? openUpdate(rootKey, record.body) : null;
      if (update !== null) keyring = keyring.withTerm(update, 0n);
    }
    return new StoredKeys(keyring, secretKey(treeKey));
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
