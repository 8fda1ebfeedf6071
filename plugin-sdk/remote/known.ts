// What a plugin knows of its storage for one transaction: values and ranges that the host has told of, each as it was when it
// told.

import type { RangeSpec } from "./overlay.ts";

export interface KnownRange {
  /** Keys, or names of a list. */
  readonly names: readonly string[];
  /** Of records: one for each name. */
  readonly values: readonly Uint8Array[];
}

export class Known {
  /** Null: there is no such key. */
  readonly values = new Map<string, Uint8Array | null>();
  readonly #ranges = new Map<string, KnownRange>();

  range(spec: RangeSpec): KnownRange | undefined {
    return this.#ranges.get(nameOf(spec));
  }

  setRange(spec: RangeSpec, range: KnownRange): void {
    this.#ranges.set(nameOf(spec), range);
  }
}

export function nameOf({ kind, prefix, after, limit, reverse }: RangeSpec): string {
  return JSON.stringify([kind, prefix, after, limit, reverse]);
}
