// One run of a program on one request, and what an expression of it comes to.

import { invariant } from "@holdfast/shared/invariant";
import { UNITS_PER_ERROR } from "../limits.ts";
import type { RequestView } from "../request/request-view.ts";
import { Meter } from "./meter.ts";
import type { Value } from "./values.ts";

/** Why an expression has no value. Itself a value as far as `||` and `&&` go, which may do without. */
export class Fault {
  readonly message: string;
  /** Into the text of the document. */
  readonly at: number;

  constructor(message: string, at: number) {
    this.message = message;
    this.at = at;
  }
}

export type Result = Value | Fault;

/** An expression, ready to run. Throws nothing but Exhausted. */
export type Step = (run: Run) => Result;

export class Run {
  readonly view: RequestView;
  readonly meter: Meter;
  /** Of the loops around, the outermost first. */
  variables: Value[] = [];
  readonly #rules: readonly Step[];
  readonly #results: (Result | undefined)[] = [];

  constructor(view: RequestView, rules: readonly Step[], steps: number) {
    this.view = view;
    this.meter = new Meter(steps);
    this.#rules = rules;
  }

  /** Evaluated at its first use. */
  rule(place: number): Result {
    const known = this.#results[place];
    return known === undefined ? this.#evaluate(place) : known;
  }

  /** Undefined: it was not needed. */
  resultOf(place: number): Result | undefined {
    return this.#results[place];
  }

  /** An error costs, whoever makes it or hands it on. */
  fault(message: string, at: number): Fault {
    this.meter.charge(UNITS_PER_ERROR);
    return new Fault(message, at);
  }

  #evaluate(place: number): Result {
    const step = this.#rules[place];
    invariant(step !== undefined, "a rule that is used is there");
    // What stays there if the budget ends inside.
    this.#results[place] = new Fault("not evaluated", 0);
    const outer = this.variables;
    this.variables = [];
    const result = step(this);
    this.variables = outer;
    this.#results[place] = result;
    return result;
  }
}
