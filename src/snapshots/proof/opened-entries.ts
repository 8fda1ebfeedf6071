// The entries of an archive in clear, one after another, in key order and with bounded memory. Rows below core/ are not
// among them: they are what leads there. The archive is checked to its end on the way.

import type { KeyObject } from "node:crypto";
import { StoredKeys } from "../../barrier/stored-keys.ts";
import { FORMAT } from "../../storage/engines/sqlite-format.ts";
import { ArchiveParser, type ParsedArchive } from "../archive/archive-parser.ts";
import { CoreRows } from "./core-rows.ts";
import { archiveKeysMissing, entryNotOpened } from "./failures.ts";

export interface OpenedEntry {
  readonly key: string;
  /** The caller wipes it. */
  readonly plaintext: Buffer;
}

/** The root key that these rows were made with. Throws where there is none. */
export type RootKeyFor = (rows: CoreRows) => KeyObject | Promise<KeyObject>;

export class OpenedArchive {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #rootKeyFor: RootKeyFor;
  #archive: ParsedArchive | null = null;

  constructor(source: AsyncIterable<Uint8Array>, rootKeyFor: RootKeyFor) {
    this.#source = source;
    this.#rootKeyFor = rootKeyFor;
  }

  /** Null until all entries were taken. */
  get archive(): ParsedArchive | null {
    return this.#archive;
  }

  /** Taken once. */
  async *entries(): AsyncGenerator<OpenedEntry, void, void> {
    const parser = new ArchiveParser(FORMAT);
    const core = new CoreRows();
    let keys: StoredKeys | null = null;
    for await (const chunk of this.#source) {
      for (const record of parser.push(chunk)) {
        if (record.key.startsWith("core/")) {
          core.add(record);
          continue;
        }
        keys ??= await this.#unlock(core);
        const plaintext = keys.open(record.key, record.value);
        if (plaintext === null) throw entryNotOpened(record.key);
        yield { key: record.key, plaintext };
      }
    }
    this.#archive = parser.end();
  }

  async #unlock(core: CoreRows): Promise<StoredKeys> {
    const keys = StoredKeys.open(core, await this.#rootKeyFor(core));
    if (keys === null) throw archiveKeysMissing();
    return keys;
  }
}

/** Whether a root key is the one that these rows were made with. */
export function isRootKeyOf(rows: CoreRows, rootKey: KeyObject): boolean {
  return StoredKeys.open(rows, rootKey) !== null;
}
