// A program as it was read, before any name in it means something: rules and `main` with their places,
// and the tests that a document may carry.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { SourceText } from "../../document/source-text.ts";
import type { Node } from "./node.ts";

export interface WrittenTest {
  readonly name: string;
  readonly input: JsonObject;
  readonly want: boolean;
  readonly at: number;
}

export interface WrittenRule {
  readonly name: string;
  readonly node: Node;
  /** Where the rule begins, not its expression. */
  readonly at: number;
}

export interface WrittenProgram {
  readonly source: SourceText;
  /** Rules are variables, used by their bare names. */
  readonly bare: boolean;
  readonly rules: readonly WrittenRule[];
  readonly when: Node | null;
  readonly main: WrittenRule;
  readonly description: string;
  readonly tests: readonly WrittenTest[];
}

const MARKS = /^(?:#+|\/\/+)[ \t]?/;

/** The block of comment lines that ends on the line above, without its marks. */
export function commentAbove(source: SourceText, at: number): string {
  const lines = source.text.slice(source.start, at).split(/\r?\n/);
  lines.pop(); // the line on which it stands itself
  const block: string[] = [];
  while (MARKS.test(lines.at(-1)?.trim() ?? "")) {
    block.unshift((lines.pop() ?? "").trim().replace(MARKS, "").trimEnd());
  }
  return block.join("\n").trim();
}
