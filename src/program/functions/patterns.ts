// Regular expressions of programs, on an engine whose time grows with the text (`^(a+)+$` on 10,000
// characters takes 6 ms), and which says how large a compiled pattern is.

import { RE2JS } from "re2js";
import { patternWeight } from "../../base/pattern-weight.ts";
import { MAX_PATTERN, MAX_PATTERN_WEIGHT, MAX_TEXT } from "../limits.ts";
import { type Meter, Problem } from "../running/meter.ts";

// Measured: 20 ns for each instruction and character where no shortcut helps.
const CHARACTERS_PER_UNIT = 4;
const UNITS_PER_MATCH = 64;
/** For compiling, per instruction: 5 µs each. */
const UNITS_PER_INSTRUCTION = 128;

export class Pattern {
  readonly #compiled: RE2JS;
  readonly #size: number;
  readonly weight: number;

  /** Told from the text, so that nothing large is ever compiled. */
  constructor(text: string) {
    if (text.length > MAX_PATTERN) {
      throw new Problem(`a pattern may have at most ${MAX_PATTERN} characters`);
    }
    this.weight = patternWeight(text);
    if (this.weight > MAX_PATTERN_WEIGHT) {
      throw new Problem("a pattern with too large counted repetitions or ranges");
    }
    try {
      this.#compiled = RE2JS.compile(text);
    } catch (error) {
      throw new Problem(`invalid pattern: ${reasonOf(error)}`, { cause: error });
    }
    this.#size = this.#compiled.programSize();
  }

  foundIn(text: string, meter: Meter): boolean {
    if (text.length > MAX_TEXT) {
      throw new Problem(`matches() takes at most ${MAX_TEXT} characters of text`);
    }
    meter.charge(UNITS_PER_MATCH + (this.#size * text.length) / CHARACTERS_PER_UNIT);
    return this.#compiled.test(text);
  }
}

/** One that is not known before the run: it is compiled for this one use, and pays for it. */
export function found(pattern: string, text: string, meter: Meter): boolean {
  if (pattern.length <= MAX_PATTERN) meter.charge(patternWeight(pattern) * UNITS_PER_INSTRUCTION);
  return new Pattern(pattern).foundIn(text, meter);
}

/** The reason without what it quotes of the pattern. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  return /^error parsing regexp: ([ -_a-~]+?)(?:: `|$)/.exec(message)?.[1] ?? "it cannot be read";
}
