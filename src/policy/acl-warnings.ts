// What a document says that is legal and hardly ever meant. Users lose days on these, so the answer
// to the write names them.

import { bitsOf } from "./acl-capability.ts";
import { keyOf, type Pattern, patternOf } from "./acl-pattern.ts";
import type { AclRule } from "./acl-rule.ts";
import { unserved } from "./acl-template.ts";
import { showName } from "./document-failure.ts";

const MOST = 100; // a document may have 10,000 rules, and an answer is read by people

export function warningsOf(rules: readonly AclRule[]): string[] {
  const warnings: string[] = [];
  const written = rules.map((rule) => ({
    rule,
    pattern: rule.pattern ?? patternOf(rule.label),
  }));
  const firsts = new Map<string, AclRule>();
  for (const { rule, pattern } of written) {
    const key = keyOf(pattern);
    if (!firsts.has(key)) firsts.set(key, rule);
  }
  for (const { rule, pattern } of written) {
    for (const problem of problemsOf(rule, pattern, firsts)) {
      warnings.push(`path ${showName(rule.label)} on line ${rule.position.line}: ${problem}`);
    }
    if (warnings.length >= MOST) break;
  }
  return warnings.slice(0, MOST);
}

function* problemsOf(
  rule: AclRule,
  pattern: Pattern,
  firsts: ReadonlyMap<string, AclRule>,
): Generator<string> {
  const first = firsts.get(keyOf(pattern));
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
  for (const directive of unserved(rule.template ?? [])) {
    yield `{{${directive}}} has no value on this server, so the rule matches nothing`;
  }
  const stronger = strongerIn(pattern, firsts);
  if (stronger !== undefined) {
    yield `it never decides: ${showName(stronger)} matches the same paths and is the stronger`;
  }
}

/**
 * A rule that matches all that this one matches, and is stronger for having fewer `+`: both end in a
 * star, and it is a beginning of this one. `kv/*` is the commonest, beside `kv/+/x*`.
 */
function strongerIn(pattern: Pattern, firsts: ReadonlyMap<string, AclRule>): string | undefined {
  const { kind, star, text, first, pluses } = pattern;
  if (kind !== "segments" || !star) return undefined;
  for (let end = first; end < text.length; end += 1) {
    if (text[end - 1] === "+") continue; // `+*` is no rule
    const label = `${text.slice(0, end)}*`;
    const shorter = patternOf(label);
    if (shorter.pluses < pluses && firsts.has(keyOf(shorter))) return label;
  }
  return undefined;
}
