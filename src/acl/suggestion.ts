// The smallest rule that would allow a request that was denied: an exact label, which decides alone
// and for no other path. It takes over what held on that path so far, grants and constraints, since it
// hides the rule that they came from. For those who may ask why, never for the caller.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import { bitOf, bitsOf, wordsOf } from "./capability.ts";
import type { CompiledAcl } from "./compile.ts";
import {
  type AclQuestion,
  asFolder,
  LISTING,
  ruleForListing,
  SUDO,
  WITHOUT_PARAMETERS,
} from "./decide.ts";
import type { MergedRule, Source } from "./merged-rule.ts";
import {
  foldName,
  NO_PARAMETERS,
  ParameterCheck,
  type ParameterProblem,
  type ParameterRules,
  type Readings,
  deniedSetOf,
} from "./parameters/parameters.ts";
import { patternOf } from "./pattern.ts";
import { printRule } from "./print.ts";
import { NO_BOUNDS, type Wrapping } from "./rule.ts";
import { templateOf } from "./template.ts";
import type { Reading, RuleValue } from "./parameters/value.ts";

export interface SmallestRule {
  readonly label: string;
  readonly capabilities: readonly string[];
  /** As HCL. */
  readonly text: string;
  /** Blocks with the same label that it must stand instead of: another beside them cannot take away
   *  what they deny or demand. Empty where it is enough to add the rule to any policy of the token. */
  readonly replaces: readonly Source[];
}

/** `decided` is the rule that denied; null where none matched. Null where no label says the path. */
export function smallestRule(
  acl: CompiledAcl,
  question: AclQuestion,
  decided: MergedRule | null,
): SmallestRule | null {
  const bit = bitOf(question.capability) ?? 0;
  const listing = (bit & LISTING) !== 0;
  const path = listing ? asFolder(question.path) : question.path;
  const label = acl.lead + path;
  if (path === "" || !isLiteral(label)) return null;
  const needed = question.sudo ? bit | SUDO : bit;
  const same = acl.exact.get(path);
  if (same !== undefined) return amended(same, label, needed, question);
  const base = decided === null || decided.denies ? null : decided;
  const wrapping = base === null ? NO_BOUNDS : around(base.wrapping, question.wrapTtl);
  if (listing) {
    const capabilities = listingOn(acl, path, needed, wrapping).capabilities | needed;
    return suggested({ label, capabilities, parameters: NO_PARAMETERS, wrapping, replaces: [] });
  }
  const others = ((base?.capabilities ?? 0) & ~LISTING) | needed;
  const parameters = base === null ? NO_PARAMETERS : passing(base.parameters(), question);
  const held = listingOn(acl, path, others, wrapping);
  const capabilities = held.apart ? others : others | held.capabilities;
  const rule = suggested({ label, capabilities, parameters, wrapping, replaces: [] });
  if (!held.apart) return rule;
  const beside = { ...held, label: asFolder(label), parameters: NO_PARAMETERS, replaces: [] };
  return { ...rule, text: `${rule.text}\n${suggested(beside).text}` };
}

/** Beside a rule with the very label what is missing is enough, if nothing has to go. */
function amended(
  same: MergedRule,
  label: string,
  needed: number,
  question: AclQuestion,
): SmallestRule {
  const before = same.parameters();
  const parameters = passing(before, question);
  const wrapping = around(same.wrapping, question.wrapTtl);
  const goes =
    same.denies ||
    !same.permitsWrapping(question.wrapTtl) ||
    before.required.size > parameters.required.size ||
    before.denied !== parameters.denied;
  if (goes) {
    const capabilities = (same.denies ? 0 : same.capabilities) | needed;
    const whole = same.denies ? { parameters: NO_PARAMETERS, wrapping: NO_BOUNDS } : null;
    const kept = whole ?? { parameters, wrapping };
    return suggested({ label, capabilities, ...kept, replaces: same.sources });
  }
  const added = [...parameters.allowed].filter(
    ([name, values]) => before.allowed.get(name) !== values,
  );
  return suggested({
    label,
    capabilities: needed & ~same.capabilities,
    parameters: { ...NO_PARAMETERS, allowed: new Map(added) },
    wrapping: NO_BOUNDS,
    replaces: [],
  });
}

interface Parts {
  readonly label: string;
  readonly capabilities: number;
  readonly parameters: ParameterRules;
  readonly wrapping: Wrapping;
  readonly replaces: readonly Source[];
}

function suggested({ replaces, ...parts }: Parts): SmallestRule {
  const { label } = parts;
  const capabilities = wordsOf(parts.capabilities);
  return { label, capabilities, text: printRule({ ...parts, capabilities }), replaces };
}

/** Whether a label means this text and nothing else. */
function isLiteral(label: string): boolean {
  const { kind, text } = patternOf(label);
  return kind === "exact" && text === label && templateOf(label)?.length === 1;
}

