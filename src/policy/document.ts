// A document whose notation is not told beforehand: JSON if its first character is a brace, HCL
// otherwise, and the same tree for both. HCL never begins with a brace, so the choice is no guess.

import { type BodyShape, shapeDocument } from "./document-shape.ts";
import type { Body } from "./hcl-node.ts";
import { parseHcl } from "./hcl-parser.ts";
import { parseJson } from "./json-document.ts";
import type { SourceText } from "./source-text.ts";

export function parseDocument(source: SourceText, shape: BodyShape): Body {
  if (beginsWithBrace(source)) {
    return shapeDocument(parseJson(source), shape, "json", source.limits);
  }
  return shapeDocument(parseHcl(source).body, shape, "hcl", source.limits);
}

function beginsWithBrace({ text, start }: SourceText): boolean {
  let at = start;
  while (" \t\r\n".includes(text[at] ?? "end")) at += 1;
  return text[at] === "{";
}
