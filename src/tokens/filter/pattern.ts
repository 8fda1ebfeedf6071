// Regular expressions of callers, on an engine whose time grows with the text and never explodes: the
// built-in one backtracks (16.6 s on 29 characters, T-C13). It is loaded when the first filter needs
// it (40 ms, 5 MB).

import type { RE2JS } from "re2js";
import { inapplicable } from "./failures.ts";
import { patternWeight } from "../../base/pattern-weight.ts";

/** Of the UTF-8 form. */
export const MAX_PATTERN_BYTES = 256;
/** All patterns of a filter together; bounds compiling, and one match at 15 ms (measured). */
export const MAX_PATTERN_WEIGHT = 500;

export interface Pattern {
  readonly instructions: number;
  /** Whether it is found anywhere in the text. */
  foundIn(text: string): boolean;
}

export class PatternMaker {
  readonly #engine: typeof RE2JS;
  #weight = 0;

  constructor(engine: typeof RE2JS) {
    this.#engine = engine;
  }

  static async load(): Promise<PatternMaker> {
    const { RE2JS: engine } = await import("re2js");
    return new PatternMaker(engine);
  }

  make(text: string): Pattern {
    if (Buffer.byteLength(text) > MAX_PATTERN_BYTES) {
      throw unusable(`it may have at most ${MAX_PATTERN_BYTES} bytes`);
    }
    this.#weight += patternWeight(text);
    if (this.#weight > MAX_PATTERN_WEIGHT) {
      throw unusable("it is too large; use fewer or smaller counted repetitions and ranges");
    }
    const compiled = this.#compiled(text);
    return {
      instructions: compiled.programSize(),
      foundIn: (subject) => compiled.test(subject),
    };
  }

  #compiled(text: string): RE2JS {
    try {
      return this.#engine.compile(text);
    } catch (error) {
      throw unusable(reasonOf(error));
    }
  }
}

/** The reason without what it quotes of the pattern. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  const reason = /^error parsing regexp: ([ -_a-~]+?)(?:: `|$)/.exec(message)?.[1];
  return reason ?? "it cannot be read";
}

function unusable(reason: string): Error {
  return inapplicable(`failed to compile regular expression: ${reason}`);
}