interface Listing {
  readonly capabilities: number;
  readonly wrapping: Wrapping;
  /** Whether it needs a block of its own: `sudo` or the bounds are others than for the rest. */
  readonly apart: boolean;
}

/** An exact label decides for listing as well: what may be listed there now stays so, and no more. */
function listingOn(acl: CompiledAcl, path: string, rest: number, wrapping: Wrapping): Listing {
  const none = { capabilities: 0, wrapping, apart: false };
  const folder = asFolder(path);
  if (folder !== path && acl.exact.has(folder)) return none; // decides before
  const granting = [bitsOf("list"), bitsOf("scan")].flatMap((bit) => {
    const rule = ruleForListing(acl, folder, bit);
    return rule?.grants(bit) === true && rule.isPassable ? [{ bit, rule }] : [];
  });
  const [first] = granting;
  if (first === undefined) return none;
  const listed = granting.reduce((bits, { bit }) => bits | bit, 0);
  const sudo = granting.every(({ rule }) => rule.grants(SUDO)) ? SUDO : 0;
  const bounds = first.rule.wrapping;
  const agree =
    sudo === (rest & SUDO) && bounds.min === wrapping.min && bounds.max === wrapping.max;
  if (agree) return { ...none, capabilities: listed };
  return { capabilities: listed | sudo, wrapping: bounds, apart: true };
}

/** The bounds, moved no further than the request needs. */
function around({ min, max }: Wrapping, ttl: Nanos | null): Wrapping {
  if (ttl === null) return NO_BOUNDS;
  return {
    min: min === null || min < ttl ? min : ttl,
    max: max === null || max > ttl ? max : ttl,
  };
}

/** The rules on parameters, changed as little as lets the request pass. Its values are not written
 *  into them: they may be secrets. */
function passing(rules: ParameterRules, { data, fields, capability }: AclQuestion): ParameterRules {
  if (((bitOf(capability) ?? 0) & WITHOUT_PARAMETERS) !== 0) return rules;
  if (rules.tooMany === true) return NO_PARAMETERS;
  let current = rules;
  // Each round takes away one thing of each name: that it is asked for, that all are denied, that it
  // is denied, that it is not allowed.
  for (;;) {
    const problems = [...(ParameterCheck.of(current)?.problems(data, fields) ?? [])];
    if (problems.length === 0) return current;
    const changed = {
      allowed: new Map(current.allowed),
      denied: new Map(current.denied),
      required: new Set(current.required),
    };
    for (const problem of problems) relax(changed, problem, data, fields);
    const same = (key: "allowed" | "denied") =>
      current[key].size === changed[key].size &&
      [...changed[key]].every(([name, values]) => current[key].get(name) === values);
    current = {
      allowed: same("allowed") ? current.allowed : changed.allowed,
      denied: same("denied") ? current.denied : changed.denied,
      required: changed.required,
      weight: current.weight,
    };
  }
}

interface Changing {
  readonly allowed: Map<string, readonly RuleValue[]>;
  readonly denied: Map<string, readonly RuleValue[]>;
  readonly required: Set<string>;
}

function relax(
  rules: Changing,
  { kind, name }: ParameterProblem,
  data: JsonObject,
  fields: Readings | undefined,
): void {
  const { allowed, denied, required } = rules;
  switch (kind) {
    case "missing":
      required.delete(name);
      return;
    case "denied-all":
      denied.delete("*");
      allowed.delete("*"); // of all names, no more than those that are given
      for (const sent of Object.keys(data)) setIfNone(allowed, foldName(sent));
      return;
    case "denied-value": {
      const field = fields?.get(name);
      const key = Object.keys(data).find((sent) => sent === field?.name || foldName(sent) === name);
      const caught = data[key ?? name];
      const left = notCaught(name, denied.get(name) ?? [], caught ?? null, field);
      if (left.length === 0) denied.delete(name);
      else denied.set(name, left);
      return;
    }
    case "denied":
      denied.delete(name);
      return;
    case "unlisted":
    case "other-value":
      allowed.set(name, []);
      return;
    case "too-long":
    case "too-many-values":
      denied.delete(name);
      if (allowed.has(name)) allowed.set(name, []);
  }
}

const MAX_TRIED = 64; // values that are compared with a request one by one

/** Fewer than there were, in any case: a round that changed nothing would be followed by another. */
function notCaught(
  name: string,
  values: readonly RuleValue[],
  caught: JsonValue,
  reading: Reading | undefined,
) {
  if (values.length > MAX_TRIED) return [];
  const left = values.filter(
    (value) => !deniedSetOf(name, [value], reading).catches(caught, reading),
  );
  return left.length < values.length ? left : [];
}

function setIfNone(named: Map<string, readonly RuleValue[]>, name: string): void {
  if (!named.has(name)) named.set(name, []);
}
