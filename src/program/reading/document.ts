// The three forms in which a program is written, told apart by their beginning. Gives
// trees and places; what names mean is the checker's.

import { Failure } from "@holdfast/shared/failure";
import { SourceText } from "../../document/source-text.ts";
import { notRead } from "../failures.ts";
import { readJsonProgram } from "./json-program.ts";
import { Lexer } from "./lexer.ts";
import { DOCUMENT_LIMITS } from "../limits.ts";
import { parseExpression } from "./parser.ts";
import { readRuleDocument } from "./rule-document.ts";
import { commentAbove, type WrittenProgram } from "./written-program.ts";

/** Whether something follows the brace that closes the first one: then that is a map in an expression,
 *  `{"a": 1}[request.path] == 1`. What does not read as words of an expression is for the reader of JSON
 *  to say. */
function goesOn(source: SourceText, at: number): boolean {
  const words = new Lexer(source, at, source.text.length);
  try {
    let depth = 0;
    do {
      const { kind, text } = words.next();
      if (kind === "end") return false;
      if (text === "{") depth += 1;
      else if (text === "}") depth -= 1;
    } while (depth > 0);
    return words.next().kind !== "end";
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

export function readDocument(text: string): WrittenProgram {
  try {
    const source = new SourceText(text, DOCUMENT_LIMITS);
    const first = new Lexer(source, source.start, text.length).next();
    if (first.text === "{" && !goesOn(source, first.at)) return readJsonProgram(source);
    if (first.kind === "name" && /^(?:rule|main|test)$/.test(first.text)) {
      return readRuleDocument(source);
    }
    const node = parseExpression(source, source.start, text.length);
    return {
      source,
      bare: false,
      rules: [],
      when: null,
      main: { name: "main", node, at: first.at },
      description: commentAbove(source, first.at),
      tests: [],
    };
  } catch (error) {
    throw notRead(error);
  }
}
