// A reporter of the test runner: each test that failed as a line of JSON, and at the end how many there were.

import { relative } from "node:path";
import { inspect } from "node:util";
import type { TestEvent } from "node:test/reporters";

export interface FailedTest {
  readonly file: string;
  readonly name: string;
  readonly message: string;
}

export interface Counted {
  readonly passed: number;
}

interface ErrorParts {
  readonly message?: string;
  readonly failureType?: string;
  readonly cause?: unknown;
}

export default async function* failedTests(
  source: AsyncIterable<TestEvent>,
): AsyncGenerator<string, void> {
  for await (const { type, data } of source) {
    if (type === "test:summary" && data.file === undefined) {
      yield `${JSON.stringify({ passed: data.counts.passed } satisfies Counted)}\n`;
    }
    if (type !== "test:fail") continue;
    const error = data.details.error as ErrorParts;
    if (error.failureType === "subtestsFailed") continue; // those are told by themselves
    const cause = (error.cause ?? error) as ErrorParts;
    const file = relative(process.cwd(), data.file ?? "");
    const message = (cause.message ?? inspect(cause)).slice(0, 400);
    yield `${JSON.stringify({ file, name: data.name, message } satisfies FailedTest)}\n`;
  }
}
