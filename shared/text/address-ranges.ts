// A list of address ranges that something is bound to: read once, asked often.

import { invariant } from "../invariant.ts";
import { type AddressRange, isWithin, readAddress, readRange } from "./addresses.ts";

export class AddressRanges {
  /** As they were given. */
  readonly texts: readonly string[];
  readonly #ranges: readonly AddressRange[];

  private constructor(texts: readonly string[], ranges: readonly AddressRange[]) {
    this.texts = texts;
    this.#ranges = ranges;
  }

  /** Of ranges that were read before. */
  static of(texts: readonly string[]): AddressRanges {
    const ranges = AddressRanges.read(texts);
    invariant(ranges !== null, "ranges were checked before");
    return ranges;
  }

  /** Null when one of the texts is neither an address nor a range. */
  static read(texts: readonly string[]): AddressRanges | null {
    const ranges: AddressRange[] = [];
    for (const text of texts) {
      const range = readRange(text);
      if (range === null) return null;
      ranges.push(range);
    }
    return new AddressRanges(texts, ranges);
  }

  /** What cannot be read is in none. */
  has(address: string): boolean {
    const at = readAddress(address);
    return at !== null && this.#ranges.some((range) => isWithin(at, range));
  }

  /** Whether each of the others lies in one of these. */
  covers(others: AddressRanges): boolean {
    return others.#ranges.every((other) =>
      this.#ranges.some((range) => range.length <= other.length && isWithin(other, range)),
    );
  }
}
