// Looking for a part in a text, in time that grows with their lengths and never with the product of the
// two. The runtime's own search takes the product on texts that repeat themselves: a body of a megabyte
// held it for a quarter of a minute. It is used for short parts alone, where the product is no more than
// a few times the length; for the others it is the way of Knuth, Morris and Pratt.

import type { Meter } from "../running/meter.ts";

/** Characters that are gone through for one unit, at 5 to 10 ns each. */
const CHARACTERS_PER_UNIT = 6;
const UNITS_PER_SEARCH = 2;
const SHORT = 8;

/** One part in one text, from place to place. The text is gone through once and paid for once. */
export class Search {
  readonly #text: string;
  readonly #part: string;
  readonly #codes: Codes | null;

  constructor(text: string, part: string, meter: Meter) {
    pay(text, part, meter);
    this.#text = text;
    this.#part = part;
    const isLong = part.length > SHORT && part.length <= text.length;
    this.#codes = isLong ? { text: codesOf(text), ...readyPart(codesOf(part)) } : null;
  }

  /** Where it begins next, from a place that is not before the last one found; -1 for nowhere. */
  from(place: number): number {
    if (this.#codes !== null) return firstOf(this.#codes, place);
    return this.#part.length > this.#text.length ? -1 : this.#text.indexOf(this.#part, place);
  }
}

export function contains(text: string, part: string, meter: Meter): boolean {
  return new Search(text, part, meter).from(0) !== -1;
}

/** The last place that is not behind `from`; -1 for nowhere. */
export function lastPlace(text: string, part: string, from: number, meter: Meter): number {
  pay(text, part, meter);
  if (part.length > text.length) return -1;
  if (part.length <= SHORT) return text.lastIndexOf(part, from);
  // The first one of the text and the part that are written backwards.
  const codes = codesOf(text.slice(0, from + part.length)).reverse();
  const at = firstOf({ text: codes, ...readyPart(codesOf(part).reverse()) }, 0);
  return at === -1 ? -1 : codes.length - at - part.length;
}

interface ReadyPart {
  readonly part: Uint16Array;
  /** For each length that has matched: how much of it still does when the next character does not. */
  readonly borders: Int32Array;
}

interface Codes extends ReadyPart {
  readonly text: Uint16Array;
}

function pay(text: string, part: string, meter: Meter): void {
  // The part twice: it is copied, and its table is made.
  const characters = text.length + (part.length > SHORT ? 2 * part.length : 0);
  meter.charge(UNITS_PER_SEARCH + characters / CHARACTERS_PER_UNIT);
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  Buffer.from(codes.buffer).write(text, "utf16le");
  return codes;
}

function readyPart(part: Uint16Array): ReadyPart {
  const borders = new Int32Array(part.length);
  let border = 0;
  for (let at = 1; at < part.length; at += 1) {
    const code = part[at];
    while (border > 0 && part[border] !== code) border = borders[border - 1] ?? 0;
    if (part[border] === code) border += 1;
    borders[at] = border;
  }
  return { part, borders };
}

function firstOf({ text, part, borders }: Codes, from: number): number {
  let matched = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text[at];
    while (matched > 0 && part[matched] !== code) matched = borders[matched - 1] ?? 0;
    if (part[matched] === code) matched += 1;
    if (matched === part.length) return at - matched + 1;
  }
  return -1;
}
