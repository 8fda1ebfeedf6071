// A program that has been read and checked: how a run of it goes, and what the run says.

import type { Pattern } from "../functions/patterns.ts";
import { MAX_STEPS } from "../limits.ts";
import type { Program, ProgramTest, RuleResult, Verdict } from "../program.ts";
import type { WrittenProgram, WrittenRule } from "../reading/written-program.ts";
import type { ProgramInput } from "../request/program-input.ts";
import { RequestView } from "../request/request-view.ts";
import { compile } from "./evaluator.ts";
import { Exhausted } from "./meter.ts";
import { Fault, type Result, Run, type Step } from "./run.ts";
import { typeNameOf } from "./values.ts";

export interface CompiledParts {
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly warnings: readonly string[];
}

export class CompiledProgram implements Program {
  readonly text: string;
  readonly tests: readonly ProgramTest[];
  readonly #warnings: string[];
  readonly #written: WrittenProgram;
  readonly #rules: readonly Step[];
  readonly #when: Step | null;
  readonly #main: Step;
  readonly #places: ReadonlyMap<WrittenRule, { readonly line: number; readonly column: number }>;

  constructor(written: WrittenProgram, { patterns, warnings }: CompiledParts) {
    const { source, bare, rules, when, main } = written;
    this.text = source.text;
    this.#warnings = [...warnings];
    this.#written = written;
    this.tests = written.tests.map(({ name, input, want, at }) => ({
      name,
      line: source.lineAt(at),
      input,
      want,
    }));
    this.#places = new Map([main, ...rules].map((rule) => [rule, source.positionAt(rule.at)]));
    const names = { bare, rules: new Map(rules.map(({ name }, i) => [name, i])), patterns };
    this.#rules = rules.map(({ node }) => compile(node, names));
    this.#when = when === null ? null : compile(when, names);
    this.#main = compile(main.node, names);
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** What is found when it is first tried. */
  warn(warnings: readonly string[]): void {
    this.#warnings.push(...warnings);
  }

  evaluate(seen: ProgramInput | RequestView, steps = MAX_STEPS): Verdict {
    const view = seen instanceof RequestView ? seen : new RequestView(seen);
    const run = new Run(view, this.#rules, steps);
    const { value, error } = this.#outcome(run);
    const passed = error === null && value === true;
    return {
      passed,
      error,
      description: this.#written.description,
      rules: this.#trace(run, error === null ? passed : null),
      steps: run.meter.steps,
    };
  }

  #outcome(run: Run): { readonly value: Result; readonly error: string | null } {
    try {
      const applies = this.#when === null ? true : this.#when(run);
      const value = applies === true ? this.#main(run) : applies === false ? true : applies;
      return { value, error: this.#error(value) };
    } catch (error) {
      // Whatever goes wrong, a program that cannot say has failed.
      const known = error instanceof Exhausted ? error.message : "the program cannot be run";
      return { value: false, error: known };
    }
  }

  #error(value: Result): string | null {
    if (typeof value === "boolean") return null;
    if (!(value instanceof Fault)) {
      return `the result must be true or false, but is of kind ${typeNameOf(value)}`;
    }
    const { line, column } = this.#written.source.positionAt(value.at);
    return `${line}:${column}: ${value.message}`;
  }

  /** `main`, then what it used. Values other than true and false are not for a trace. */
  #trace(run: Run, main: boolean | null): readonly RuleResult[] {
    const results: RuleResult[] = [this.#result(this.#written.main, main)];
    for (const [i, rule] of this.#written.rules.entries()) {
      const value = run.resultOf(i);
      if (typeof value === "boolean") results.push(this.#result(rule, value));
      else if (value instanceof Fault) results.push(this.#result(rule, null));
    }
    return results;
  }

  #result(rule: WrittenRule, value: boolean | null): RuleResult {
    const { line, column } = this.#places.get(rule) ?? { line: 1, column: 1 };
    return { name: rule.name, line, column, value };
  }
}
