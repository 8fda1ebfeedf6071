// The text of a document, measured and checked once before any parser reads it, and the positions in
// it. One pass: whatever comes later may rely on well-formed text of bounded size.

import { showCharacter, syntaxError, tooLarge } from "./document-failure.ts";
import type { Position } from "./hcl-node.ts";

export interface DocumentLimits {
  /** What refusals call the document. */
  readonly noun: string;
  /** Of its UTF-8 form. */
  readonly bytes: number;
  /** Brackets inside each other, of either kind. */
  readonly depth: number;
  /** At top level. */
  readonly blocks: number;
}

/** A document that is larger than any policy, and none that takes long to read. */
export const POLICY_LIMITS: DocumentLimits = {
  noun: "policy",
  bytes: 256 * 1024,
  depth: 100,
  blocks: 10_000,
};

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const BOM = 0xfeff;

export class SourceText {
  readonly text: string;
  readonly limits: DocumentLimits;
  /** Where the document begins: behind a BOM, if there is one. */
  readonly start: number;
  readonly #lines: number[]; // where each begins
  #line = 1;
  readonly #pairs: number[] = []; // characters of two units, which columns count once

  constructor(text: string, limits: DocumentLimits = POLICY_LIMITS) {
    // A unit is at least one byte, so this needs no count and bounds the work below.
    if (text.length > limits.bytes) throw this.#tooLarge(limits);
    this.text = text;
    this.limits = limits;
    this.start = text.charCodeAt(0) === BOM ? 1 : 0;
    this.#lines = [this.start];
    if (this.#check() > limits.bytes) throw this.#tooLarge(limits);
  }

  /** Refuses what no document may hold, notes lines and pairs, and counts the bytes. */
  #check(): number {
    const { text } = this;
    let bytes = text.length;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit >= 0x20 && unit < 0x80) continue;
      if (unit === LF) this.#lines.push(at + 1);
      else if (unit === CR) this.#checkCarriageReturn(at);
      else if (unit < 0x20) {
        if (unit !== TAB) throw this.#control(at);
      } else if (unit >= 0xd800 && unit <= 0xdfff) {
        this.#checkPair(at);
        this.#pairs.push(at);
        at += 1;
        bytes += 2; // two units, four bytes
      } else if (unit >= 0x800) bytes += 2;
      else bytes += 1;
    }
    return bytes;
  }

  /** Some editors show a line break here, and what they show would not be what is read. */
  #checkCarriageReturn(at: number): void {
    if (this.text.charCodeAt(at + 1) === LF) return;
    const problem = "a carriage return must be followed by a line feed; lines end in LF or CRLF";
    throw syntaxError(this.positionAt(at), problem);
  }

  #checkPair(at: number): void {
    if ((this.text.codePointAt(at) ?? 0) > 0xffff) return;
    const problem = "an unpaired surrogate is no character; the text must be valid Unicode";
    throw syntaxError(this.positionAt(at), problem);
  }

  #control(at: number): Error {
    const name = showCharacter(this.text.charAt(at));
    const problem = `control character ${name} is not accepted; of these only tab and line breaks are`;
    return syntaxError(this.positionAt(at), problem);
  }

  #tooLarge(limits: DocumentLimits): Error {
    return tooLarge(limits.noun, `${limits.bytes} bytes`, null);
  }

  positionAt(offset: number): Position {
    const line = this.lineAt(offset);
    const from = this.#lines[line - 1] ?? 0;
    const pairs = countBelow(this.#pairs, offset) - countBelow(this.#pairs, from);
    return { line, column: offset - from - pairs + 1, offset };
  }

  /** Mostly the one that was asked for last, or the next. */
  lineAt(offset: number): number {
    for (const line of [this.#line, this.#line + 1]) {
      const begins = this.#lines[line - 1] ?? Infinity;
      if (begins <= offset && offset < (this.#lines[line] ?? Infinity)) return (this.#line = line);
    }
    return (this.#line = countBelow(this.#lines, offset + 1));
  }

  /** The number that so many hexadecimal digits write at a place, or null if they do not stand there. */
  hexAt(offset: number, digits: number): number | null {
    let value = 0;
    for (let at = offset; at < offset + digits; at += 1) {
      const digit = hexDigit(this.text.charCodeAt(at));
      if (digit === null) return null;
      value = value * 16 + digit;
    }
    return value;
  }
}

function hexDigit(unit: number): number | null {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : null;
}

/** How many of the ascending numbers lie below a bound. */
function countBelow(ascending: readonly number[], bound: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
