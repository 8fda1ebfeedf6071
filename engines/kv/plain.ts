// Version 1: one value per path, replaced by every write. Every path below the mount is a secret, so
// there is nothing beside them.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { documentCodec, presentCodec } from "./document.ts";
import type { Versioned } from "./versioned.ts";

export const PLAIN = "plain/";
const BATCH = 20; // of a megabyte each, at most

export class Plain {
  readonly #storage: EngineStorage;

  constructor(storage: EngineStorage) {
    this.#storage = storage;
  }

  read(path: string): Promise<JsonObject | null> {
    return this.#storage.get(PLAIN + path, documentCodec);
  }

  async has(path: string): Promise<boolean> {
    return (await this.#storage.get(PLAIN + path, presentCodec)) === true;
  }

  /** `check` is told, before anything is changed, whether there is something already. */
  async write(path: string, data: JsonObject, check: (exists: boolean) => void): Promise<void> {
    await this.#storage.write((tx) => {
      check(tx.get(PLAIN + path, presentCodec) === true);
      tx.put(PLAIN + path, data, documentCodec);
    });
  }

  async delete(path: string): Promise<void> {
    await this.#storage.write((tx) => tx.delete(PLAIN + path));
  }

  /** What a mount of version 1 had becomes the first version of each secret. A crash in between leaves
   *  the rest for the next opening. */
  async upgrade(versioned: Versioned): Promise<void> {
    for (;;) {
      const some = await this.#storage.records(PLAIN, documentCodec, { limit: BATCH });
      if (some.length === 0) return;
      await this.#storage.write((tx) => {
        for (const { key, value } of some) {
          versioned.adopt(tx, key.slice(PLAIN.length), value);
          tx.delete(key);
        }
      });
    }
  }
}
