// What a document says that is legal and hardly ever meant. Users lose days on these, so the answer
// to the write names them.

import { SECOND } from "@holdfast/shared/text/duration";
import { Pieces, type Sliced } from "@holdfast/shared/sliced";
import { bitsOf } from "./capability.ts";
import { keyOf, labelOf, type Pattern, patternOf } from "./pattern.ts";
import { PrefixTree } from "./prefix-tree.ts";
import type { AclRule } from "./rule.ts";
import { unserved } from "./template.ts";
import { showName } from "../document/document-failure.ts";

const MAX_WARNINGS = 100; // a document may have 10,000 rules, and an answer is read by people

export function* warningsOf(rules: readonly AclRule[]): Sliced<string[]> {
  const warnings: string[] = [];
  const pieces = new Pieces();
  const written: { readonly rule: AclRule; readonly pattern: Pattern; readonly key: string }[] = [];
  const firsts = new Map<string, AclRule>();
  const stars = new PrefixTree<Pattern>();
  for (const rule of rules) {
    if (pieces.due) yield;
    const pattern = rule.pattern ?? patternOf(rule.label);
    const key = keyOf(pattern);
    written.push({ rule, pattern, key });
    if (!firsts.has(key)) firsts.set(key, rule);
    if (pattern.star) stars.update(pattern.text, (before) => before ?? pattern);
  }
  for (const { rule, pattern, key } of written) {
    if (pieces.due) yield;
    for (const problem of problemsOf(rule, pattern, firsts.get(key), stars)) {
      warnings.push(`path ${showName(rule.label)} on line ${rule.position.line}: ${problem}`);
    }
    if (warnings.length >= MAX_WARNINGS) break;
  }
  return warnings.slice(0, MAX_WARNINGS);
}

function* problemsOf(
  rule: AclRule,
  pattern: Pattern,
  first: AclRule | undefined,
  stars: PrefixTree<Pattern>,
): Generator<string> {
  if (first !== undefined && first !== rule) {
    yield `this path was already given on line ${first.position.line}; the two rules merge`;
  }
  if (pattern.text.includes("*")) {
    yield "a * that is not the last character is taken literally; + stands for one segment";
  }
  if (pattern.text.split("/").some((segment) => segment.includes("+") && segment !== "+")) {
    yield "a + inside a longer segment is taken literally";
  }
  if (rule.capabilities === bitsOf("sudo")) {
    yield "sudo grants nothing alone; it is needed beside another capability";
  }
  const { min, max } = rule.wrapping;
  if (max !== null && max < SECOND) {
    yield "no request meets its max_wrapping_ttl: answers are wrapped for at least 1s";
  } else if (min !== null && min < SECOND) {
    yield "its min_wrapping_ttl counts as 1s: answers are wrapped for at least that";
  }
  for (const directive of unserved(rule.template ?? [])) {
    yield `{{${directive}}} has no value on this server, so the rule matches nothing`;
  }
  const stronger = strongerIn(pattern, stars);
  if (stronger !== null) {
    yield `it never decides: ${showName(stronger)} matches the same paths and is the stronger`;
  }
}

/**
 * A rule that matches all that this one matches, and is stronger for having fewer `+`: both end in a
 * star, and it is a beginning of this one. `kv/*` is the commonest, beside `kv/+/x*`.
 */
function strongerIn(pattern: Pattern, stars: PrefixTree<Pattern>): string | null {
  const { kind, star, text, first, pluses } = pattern;
  if (kind !== "segments" || !star) return null;
  let found: string | null = null;
  stars.visit(text, (shorter) => {
    if (found !== null || shorter.text.length < first || shorter.text.length === text.length)
      return;
    if (shorter.pluses < pluses) found = labelOf(shorter);
  });
  return found;
}
