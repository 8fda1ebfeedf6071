// May this be done? The one rule that decides for a path, and what it says. Contract 3.3 to 3.7.

import type { JsonObject } from "../base/json.ts";
import type { Nanos } from "../base/world.ts";
import { type AclCapability, bitOf, bitsOf, wordsOf } from "./acl-capability.ts";
import type { CompiledAcl } from "./acl-compile.ts";
import type { MergedRule, PolicyRef } from "./acl-merged-rule.ts";
import { isWeaker } from "./acl-pattern.ts";

export interface AclQuestion {
  /** Relative to the namespace that the ACL was compiled for. */
  readonly path: string;
  readonly capability: Exclude<AclCapability, "sudo">;
  /** Whether `sudo` is needed beside it. */
  readonly sudo: boolean;
  /** Body or query parameters. */
  readonly data: JsonObject;
  /** Null where no wrapping was asked for. */
  readonly wrapTtl: Nanos | null;
}

export interface AclDecision {
  readonly allowed: boolean;
  /** The policies that granted the capability; empty when denied. */
  readonly granting: readonly PolicyRef[];
  /** What decided; null when nothing matched. For those who may ask why. */
  readonly rule: MergedRule | null;
}

export const SUDO = bitsOf("sudo");
export const WITHOUT_PARAMETERS = bitsOf("list", "scan", "delete");
export const LISTING = bitsOf("list", "scan");

export function decide(acl: CompiledAcl, question: AclQuestion): AclDecision {
  const bit = bitOf(question.capability) ?? 0;
  const rule =
    (bit & LISTING) === 0
      ? ruleFor(acl, question.path)
      : ruleForListing(acl, asFolder(question.path), bit);
  if (rule === null || !grants(rule, bit, question)) return { allowed: false, granting: [], rule };
  return { allowed: true, granting: rule.granting(bit), rule };
}

/** The words for a path: empty when nothing is granted. By the rules of listing, for the path as it
 *  is given (contract 4.6). */
export function capabilitiesOn(acl: CompiledAcl, path: string): AclCapability[] {
  const rule = ruleOn(acl, path);
  return rule === null || rule.denies ? [] : wordsOf(rule.capabilities);
}

/** The rule that the words for a path come from. */
export function ruleOn(acl: CompiledAcl, path: string): MergedRule | null {
  return ruleForListing(acl, path, bitsOf("list"));
}

function grants(rule: MergedRule, bit: number, question: AclQuestion): boolean {
  if (!rule.grants(question.sudo ? bit | SUDO : bit)) return false;
  if (!rule.permitsWrapping(question.wrapTtl)) return false;
  return (bit & WITHOUT_PARAMETERS) !== 0 || rule.permits(question.data);
}

/** Everything but listing: an exact rule, else the strongest that matches. Never a union. */
export function ruleFor(acl: CompiledAcl, path: string): MergedRule | null {
  const exact = acl.exact.get(path);
  if (exact !== undefined) return exact;
  let best = acl.prefixes.longest(path);
  acl.segments.visit(path, (rule) => {
    best = stronger(best, rule);
  });
  return best;
}

/**
 * The folder and its name without the slash are one place: a deeper `deny` written for either cannot
 * be dodged through the other, and a deeper rule that says nothing about listing hides no grant.
 */
export function ruleForListing(acl: CompiledAcl, path: string, bit: number): MergedRule | null {
  const bare = path.endsWith("/") ? path.slice(0, -1) : null;
  const exact = acl.exact.get(path) ?? (bare === null ? undefined : acl.exact.get(bare));
  if (exact !== undefined) return exact;
  let best: MergedRule | null = null;
  let denying: MergedRule | null = null;
  let granting: MergedRule | null = null;
  const consider = (rule: MergedRule | null) => {
    if (rule === null) return;
    best = stronger(best, rule);
    if (rule.denies) denying = stronger(denying, rule);
    if (rule.grants(bit)) granting = stronger(granting, rule);
  };
  for (const form of bare === null ? [path] : [path, bare]) {
    consider(acl.prefixes.longest(form));
    acl.segments.visit(form, consider);
  }
  if (denying !== null && (granting === null || isWeakerRule(granting, denying))) return denying;
  return granting ?? best;
}

function stronger(a: MergedRule | null, b: MergedRule): MergedRule {
  return a === null || isWeakerRule(a, b) ? b : a;
}

function isWeakerRule(a: MergedRule, b: MergedRule): boolean {
  return isWeaker(a.pattern, b.pattern);
}

export function asFolder(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
