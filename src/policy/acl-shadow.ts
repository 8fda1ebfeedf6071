// What one policy of a set takes from another without a `deny`: a rule that is stronger at some path
// and grants less there, or binds the request. Whoever leaves such a policy out has more rights than
// with it.

import { Pieces, type Sliced } from "../base/sliced.ts";
import { bitsOf } from "./acl-capability.ts";
import type { CompiledAcl } from "./acl-compile.ts";
import type { MergedRule, Source } from "./acl-merged-rule.ts";
import { isWeaker, type Pattern } from "./acl-pattern.ts";
import type { AclRule } from "./acl-rule.ts";

const LISTING = bitsOf("list", "scan", "sudo");
const MOST_PASSES = 8;
const MOST_COMPARED = 200_000; // pairs of patterns; beyond, what might overlap counts as if it did

/** Those of the policies in `acl` that cannot be left out if only the rights of `kept` are wanted: names
 *  besides `kept`. What stays brings rules of its own, so that it is asked again until nothing is added;
 *  where that has no end, all of them stay. */
export function* shadowing(
  acl: CompiledAcl,
  kept: ReadonlySet<string>,
): Sliced<ReadonlySet<string>> {
  const pieces = new Pieces();
  const staying = new Set<string>();
  const budget = { compared: 0 };
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const isKept = ({ policy }: Source) => kept.has(policy.name) || staying.has(policy.name);
    const below = new Granted(budget);
    for (const rule of acl.all()) {
      if (pieces.due) yield;
      below.add(rule, isKept);
    }
    const before = staying.size;
    const found: string[] = [];
    for (const rule of acl.all()) {
      if (pieces.due) yield;
      const others = rule.sources.filter((source) => !isKept(source));
      if (others.length === 0 || !takesAway(rule, others, isKept, below)) continue;
      for (const { policy } of others) found.push(policy.name);
    }
    for (const name of found) staying.add(name);
    if (staying.size === before) return staying;
  }
  for (const rule of acl.all()) {
    if (pieces.due) yield;
    for (const { policy } of rule.sources) if (!kept.has(policy.name)) staying.add(policy.name);
  }
  return staying;
}

function takesAway(
  whole: MergedRule,
  others: readonly Source[],
  isKept: (source: Source) => boolean,
  below: Granted,
): boolean {
  const binds = others.some(({ rule }) => isBound(rule));
  const same = whole.sources.filter(isKept);
  // Blocks with one label: grants add up, and bounds do too.
  if (same.length > 0 && binds) return true;
  if (same.some(({ rule }) => rule.expires === null)) return false;
  const { pattern } = whole;
  const capabilities = binds ? 0 : whole.capabilities;
  if (below.hasMore(pattern, capabilities)) return true;
  if (pattern.kind !== "exact") return false;
  // A list is decided by an exact label in either form, the one with the slash before the other.
  return below.hasMore(otherForm(pattern), capabilities | ~LISTING);
}

function otherForm(pattern: Pattern): Pattern {
  const text = pattern.text.endsWith("/") ? pattern.text.slice(0, -1) : `${pattern.text}/`;
  return { ...pattern, text, first: text.length };
}

function isBound({ parameters, wrapping }: AclRule): boolean {
  const { allowed, denied, required } = parameters;
  const parameterRules = allowed.size + denied.size + required.size;
  return parameterRules > 0 || wrapping.min !== null || wrapping.max !== null;
}

interface Grant {
  readonly pattern: Pattern;
  readonly capabilities: number;
}

/** What patterns grant, by the text before their first wildcard. */
class Granted {
  readonly #budget: { compared: number };
  readonly #byLead = new Map<string, Grant[]>();
  readonly #lengths = new Set<number>();

  constructor(budget: { compared: number }) {
    this.#budget = budget;
  }

  add({ pattern, sources }: MergedRule, isKept: (source: Source) => boolean): void {
    const kept = sources.filter(isKept);
    if (kept.length === 0) return;
    const capabilities = kept.reduce((bits, { rule }) => bits | rule.capabilities, 0);
    const lead = leadOf(pattern);
    const grants = this.#byLead.get(lead);
    if (grants === undefined) this.#byLead.set(lead, [{ pattern, capabilities }]);
    else grants.push({ pattern, capabilities });
    this.#lengths.add(lead.length);
  }

  /** Whether a weaker pattern that meets this one grants something else than these. */
  hasMore(pattern: Pattern, capabilities: number): boolean {
    // A weaker one has its first wildcard no later; of exact ones only the same meets this.
    const lead = leadOf(pattern);
    for (const length of this.#lengths) {
      if (length > lead.length) continue;
      const grants = this.#byLead.get(lead.slice(0, length)) ?? [];
      const more = grants.some((one) => {
        if ((one.capabilities & ~capabilities) === 0) return false;
        this.#budget.compared += 1;
        if (this.#budget.compared > MOST_COMPARED) return true;
        const weaker = pattern.kind === "exact" || isWeaker(one.pattern, pattern);
        return weaker && overlap(one.pattern, pattern);
      });
      if (more) return true;
    }
    return false;
  }
}

function leadOf({ text, first }: Pattern): string {
  return text.slice(0, first);
}

/** Whether some path matches both. */
export function overlap(a: Pattern, b: Pattern): boolean {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; ; i++) {
    const [l, r] = [left[i], right[i]];
    if (l === undefined || r === undefined) return l === r;
    if (l.open && r.open) return meet(l.text, r.text);
    if (l.open) return r.text === null || r.text.startsWith(l.text ?? "");
    if (r.open) return l.text === null || l.text.startsWith(r.text ?? "");
    if (l.text !== null && r.text !== null && l.text !== r.text) return false;
  }
}

interface Part {
  /** Null for `+`. */
  readonly text: string | null;
  /** Whatever follows. */
  readonly open: boolean;
}

function partsOf({ kind, star, text }: Pattern): Part[] {
  const segments = text.split("/");
  return segments.map((segment, i) => {
    const open = star && i === segments.length - 1;
    return { text: kind === "segments" && segment === "+" && !open ? null : segment, open };
  });
}

function meet(a: string | null, b: string | null): boolean {
  return a === null || b === null || a.startsWith(b) || b.startsWith(a);
}
