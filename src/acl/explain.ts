// Why a request is allowed or denied: the rule that decided, with policy, line and column, what stood
// in the way, which other rules matched and lost, and the smallest rule that would allow it. Pure. For
// those who may know; whoever was denied is told nothing of it.

import { showDuration } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { bitOf, wordsOf } from "./capability.ts";
import type { CompiledAcl, LeftOut } from "./compile.ts";
import {
  type AclQuestion,
  asFolder,
  decide,
  LISTING,
  ruleFor,
  SUDO,
  WITHOUT_PARAMETERS,
} from "./decide.ts";
import type { MergedRule, Source } from "./merged-rule.ts";
import type { ParameterProblem } from "./parameters/parameters.ts";
import { isWeaker, labelOf, matches, whyWeaker } from "./pattern.ts";
import { MAX_COMPARED } from "./parameters/value.ts";
import { smallestRule } from "./suggestion.ts";
import { showName } from "../document/document-failure.ts";

/** One block of a rule. */
export interface RulePlace {
  readonly name: string;
  readonly namespaceId: string;
  /** As written there. */
  readonly label: string;
  readonly line: number;
  readonly column: number;
}

export interface ExplainedRule {
  /** As it matches: filled in, and relative to the namespace of the request. */
  readonly label: string;
  readonly policies: readonly RulePlace[];
  /** `deny` alone where it denies. */
  readonly capabilities: readonly string[];
}

export interface Candidate extends ExplainedRule {
  /** Why it did not decide. */
  readonly why: string;
}

export interface Suggestion {
  readonly label: string;
  readonly capabilities: readonly string[];
  /** As HCL, relative to the namespace of the policies. */
  readonly text: string;
  /** Blocks that it must stand instead of; empty where it is enough to add it. */
  readonly replaces: readonly RulePlace[];
}

export interface Explanation {
  readonly allowed: boolean;
  /** What decided; null where no rule matched. */
  readonly rule: ExplainedRule | null;
  readonly reason: string;
  /** The strongest first. */
  readonly candidates: readonly Candidate[];
  /** Null where the request is allowed, and where no label says its path. */
  readonly suggestion: Suggestion | null;
}

const MAX_CANDIDATES = 20; // candidates; a path may be matched by thousands

export function explain(acl: CompiledAcl, question: AclQuestion): Explanation {
  const { allowed, rule } = decide(acl, question);
  const matching = matchesOf(acl, question);
  const lost = matching.rules.filter((other) => other !== rule);
  const deciders = formsOf(question).map((form) => ({ form, rule: ruleFor(acl, form) }));
  const candidates = lost
    .toSorted((a, b) => (isStronger(a, b) ? -1 : 1))
    .map((other) => ({
      ...showRule(other),
      why: rule === null ? "" : whyLost(other, rule, deciders),
    }))
    .concat(matching.leftOut.map((left) => ({ ...showLeftOut(left), why: whyLeft(left) })));
  const smallest = allowed ? null : smallestRule(acl, question, rule);
  return {
    allowed,
    rule: rule === null ? null : showRule(rule),
    reason:
      allowed && rule !== null ? grantText(rule, question) : denialOf(rule, question, matching),
    candidates: candidates.slice(0, MAX_CANDIDATES),
    suggestion:
      smallest === null ? null : { ...smallest, replaces: smallest.replaces.map(placeOf) },
  };
}

// --- what matches ---

interface Matching {
  readonly rules: readonly MergedRule[];
  readonly leftOut: readonly LeftOut[];
}

function matchesOf(acl: CompiledAcl, question: AclQuestion): Matching {
  const forms = formsOf(question);
  const rules = new Set<MergedRule>();
  for (const form of forms) {
    const exact = acl.exact.get(form);
    if (exact !== undefined) rules.add(exact);
    acl.prefixes.visit(form, (rule) => void rules.add(rule));
    acl.segments.visit(form, (rule) => void rules.add(rule));
  }
  const leftOut = acl.leftOut.filter((left) => forms.some((form) => mayMatch(acl, left, form)));
  return { rules: [...rules], leftOut };
}

function formsOf({ path, capability }: AclQuestion): readonly string[] {
  if (!isListing(capability)) return [path];
  const folder = asFolder(path);
  return [folder, folder.slice(0, -1)];
}

/** A label that was not filled in may stand for much: what it begins with is all that is known. */
function mayMatch(acl: CompiledAcl, { pattern, rule }: LeftOut, path: string): boolean {
  if (pattern !== null) return matches(pattern, path);
  const [begins = ""] = rule.template ?? [];
  return (acl.lead + path).startsWith(begins.startsWith("/") ? begins.slice(1) : begins);
}

// --- who won ---

function isStronger(a: MergedRule, b: MergedRule): boolean {
  if (a.pattern.kind === "exact") return true;
  return b.pattern.kind !== "exact" && isWeaker(b.pattern, a.pattern);
}

/** Which rule decides for each form of the path: a list has two, and is decided by one of theirs. */
type Deciders = readonly { readonly form: string; readonly rule: MergedRule | null }[];

function whyLost(rule: MergedRule, winner: MergedRule, deciders: Deciders): string {
  if (winner.pattern.kind === "exact") {
    return rule.pattern.kind === "exact"
      ? "for a list the label with the slash decides first"
      : "an exact label decides before any pattern";
  }
  if (isStronger(winner, rule)) {
    return `the weaker of the two: ${whyWeaker(rule.pattern, winner.pattern)}`;
  }
  const over = deciders.find(
    ({ form, rule: other }) =>
      other !== null && other !== rule && matches(rule.pattern, form) && isStronger(other, rule),
  )?.rule;
  if (over !== null && over !== undefined) {
    return `weaker than ${showName(labelOf(over.pattern))}: ${whyWeaker(rule.pattern, over.pattern)}`;
  }
  // It decides for one form of a list's path, and leaves the list to the other.
  return "it neither grants nor denies listing, and so hides nobody who does";
}

