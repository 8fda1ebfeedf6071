// A document whose notation is not told beforehand: JSON if its first character is a brace, HCL
// otherwise, and the same tree for both. HCL never begins with a brace, so the choice is no guess.

import { atOnce, type Sliced } from "@holdfast/shared/sliced";
import { type BodyShape, slicedShape } from "./document-shape.ts";
import type { Body } from "./hcl-node.ts";
import { readHcl } from "./hcl-parser.ts";
import { readJson } from "./json-document.ts";
import type { SourceText } from "./source-text.ts";

export function parseDocument(source: SourceText, shape: BodyShape): Body {
  return atOnce(readDocument(source, shape));
}

/** The same in slices. */
export function* readDocument(source: SourceText, shape: BodyShape): Sliced<Body> {
  if (beginsWithBrace(source)) {
    return yield* slicedShape(yield* readJson(source), shape, "json", source.limits);
  }
  return yield* slicedShape(yield* readHcl(source), shape, "hcl", source.limits);
}

function beginsWithBrace({ text, start }: SourceText): boolean {
  let at = start;
  while (" \t\r\n".includes(text[at] ?? "end")) at += 1;
  return text[at] === "{";
}
