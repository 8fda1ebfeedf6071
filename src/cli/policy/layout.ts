// A policy document in the layout that all of its notation share, for people who review changes. Comments
// are kept. JSON and single expressions are given back as they are: they have no layout of their own.

import { parseHcl } from "../../document/hcl-parser.ts";
import { printHcl } from "../../document/hcl-printer.ts";
import { parseJson } from "../../document/json-document.ts";
import type { PolicyNotation } from "./notation.ts";
import { layOutRules } from "../../program/reading/rule-layout.ts";
import { type DocumentLimits, POLICY_LIMITS, SourceText } from "../../document/source-text.ts";

// Indentation may make a document larger than it was; whether it is too large is for its kind.
const LIMITS: DocumentLimits = { ...POLICY_LIMITS, bytes: 16 * POLICY_LIMITS.bytes };

/** A Failure with line and column for a document that cannot be read. */
export function layOutPolicy(text: string, notation: PolicyNotation): string {
  switch (notation) {
    case "hcl":
      return printHcl(parseHcl(new SourceText(text, LIMITS)));
    case "rules":
      return layOutRules(text.includes("\r\n") ? withoutReturns(text) : text, LIMITS);
    case "json":
      parseJson(new SourceText(text, LIMITS));
      return text;
    case "expression":
      return text;
  }
}

/** Line ends as everywhere else, unless a text over several lines may hold some. */
function withoutReturns(text: string): string {
  return /"""|'''/.test(text) ? text : text.replace(/\r\n/g, "\n");
}
