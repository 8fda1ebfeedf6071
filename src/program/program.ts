// A compiled program of an RGP or EGP, as the rest of the house sees it. Types and `runTests` only:
// the CEL engine behind them takes about 200 ms and 43 MB to load, which a server without governing
// policies never pays. It is therefore reached by a promise:
//
//   const programs = await loadPrograms();          // load.ts; on first write or first read of one
//   const program = programs.parseProgram(text);    // throws Failure "invalid"
//   const verdict = program.evaluate(input);        // never throws; an error is a failed program
//
// Everything after loadPrograms() is synchronous. Keep what it gave (one per room is enough: each
// call makes an engine of its own, about 1 ms) rather than awaiting it per request.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { ProgramInput } from "./request/program-input.ts";
import { testInput } from "./request/test-input.ts";

export interface Programs {
  /**
   * One of the three forms of docs/policies/programs.md. Refuses with Failure "invalid" and the text
   * `failed to parse policy: <line>:<column>: …`.
   */
  parseProgram(text: string): Program;
}

export interface Program {
  readonly text: string;
  readonly tests: readonly ProgramTest[];
  /** What is allowed but most likely not meant; for the answer to a write. */
  readonly warnings: readonly string[];
  /** `steps` is what is left of the budget of all programs that judge the same request. */
  evaluate(input: ProgramInput, steps?: number): Verdict;
}

export interface ProgramTest {
  readonly name: string;
  readonly line: number;
  /** In the names of the wire, laid over a synthetic request. */
  readonly input: JsonObject;
  readonly want: boolean;
}

export interface RuleResult {
  readonly name: string;
  readonly line: number;
  readonly column: number;
  /** Null: it ended in an error. Rules that were not needed are not listed. */
  readonly value: boolean | null;
}

export interface Verdict {
  readonly passed: boolean;
  /** Why the program could not say; it then counts as failed. */
  readonly error: string | null;
  /** The comment above `main`, or "". */
  readonly description: string;
  /** `main` first, then the rules that were evaluated, as written. */
  readonly rules: readonly RuleResult[];
  /** Used of the budget: the same for the same program and input, on every machine. */
  readonly steps: number;
}

export interface TestOutcome {
  readonly name: string;
  readonly line: number;
  readonly want: boolean;
  /** Null: the program ended in an error. */
  readonly got: boolean | null;
  readonly error: string | null;
  readonly passed: boolean;
}

/** Those of the document, in its order. */
export function runTests(program: Program): readonly TestOutcome[] {
  return program.tests.map(({ name, line, input, want }) => {
    const { passed, error } = program.evaluate(testInput(input));
    const got = error === null ? passed : null;
    return { name, line, want, got, error, passed: got === want };
  });
}
