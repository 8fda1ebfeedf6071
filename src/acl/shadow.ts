// What one policy of a set takes from another without a `deny`: a rule that is stronger at some path
// and grants less there, or binds the request. Whoever leaves such a policy out has more rights than
// with it, now or when some of the rules have ended.

import { Pieces, type Sliced } from "@holdfast/shared/sliced";
import type { Instant } from "@holdfast/shared/world";
import type { CompiledAcl } from "./compile.ts";
import { LISTING, SUDO } from "./decide.ts";
import type { MergedRule, Source } from "./merged-rule.ts";
import { Overlaps, type Segments, segmentsOf, type Steps } from "./overlap.ts";
import { isWeaker, type Pattern } from "./pattern.ts";
import type { AclRule } from "./rule.ts";

const MAX_PASSES = 8;
const MAX_STEPS = 200_000; // beyond, what might overlap counts as if it did
const ANY = ~0;

export interface ShadowOptions {
  /** In how many of the namespaces below a policy counts that was written then. Default: there are none. */
  readonly reachOf?: (written: bigint) => number;
  readonly maxSteps?: number;
}

/** Those of the policies in `acl` that cannot be left out if only the rights of `kept` are wanted: names
 *  besides `kept`. What stays brings rules of its own, so that it is asked again until nothing is added;
 *  where that has no end, all of them stay. */
export function* shadowing(
  acl: CompiledAcl,
  kept: ReadonlySet<string>,
  { reachOf = () => 0, maxSteps = MAX_STEPS }: ShadowOptions = {},
): Sliced<ReadonlySet<string>> {
  const steps = new CountedSteps(maxSteps);
  const staying = new Set<string>();
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const isKept = ({ policy }: Source) => kept.has(policy.name) || staying.has(policy.name);
    const below = new Granted(steps);
    for (const rule of acl.all()) {
      if (steps.turn) yield;
      below.add(rule, isKept);
    }
    const before = staying.size;
    const found: string[] = [];
    for (const rule of acl.all()) {
      if (steps.turn) yield;
      const others = rule.sources.filter((source) => !isKept(source));
      if (others.length === 0) continue;
      const same = rule.sources.filter(isKept);
      if (!(yield* takesAway({ rule, others, same, reachOf }, below))) continue;
      for (const { policy } of others) found.push(policy.name);
    }
    for (const name of found) staying.add(name);
    if (staying.size === before) return staying;
  }
  for (const rule of acl.all()) {
    if (steps.turn) yield;
    for (const { policy } of rule.sources) if (!kept.has(policy.name)) staying.add(policy.name);
  }
  return staying;
}

class CountedSteps implements Steps {
  readonly #max: number;
  readonly #pieces = new Pieces();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get due(): boolean {
    this.#taken += 1;
    return this.#pieces.due;
  }

  /** The same for what is done once for each rule. */
  get turn(): boolean {
    return this.#pieces.due;
  }

  get spent(): boolean {
    return this.#taken > this.#max;
  }
}

interface Comparison {
  readonly rule: MergedRule;
  /** Its blocks of policies that are left out, and the rest of them. */
  readonly others: readonly Source[];
  readonly same: readonly Source[];
  readonly reachOf: (written: bigint) => number;
}

function* takesAway({ rule, others, same, reachOf }: Comparison, below: Granted): Sliced<boolean> {
  const { pattern } = rule;
  const binds = others.some((source) => isBound(source.rule));
  // Blocks with one label: grants add up, and bounds do too.
  if (same.length > 0 && binds) return true;
  const exact = pattern.kind === "exact";
  const own = spansOf(others, reachOf);
  const alone = withoutEqual(own, spansOf(same, reachOf));
  if (alone.length > 0) {
    const min = binds ? 0 : minOf(alone);
    if (yield* below.hasMore({ pattern, min, wants: ANY })) return true;
    // A list is decided by an exact label in either form, the one with the slash before the other.
    if (exact) return yield* below.hasMoreListing({ pattern, min, wants: LISTING });
  }
  if (exact) return false;
  // Else for either form of a folder, and of two labels that grant it the stronger has the word.
  const wants = own.reduce((bits, { capabilities }) => bits | capabilities, 0) & LISTING;
  if (wants === 0) return false;
  const wraps = rule.sources.some((source) => isWrapped(source.rule));
  return yield* below.hasMoreListing({ pattern, min: wraps ? 0 : minOf(own), wants });
}

