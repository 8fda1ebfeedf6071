// A program on requests that nobody made, before it judges any that somebody did.

import { Failure } from "@holdfast/shared/failure";
import { syntax } from "../failures.ts";
import type { Program } from "../program.ts";
import { testInput } from "../request/test-input.ts";
import type { WrittenProgram } from "../reading/written-program.ts";

/** That the inputs of tests are ones; whether tests pass is `runTests`'s. */
export function checkTests({ source, tests }: WrittenProgram): void {
  for (const { input, at } of tests) {
    try {
      testInput(input);
    } catch (error) {
      throw error instanceof Failure
        ? syntax(source, at, `input of the test: ${error.message}`)
        : error;
    }
  }
}

/** What only a run can show: a type error deep inside, a field that not every request has. */
export function dryRun(program: Program): readonly string[] {
  const { error } = program.evaluate(testInput({}));
  if (error === null) return [];
  return [
    `on a made-up request this policy ends in an error, which counts as failed: ${error}; ` +
      "what not every request has can be asked for with has()",
  ];
}
