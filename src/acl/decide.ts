// May this be done? The one rule that decides for a path, and what it says. docs/policies/acl.md has it in words.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Sliced } from "@holdfast/shared/sliced";
import type { Nanos } from "@holdfast/shared/world";
import { type AclCapability, bitOf, bitsOf, wordsOf } from "./capability.ts";
import type { CompiledAcl } from "./compile.ts";
import type { MergedRule, PolicyRef } from "./merged-rule.ts";
import { isWeaker } from "./pattern.ts";
import type { Reading } from "./parameters/value.ts";

export interface AclQuestion {
  /** Relative to the namespace that the ACL was compiled for. */
  readonly path: string;
  readonly capability: Exclude<AclCapability, "sudo">;
  /** Whether `sudo` is needed beside it. */
  readonly sudo: boolean;
  /** Parameters, as they are read; looked at where the rule that grants has something to say about them. */
  readonly data: JsonObject;
  /** How the values of parameters are read, by folded name. */
  readonly fields?: ReadonlyMap<string, Reading> | undefined;
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
const LISTING_BITS = [bitsOf("list"), bitsOf("scan")];
export const LISTING = bitsOf("list", "scan");

export function decide(acl: CompiledAcl, question: AclQuestion): AclDecision {
  return decideBy(decidingRule(acl, question), question);
}

export function decidingRule(
  acl: CompiledAcl,
  question: Pick<AclQuestion, "path" | "capability">,
): MergedRule | null {
  const bit = bitOf(question.capability) ?? 0;
  return (bit & LISTING) === 0
    ? ruleFor(acl, question.path)
    : ruleForListing(acl, asFolder(question.path), bit);
}

/** Whether there is any request of that kind that could be allowed, whatever its parameters and its wrapping. */
export function mightEver(
  acl: CompiledAcl,
  question: Pick<AclQuestion, "path" | "capability"> & Partial<Pick<AclQuestion, "sudo">>,
): boolean {
  const bit = bitOf(question.capability) ?? 0;
  return decidingRule(acl, question)?.grants(question.sudo === true ? bit | SUDO : bit) === true;
}

/** What has to be made ready before that rule decides, if it is much. */
export function preparationOf(rule: MergedRule | null, question: AclQuestion): Sliced<void> | null {
  const bit = bitOf(question.capability) ?? 0;
  if (rule?.checks !== true || !mayGrant(rule, bit, question)) return null;
  return (bit & WITHOUT_PARAMETERS) !== 0 ? null : rule.preparation(question.data, question.fields);
}

export function decideBy(rule: MergedRule | null, question: AclQuestion): AclDecision {
  const bit = bitOf(question.capability) ?? 0;
  if (rule === null || !grants(rule, bit, question)) return { allowed: false, granting: [], rule };
  return { allowed: true, granting: rule.granting(bit), rule };
}

/** The words for a path: each as a request for that operation would be decided, a list and a scan for
 *  the folder of that name. Empty when nothing is granted. */
export function capabilitiesOn(acl: CompiledAcl, path: string): AclCapability[] {
  return wordsOn(acl, path).words;
}

/** The same, and the rule that they come from; of a folder the one for lists. */
export function wordsOn(
  acl: CompiledAcl,
  path: string,
): { readonly words: AclCapability[]; readonly rule: MergedRule | null } {
  const isFolder = path.endsWith("/");
  const forms = formsOf(acl, asFolder(path));
  const own = isFolder ? forms.folder : forms.bare;
  const listed = LISTING_BITS.map((bit) => bitsFrom(listingRule(forms, bit)) & bit);
  const bits = listed.reduce((all, bit) => all | bit, bitsFrom(own) & ~LISTING);
  const listing = listingRule(forms, LISTING_BITS[0] ?? 0);
  return { words: wordsOf(bits), rule: isFolder ? listing : (own ?? listing) };
}

function bitsFrom(rule: MergedRule | null): number {
  return rule === null || rule.denies || !rule.isPassable ? 0 : rule.capabilities;
}

function grants(rule: MergedRule, bit: number, question: AclQuestion): boolean {
  if (!mayGrant(rule, bit, question)) return false;
  if ((bit & WITHOUT_PARAMETERS) !== 0 || !rule.checks) return true;
  return rule.permits(question.data, question.fields);
}

/** By all but the parameters, which are looked at last: they cost the most, and the caller chose them. */
function mayGrant(rule: MergedRule, bit: number, { sudo, wrapTtl }: AclQuestion): boolean {
  return rule.grants(sudo ? bit | SUDO : bit) && rule.permitsWrapping(wrapTtl);
}

/** Everything but listing: an exact rule, else the strongest that matches. Never a union. */
export function ruleFor(acl: CompiledAcl, path: string): MergedRule | null {
  const exact = acl.exact.get(path);
  if (exact !== undefined) return exact;
  const prefix = acl.prefixes.longest(path);
  const segments = acl.segments.strongest(path, BY_STRENGTH);
  if (prefix === null || segments === null) return prefix ?? segments;
  return isWeakerRule(prefix, segments) ? segments : prefix;
}

const BY_STRENGTH = {
  weaker: isWeakerRule,
  settles: ({ pattern }: MergedRule, pluses: number) => !pattern.star && pattern.pluses < pluses,
};

/**
 * The folder and its name without the slash are one place, so a rule may be written for either: each
 * of the two is decided alone, and a `deny` for one cannot be dodged through the other. A rule that
 * says nothing about listing leaves it to the one for the other form.
 */
export function ruleForListing(acl: CompiledAcl, folder: string, bit: number): MergedRule | null {
  return listingRule(formsOf(acl, folder), bit);
}

/** What decides for each form of a folder's path. */
interface Forms {
  readonly folder: MergedRule | null;
  readonly bare: MergedRule | null;
}

function formsOf(acl: CompiledAcl, folder: string): Forms {
  return { folder: ruleFor(acl, folder), bare: ruleFor(acl, folder.slice(0, -1)) };
}

function listingRule({ folder, bare }: Forms, bit: number): MergedRule | null {
  if (folder?.pattern.kind === "exact") return folder;
  if (bare?.pattern.kind === "exact") return bare;
  const [strong, weak] = inOrder(folder, bare);
  if (strong === null || weak === null || strong.denies || strong.grants(bit)) return strong;
  return weak.denies || weak.grants(bit) ? weak : strong;
}

/** The stronger of two, or the only one, first. */
function inOrder(
  a: MergedRule | null,
  b: MergedRule | null,
): readonly [MergedRule | null, MergedRule | null] {
  if (a === null || b === null) return [a ?? b, null];
  return isWeakerRule(a, b) ? [b, a] : [a, b];
}

function isWeakerRule(a: MergedRule, b: MergedRule): boolean {
  return isWeaker(a.pattern, b.pattern);
}

export function asFolder(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
