// The filter of a list request. It belongs to one request: it remembers how much work
// it has caused.

import type { Clock } from "@holdfast/shared/world";
import { Allowance } from "./allowance.ts";
import type { FilteredToken, Scene } from "./filtered-token.ts";
import { readFilter } from "./parser.ts";
import { PatternMaker } from "./pattern.ts";
import { type Predicate, PredicateMaker, usesPatterns } from "./predicate.ts";

export interface FilterOptions {
  /** Says what has expired, and how long patterns take. */
  readonly clock: Clock;
}

export class Filter {
  readonly #test: Predicate;
  readonly #clock: Clock;
  readonly #allowance: Allowance;
  /** Whether its answer changes by itself, with the time. */
  readonly byClock: boolean;

  constructor(test: Predicate, { clock }: FilterOptions, byClock: boolean) {
    this.byClock = byClock;
    this.#test = test;
    this.#clock = clock;
    this.#allowance = new Allowance(clock);
  }

  /** Refuses where a list lacks the place asked for, and when the work gets too much. */
  matches(token: FilteredToken): boolean {
    const allowance = this.#allowance;
    allowance.nextToken();
    const scene: Scene = { token, elements: [], positions: [], clock: this.#clock, allowance };
    return this.#test(scene);
  }
}

/** The one field that is computed. Where the word is only a value, a list is read once more. */
function usesClock(text: string): boolean {
  return text.includes("Expired");
}

/** Refuses what is no filter, or none for tokens. It waits only for a library, once in a process. */
export async function parseFilter(text: string, options: FilterOptions): Promise<Filter> {
  const expression = readFilter(text);
  const patterns = usesPatterns(expression) ? await PatternMaker.load() : null;
  return new Filter(new PredicateMaker(patterns).make(expression), options, usesClock(text));
}
