// The text of an ACL policy, in HCL or JSON, to its rules. Strict: whatever is not understood is
// refused by name, line and column, because a rule that is misread is a hole.

import { atOnce, Pieces, type Sliced } from "@holdfast/shared/sliced";
import { readRule } from "./body.ts";
import { inPath, notParsed, type UnknownKey, unbalancedTemplate, unknownKeys } from "./failure.ts";
import type { AclRule } from "./rule.ts";
import { templateOf } from "./template.ts";
import { warningsOf } from "./warnings.ts";
import { readDocument } from "../document/document.ts";
import { DocumentFailure } from "../document/document-failure.ts";
import { type BodyShape, NO_BLOCKS } from "../document/document-shape.ts";
import type { Block, Body } from "../document/hcl-node.ts";
import { SourceText } from "../document/source-text.ts";

const SHAPE: BodyShape = new Map([["path", { labels: 1, oneBody: true, body: NO_BLOCKS }]]);

export interface AclDocument {
  readonly rules: readonly AclRule[];
  /** Whether a label has something to fill in: its meaning then depends on the token. */
  readonly templated: boolean;
  /** What is legal and probably not meant. Worked out when read: whoever decides does not need it. */
  readonly warnings: readonly string[];
}

export function parseAclDocument(text: string): AclDocument {
  return atOnce(readAclDocument(text));
}

/** The same in slices. */
export function* readAclDocument(text: string): Sliced<AclDocument> {
  const body = yield* readBody(text);
  const unknown: UnknownKey[] = [];
  const blocks: Block[] = [];
  for (const item of body.items) {
    if (item.kind === "block" && item.type.text === "path") blocks.push(item);
    // A name is for people; the policy is called what it is stored under.
    else if (item.kind === "block") unknown.push(item.type);
    else if (item.key.text !== "name" || item.value.kind !== "string") unknown.push(item.key);
  }
  if (unknown.length > 0) throw unknownKeys(unknown);
  const rules: AclRule[] = [];
  const pieces = new Pieces();
  for (const block of blocks) {
    if (pieces.due) yield;
    rules.push(yield* ruleOf(block));
  }
  return {
    rules,
    templated: rules.some(({ template }) => template !== null),
    get warnings() {
      return atOnce(warningsOf(rules));
    },
  };
}

function* readBody(text: string): Sliced<Body> {
  try {
    return yield* readDocument(new SourceText(text), SHAPE);
  } catch (error) {
    throw error instanceof DocumentFailure ? notParsed(error) : error;
  }
}

function* ruleOf(block: Block): Sliced<AclRule> {
  const label = block.labels[0]?.text ?? "";
  const position = block.labels[0]?.position ?? block.position;
  if (label === "") {
    throw inPath(label, "policy-path-empty", "a path must not be empty", position);
  }
  if (label.includes("+*")) {
    const problem = "invalid use of wildcards ('+*' is forbidden)";
    throw inPath(label, "policy-wildcards", problem, position);
  }
  const template = templateOf(label);
  if (template === null) throw unbalancedTemplate(label, position);
  return yield* readRule(block, label, template.length > 1 ? template : null);
}
