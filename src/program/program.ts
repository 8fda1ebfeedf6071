// Programs of RGPs and EGPs, as the rest of the house sees them:
//
//   const program = parseProgram(text);        // throws Failure "invalid"
//   const verdict = program.evaluate(input);   // never throws; an error is a failed program
//
// Everything is synchronous. A server without governing policies has no use for the reader, the checker
// and the engine of patterns (re2js) behind this: it imports types from here, and the rest at the first
// program it meets.

import { Checker } from "./checking/checker.ts";
import { checkConstants } from "./checking/constants.ts";
import { checkTests, dryRun } from "./checking/trial.ts";
import { readDocument } from "./reading/document.ts";
import { CompiledProgram } from "./running/compiled-program.ts";
import { RequestView } from "./request/request-view.ts";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { ProgramInput } from "./request/program-input.ts";
import { testInput } from "./request/test-input.ts";

export interface Program {
  readonly text: string;
  readonly tests: readonly ProgramTest[];
  /** What is allowed but most likely not meant; for the answer to a write. */
  readonly warnings: readonly string[];
  /** Programs that judge the same request share a view of it, and a budget: `steps` is what is left. */
  evaluate(seen: ProgramInput | RequestView, steps?: number): Verdict;
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

/**
 * One of the three forms of docs/policies/programs.md. Refuses with Failure "invalid" and the text
 * `failed to parse policy: <line>:<column>: …`.
 */
export function parseProgram(text: string): Program {
  const written = readDocument(text);
  const { source, bare, rules, when, main } = written;
  const checker = new Checker({ source, bare });
  for (const { name, node } of rules) checker.rule(name, node);
  if (when !== null) checker.condition("the condition after when", when);
  checker.condition("main", main.node);
  checkTests(written);
  const nodes = [...rules, main].map(({ node }) => node);
  if (when !== null) nodes.push(when);
  const patterns = checkConstants(source, nodes);
  const program = new CompiledProgram(written, { patterns, warnings: checker.warnings });
  program.warn(dryRun(program));
  return program;
}

/** One request as programs see it, for all that judge it. */
export function viewOf(input: ProgramInput): RequestView {
  return new RequestView(input);
}

/** Those of the document, in its order. */
export function runTests(program: Program): readonly TestOutcome[] {
  return program.tests.map((test) => runTest(program, test));
}

export function runTest(program: Program, { name, line, input, want }: ProgramTest): TestOutcome {
  const { passed, error } = program.evaluate(testInput(input));
  const got = error === null ? passed : null;
  return { name, line, want, got, error, passed: got === want };
}