function isBound(rule: AclRule): boolean {
  const { allowed, denied, required } = rule.parameters;
  return allowed.size + denied.size + required.size > 0 || isWrapped(rule);
}

function isWrapped({ wrapping }: AclRule): boolean {
  return wrapping.min !== null || wrapping.max !== null;
}

// --- how long, and where, blocks count ---

interface Span {
  /** Null: it has no end. */
  readonly end: Instant | null;
  /** In how many namespaces below: a policy counts in those alone that were made before it was written. */
  readonly reach: number;
  readonly capabilities: number;
}

const MAX_SPANS = 64; // each is compared with each

/** Of blocks with one label, what counts as long and as far as one. */
function spansOf(sources: readonly Source[], reachOf: (written: bigint) => number): Span[] {
  const spans = new Map<string, Span>();
  for (const source of sources) {
    const end = endOf(source);
    const reach = reachOf(source.policy.written);
    const key = `${end ?? ""}/${reach}`;
    const capabilities = (spans.get(key)?.capabilities ?? 0) | source.rule.capabilities;
    spans.set(key, { end, reach, capabilities });
  }
  return [...spans.values()];
}

function endOf({ policy, rule }: Source): Instant | null {
  if (policy.expires === null || rule.expires === null) return policy.expires ?? rule.expires;
  return policy.expires < rule.expires ? policy.expires : rule.expires;
}

/** Whether the one counts wherever and as long as the other does. */
function covers(one: Span, other: Span): boolean {
  const lasts = one.end === null || (other.end !== null && one.end >= other.end);
  return lasts && one.reach >= other.reach;
}

/** Those that somewhere, or some day, count with none of the others beside them. */
function withoutEqual(spans: readonly Span[], others: readonly Span[]): readonly Span[] {
  if (Math.max(spans.length, others.length) > MAX_SPANS) return spans;
  return spans.filter((span) => !others.some((other) => covers(other, span)));
}

/** What they grant together wherever and whenever one of them counts. */
function minOf(spans: readonly Span[]): number {
  const few = spans.length <= MAX_SPANS;
  return spans.reduce((min, span) => {
    const beside = few ? spans.filter((other) => covers(other, span)) : [span];
    return min & beside.reduce((bits, { capabilities }) => bits | capabilities, 0);
  }, ANY);
}

// --- what the rest grants ---

interface Grant {
  readonly pattern: Pattern;
  readonly capabilities: number;
}

/** A label that may hide others. */
interface Hiding {
  readonly pattern: Pattern;
  /** What it grants itself, in any case. */
  readonly min: number;
  /** Who grants none of these is hidden for no harm. */
  readonly wants: number;
}

class Granted {
  readonly #steps: Steps;
  readonly #grants = new Overlaps<Grant>();

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  add({ pattern, sources }: MergedRule, isKept: (source: Source) => boolean): void {
    const kept = sources.filter(isKept);
    if (kept.length === 0) return;
    const capabilities = kept.reduce((bits, { rule }) => bits | rule.capabilities, 0);
    this.#grants.add({ pattern, capabilities });
  }

  /** Whether a weaker pattern that meets this one grants more. */
  *hasMore(hiding: Hiding): Sliced<boolean> {
    return yield* this.#isMore(hiding, segmentsOf(hiding.pattern));
  }

  /** The same for a weaker one that meets the other form of a folder, and for lists. */
  *hasMoreListing(hiding: Hiding): Sliced<boolean> {
    const min = hiding.min | ~(hiding.wants | SUDO);
    for (const form of otherForms(segmentsOf(hiding.pattern))) {
      if (yield* this.#isMore({ ...hiding, min }, form)) return true;
    }
    return false;
  }

  *#isMore({ pattern, min, wants }: Hiding, segments: Segments): Sliced<boolean> {
    const counts = (one: Grant) =>
      (one.capabilities & wants) !== 0 &&
      (one.capabilities & ~min) !== 0 &&
      (pattern.kind === "exact" || isWeaker(one.pattern, pattern));
    return yield* this.#grants.some(segments, counts, this.#steps);
  }
}

/** What matches a folder's name where a pattern matches the folder, and the other way round. Whatever an
 *  open one matches without the slash it matches with it. */
function otherForms({ parts, open }: Segments): Segments[] {
  const last = parts.at(-1);
  const without = { parts: parts.slice(0, -1), open: false };
  if (open) return last === "" ? [without] : [];
  const forms = [{ parts: [...parts, ""], open: false }];
  return last === "" || last === null ? [...forms, without] : forms;
}
