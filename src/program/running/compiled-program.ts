// A program that has been read, checked and planned: how a run of it goes, and what the run says.

import { type CelResult, celType, isCelError } from "@bufbuild/cel";
import { invariant } from "@holdfast/shared/invariant";
import { MAX_STEPS } from "../limits.ts";
import { placeOf } from "./lowering.ts";
import type { Meter } from "./meter.ts";
import type { Node } from "../reading/node.ts";
import type { ProgramFunctions } from "./program-functions.ts";
import type { ProgramInput } from "../request/program-input.ts";
import type { Program, ProgramTest, RuleResult, Verdict } from "../program.ts";
import type { RequestView } from "../request/request-view.ts";
import type { WrittenProgram, WrittenRule } from "../reading/written-program.ts";

/** Never throws: the engine gives what went wrong as a value. */
export type Run = () => CelResult;

export interface Parts {
  readonly functions: ProgramFunctions;
  readonly meter: Meter;
  readonly runs: ReadonlyMap<Node, Run>;
  view(input: ProgramInput): RequestView;
}

export class CompiledProgram implements Program {
  readonly text: string;
  readonly tests: readonly ProgramTest[];
  readonly warnings: readonly string[];
  readonly #written: WrittenProgram;
  readonly #parts: Parts;
  readonly #places: ReadonlyMap<WrittenRule, { readonly line: number; readonly column: number }>;

  constructor(written: WrittenProgram, parts: Parts, warnings: readonly string[] = []) {
    this.text = written.source.text;
    this.warnings = warnings;
    this.#written = written;
    this.#parts = parts;
    const { source, rules, main } = written;
    this.tests = written.tests.map(({ name, input, want, at }) => ({
      name,
      line: source.lineAt(at),
      input,
      want,
    }));
    this.#places = new Map([main, ...rules].map((rule) => [rule, source.positionAt(rule.at)]));
  }

  withWarnings(warnings: readonly string[]): CompiledProgram {
    return new CompiledProgram(this.#written, this.#parts, warnings);
  }

  evaluate(input: ProgramInput, steps = MAX_STEPS): Verdict {
    const { meter, functions } = this.#parts;
    const { rules, when, main } = this.#written;
    meter.restart(steps);
    functions.begin(this.#parts.view(input), (index) => this.#run(rules[index]?.node));
    const applies = when === null ? true : this.#run(when);
    const value = applies === true ? this.#run(main.node) : applies === false ? true : applies;
    const error = this.#error(value);
    const passed = error === null && value === true;
    const trace = this.#trace(error === null ? passed : null);
    functions.end();
    return {
      passed,
      error,
      description: this.#written.description,
      rules: trace,
      steps: meter.steps,
    };
  }

  #run(node: Node | undefined): CelResult {
    const run = node === undefined ? undefined : this.#parts.runs.get(node);
    invariant(run !== undefined, "every expression of a program is planned");
    return run();
  }

  #error(value: CelResult): string | null {
    const { meter } = this.#parts;
    if (meter.isExhausted) return meter.exhaustion;
    if (!isCelError(value)) {
      return typeof value === "boolean"
        ? null
        : `the result must be true or false, but is of kind ${celType(value).name}`;
    }
    const at = placeOf(value.exprId);
    const text = shown(value.message);
    if (at === null) return text;
    const { line, column } = this.#written.source.positionAt(at);
    return `${line}:${column}: ${text}`;
  }

  /** `main`, then what it used. Values other than true and false are not for a trace. */
  #trace(main: boolean | null): readonly RuleResult[] {
    const results: RuleResult[] = [this.#result(this.#written.main, main)];
    for (const [i, rule] of this.#written.rules.entries()) {
      const value = this.#parts.functions.resultOf(i);
      if (typeof value === "boolean") results.push(this.#result(rule, value));
      else if (isCelError(value)) results.push(this.#result(rule, null));
    }
    return results;
  }

  #result(rule: WrittenRule, value: boolean | null): RuleResult {
    const { line, column } = this.#places.get(rule) ?? { line: 1, column: 1 };
    return { name: rule.name, line, column, value };
  }
}

/** What the engine says by itself, without what it would quote. */
function shown(message: string): string {
  if (message.startsWith("map key conflict")) return "a map has one key twice";
  return message;
}
