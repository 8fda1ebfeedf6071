// The three forms in which a program is written (contract 5.6), told apart by their beginning. Gives
// trees and places; what names mean is the checker's.

import { SourceText } from "../source-text.ts";
import { notRead } from "./failures.ts";
import { readJsonProgram } from "./json-program.ts";
import { Lexer } from "./lexer.ts";
import { DOCUMENT_LIMITS } from "./limits.ts";
import { parseExpression } from "./parser.ts";
import { readRuleDocument } from "./rule-document.ts";
import { commentAbove, type WrittenProgram } from "./written-program.ts";

export function readDocument(text: string): WrittenProgram {
  try {
    const source = new SourceText(text, DOCUMENT_LIMITS);
    const first = new Lexer(source, source.start, text.length).next();
    if (first.text === "{") return readJsonProgram(source);
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
