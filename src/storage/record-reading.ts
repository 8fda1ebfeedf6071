// Reads every row of a view in the order of keys, with its scope, packed.

import type { Reads } from "./engines/engine.ts";
import { afterKey, classOf, hasClass } from "./key.ts";
import { CORE_SCOPE, LOST_SCOPE } from "./rows/log-entry.ts";
import { slotOf } from "./rows/merkle.ts";
import { type PackedRecords, RecordPacker, type WhichRecords } from "./rows/packed-records.ts";
import { type Pauses, ScopesByKey } from "./scopes-by-key.ts";

// A chunk lies in memory whole, and each row may have megabytes: as many as had so many bytes, by those before.
const CHUNK_ROWS = 16;
const CHUNK_BYTES = 128 * 1024;

export class RecordReading {
  readonly #view: Reads;
  readonly #scopes: ScopesByKey;
  readonly #without: readonly string[];
  readonly #packer = new RecordPacker();
  #from: string | null = "";
  #limit = CHUNK_ROWS;

  private constructor(view: Reads, scopes: ScopesByKey, without: readonly string[]) {
    this.#view = view;
    this.#scopes = scopes;
    this.#without = without;
  }

  static async begin(
    view: Reads,
    { expected, without }: WhichRecords,
    pauses: Pauses,
  ): Promise<RecordReading> {
    return new RecordReading(view, await ScopesByKey.read(view, expected, pauses), without);
  }

  /** The next few, perhaps none of them to be had; null at the end. */
  next(): PackedRecords | null {
    if (this.#from === null) return null;
    const limit = this.#limit;
    const rows = this.#view.rows({ from: this.#from, to: null, limit });
    this.#from = rows.length < limit ? null : afterKey(rows.at(-1)!.key);
    const bytes = rows.reduce((sum, { value }) => sum + value.length, 1);
    const fitting = Math.floor((rows.length * CHUNK_BYTES) / bytes);
    this.#limit = Math.max(1, Math.min(CHUNK_ROWS, fitting));
    const wanted = rows.filter(({ key }) => !this.#isLeftOut(key));
    return this.#packer.pack(
      wanted.map(({ key, value }) => ({
        key,
        value,
        scope: this.#scopes.of(key) ?? this.#scopeOf(key),
      })),
    );
  }

  #isLeftOut(key: string): boolean {
    return isAtOrBelow(key, this.#without);
  }

  /** That of its leaf. A row whose leaf was lost belongs to nobody that we know of. */
  #scopeOf(key: string): Uint8Array {
    const slot = hasClass(key) ? slotOf(classOf(key), key) : null;
    if (slot === null) return CORE_SCOPE;
    return this.#view.leaf(slot, key)?.scope ?? LOST_SCOPE;
  }
}

export function isAtOrBelow(key: string, places: readonly string[]): boolean {
  return places.some(
    (place) => key.startsWith(place) && (key.length === place.length || key[place.length] === "/"),
  );
}