function whyLeft({ why, rule, policy }: LeftOut): string {
  switch (why) {
    case "expired":
      return rule.expires === null
        ? "its policy has expired"
        : `it expired at ${showTime(rule.expires)}`;
    case "unfilled":
      return "the token has no value that its label could be filled in with";
    case "older":
      return `policy ${showName(policy.name)} was last written before this namespace was made`;
  }
}

// --- in words ---

function grantText(rule: MergedRule, { capability, sudo }: AclQuestion): string {
  return `${ruleText(rule)} grants ${sudo ? `${capability} and sudo` : capability}`;
}

function denialOf(rule: MergedRule | null, question: AclQuestion, { leftOut }: Matching): string {
  const { capability, path } = question;
  if (rule === null) {
    const [left] = leftOut;
    const besides = left === undefined ? "" : `; of ${showLeftOut(left).label}, ${whyLeft(left)}`;
    return `no rule matches ${showName(path)}${besides}`;
  }
  const bit = bitOf(capability) ?? 0;
  const name = ruleText(rule);
  if (rule.denies) return `${name} denies everything`;
  const granted = wordsOf(rule.capabilities).join(", ");
  if (!rule.grants(bit)) {
    return `${name} grants ${granted === "" ? "nothing" : granted}, but not ${capability}`;
  }
  if (question.sudo && !rule.grants(SUDO)) {
    return `${name} grants ${granted}, but this path needs sudo besides`;
  }
  const wrapping = wrappingProblem(rule, question);
  if (wrapping !== null) return `${name}: ${wrapping}`;
  const problem =
    (bit & WITHOUT_PARAMETERS) === 0 ? rule.parameterProblem(question.data, question.fields) : null;
  return problem === null ? `${name} denies it` : `${name}: ${parameterText(problem)}`;
}

function wrappingProblem(rule: MergedRule, { wrapTtl }: AclQuestion): string | null {
  if (rule.permitsWrapping(wrapTtl)) return null;
  const { min, max } = rule.wrapping;
  if (min !== null && max !== null && max < min) {
    return `max_wrapping_ttl ${showDuration(max)} is below min_wrapping_ttl ${showDuration(min)}, so nothing passes`;
  }
  const key = min !== null && (wrapTtl === null || wrapTtl < min) ? "min" : "max";
  const bound = `${key}_wrapping_ttl ${showDuration((key === "min" ? min : max) ?? 0n)}`;
  if (wrapTtl === null)
    return `the answer must be wrapped (${bound}), and no wrapping was asked for`;
  const than = key === "min" ? "shorter" : "longer";
  return `wrapping for ${showDuration(wrapTtl)} is ${than} than ${bound}`;
}

function parameterText({ kind, name }: ParameterProblem): string {
  const quoted = showName(name);
  switch (kind) {
    case "missing":
      return `parameter ${quoted} is missing and required_parameters names it`;
    case "denied-all":
      return `denied_parameters has "*", so no parameter may be given, and ${quoted} was`;
    case "denied":
      return `parameter ${quoted} stands in denied_parameters`;
    case "denied-value":
      return `the value of parameter ${quoted} stands in denied_parameters`;
    case "unlisted":
      return `parameter ${quoted} does not stand in allowed_parameters`;
    case "other-value":
      return `the value of parameter ${quoted} is none of those in allowed_parameters`;
    case "too-long":
      return (
        `parameter ${quoted} makes more than can be compared with the values of a rule: ` +
        `at most ${MAX_COMPARED.characters} characters and ${MAX_COMPARED.parts} parts in a request`
      );
    case "too-many-values":
      return `the blocks with this path name more values for parameter ${quoted} than are compared`;
  }
}

/** `"kv/*" of policy "app" on line 3, column 1`. */
function ruleText(rule: MergedRule): string {
  const [first] = rule.sources;
  const label = showName(labelOf(rule.pattern));
  if (first === undefined) return label;
  const { name, line, column } = placeOf(first);
  const more = rule.sources.length - 1;
  const others =
    more === 0 ? "" : more === 1 ? " (and one more block)" : ` (and ${more} more blocks)`;
  return `${label} of policy ${showName(name)} on line ${line}, column ${column}${others}`;
}

function showRule(rule: MergedRule): ExplainedRule {
  return {
    label: labelOf(rule.pattern),
    policies: rule.sources.map(placeOf),
    capabilities: rule.denies ? ["deny"] : wordsOf(rule.capabilities),
  };
}

function showLeftOut(left: LeftOut): ExplainedRule {
  const { capabilities, label } = left.rule;
  const words = wordsOf(capabilities);
  return {
    label: left.pattern === null ? label : labelOf(left.pattern),
    policies: [placeOf(left)],
    capabilities: capabilities !== 0 && words.length === 0 ? ["deny"] : words,
  };
}

function placeOf({ policy, rule }: Source): RulePlace {
  const { name, namespaceId } = policy;
  const { line, column } = rule.position;
  return { name, namespaceId, label: rule.label, line, column };
}

function isListing(capability: AclQuestion["capability"]): boolean {
  return ((bitOf(capability) ?? 0) & LISTING) !== 0;
}
