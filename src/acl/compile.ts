// The policies of a token, compiled once into a structure whose lookup does not grow with the number
// of rules. Pure: the time is handed in, and the result says for which times it holds. Policy by
// policy, so that whoever has a thousand of them can give way to others in between.

import { atOnce, Pieces, type Sliced } from "@holdfast/shared/sliced";
import type { Instant } from "@holdfast/shared/world";
import type { AclDocument } from "./document.ts";
import { MergedRule, type Source, type StatedPolicy } from "./merged-rule.ts";
import { type Pattern, patternInside, patternOf } from "./pattern.ts";
import { PrefixTree } from "./prefix-tree.ts";
import type { AclRule } from "./rule.ts";
import { SegmentTree } from "./segment-tree.ts";
import { type Directives, fill } from "./template.ts";

export interface PolicyInForce extends StatedPolicy {
  readonly document: AclDocument;
  /** See rulesAlone. Default: made for each set anew. */
  readonly alone?: readonly (MergedRule | null)[] | undefined;
}

/** The rules of a policy, each for itself, null where a label is to be filled in: made once for all
 *  sets that hold the policy. Most rules of a set share their label with no other. */
export function* rulesAlone(policy: Omit<PolicyInForce, "alone">): Sliced<(MergedRule | null)[]> {
  const alone: (MergedRule | null)[] = [];
  const pieces = new Pieces();
  for (const rule of policy.document.rules) {
    if (pieces.due) yield;
    const { pattern } = rule;
    alone.push(pattern === null ? null : new MergedRule(pattern, { policy, rule }));
  }
  return alone;
}

export interface CompileOptions {
  readonly now: Instant;
  /** A namespace below the one that the policies live in; null is that one itself. */
  readonly child?: {
    /** Relative to the namespace of the policies; no slashes at the ends. */
    readonly path: string;
    /** Index of the write that made it. */
    readonly created: bigint;
  } | null;
  /** Values for what labels leave open. Default: none has one. */
  readonly directives?: Directives;
}

/** A rule that the policies have and that does not count now: for those who ask why. */
export interface LeftOut extends Source {
  /** As it would match; null where its label could not be filled in. */
  readonly pattern: Pattern | null;
  readonly why: "expired" | "unfilled" | "older";
}

export class CompiledAcl {
  readonly exact: ReadonlyMap<string, MergedRule>;
  readonly prefixes: PrefixTree<MergedRule>;
  readonly segments: SegmentTree<MergedRule>;
  /** Of different labels. */
  readonly rules: number;
  /** Of what they say about parameters. */
  readonly weight: number;
  readonly leftOut: readonly LeftOut[];
  /** What labels must begin with to lead here: empty, or a child namespace with a slash. */
  readonly lead: string;
  readonly #lifetime: Lifetime;
  #leads: readonly Lead[] | null = null;

  constructor(parts: CompiledParts) {
    this.exact = parts.exact;
    this.prefixes = parts.prefixes;
    this.segments = parts.segments;
    this.rules = parts.rules;
    this.weight = parts.weight;
    this.leftOut = parts.leftOut;
    this.lead = parts.lead;
    this.#lifetime = parts.lifetime;
  }

  static compile(policies: readonly PolicyInForce[], options: CompileOptions): CompiledAcl {
    const compiler = new AclCompiler(options);
    for (const policy of policies) atOnce(compiler.add(policy));
    return compiler.finish();
  }

  /** Every rule: exact ones, those with a star, those with `+`. */
  *all(): Generator<MergedRule> {
    yield* this.exact.values();
    yield* this.prefixes.values();
    yield* this.segments.values();
  }

  /** Whether some rule may grant something at or below this beginning of a path. For what is shown,
   *  never for what is allowed: a stronger rule may deny it still. */
  reaches(beginning: string): boolean {
    this.#leads ??= leadsOf([...this.all()]);
    return this.#leads.some(
      ({ text, open }) => text.startsWith(beginning) || (open && beginning.startsWith(text)),
    );
  }

  /** Whether it still says what the policies say: no rule has ended since, or comes back because
   *  somebody has set the clock. */
  covers(now: Instant): boolean {
    return this.#lifetime.covers(now);
  }
}

interface CompiledParts {
  readonly exact: ReadonlyMap<string, MergedRule>;
  readonly prefixes: PrefixTree<MergedRule>;
  readonly segments: SegmentTree<MergedRule>;
  readonly rules: number;
  readonly weight: number;
  readonly leftOut: readonly LeftOut[];
  readonly lead: string;
  readonly lifetime: Lifetime;
}

/** What a rule that grants something begins with, and whether more may follow. */
interface Lead {
  readonly text: string;
  readonly open: boolean;
}

function leadsOf(rules: readonly MergedRule[]): Lead[] {
  const granting = rules.filter(({ capabilities, denies }) => capabilities !== 0 && !denies);
  return granting.map(({ pattern }) => ({
    text: pattern.text.slice(0, pattern.first),
    open: pattern.kind !== "exact",
  }));
}

export class AclCompiler {
  readonly #child: NonNullable<CompileOptions["child"]> | null;
  readonly #directives: Directives;
  readonly #lifetime: Lifetime;
  readonly #exact = new Map<string, MergedRule>();
  readonly #prefixes = new PrefixTree<MergedRule>();
  readonly #segments = new SegmentTree<MergedRule>();
  readonly #pieces = new Pieces();
  #rules = 0;
  #weight = 0;
  readonly #leftOut: LeftOut[] = [];

  constructor({ now, child = null, directives = () => undefined }: CompileOptions) {
    this.#child = child;
    this.#directives = directives;
    this.#lifetime = new Lifetime(now);
  }

  *add(policy: PolicyInForce): Sliced<void> {
    // Whoever wrote it did not know of the child (T-A09).
    const older = this.#child !== null && this.#child.created >= policy.written;
    for (const [i, rule] of policy.document.rules.entries()) {
      if (this.#pieces.due) yield;
      const whole = rule.pattern ?? this.#filled(rule);
      const pattern = whole === null ? null : this.#inside(whole);
      if (pattern === null) {
        if (whole === null) this.#leave(policy, rule, null, "unfilled");
      } else if (older) this.#leave(policy, rule, pattern, "older");
      else if (!this.#lifetime.includes(rule.expires, policy.expires)) {
        this.#leave(policy, rule, pattern, "expired");
      } else {
        const alone = this.#child === null ? (policy.alone?.[i] ?? null) : null;
        this.#place(pattern, alone?.sources[0] ?? { policy, rule }, alone);
      }
    }
  }

  /** Nothing may be added afterwards. */
  finish(): CompiledAcl {
    return new CompiledAcl({
      exact: this.#exact,
      prefixes: this.#prefixes,
      segments: this.#segments,
      rules: this.#rules,
      weight: this.#weight,
      leftOut: this.#leftOut,
      lead: this.#child === null ? "" : `${this.#child.path}/`,
      lifetime: this.#lifetime,
    });
  }

  /** `alone` is the rule of this one block, if there is one already. */
  #place(pattern: Pattern, source: Source, alone: MergedRule | null): void {
    const { kind, text, star } = pattern;
    this.#weight += source.rule.parameters.weight;
    const join = (before: MergedRule | null): MergedRule => {
      if (before !== null) return before.with(source);
      this.#rules += 1;
      return alone ?? new MergedRule(pattern, source);
    };
    if (kind === "prefix") this.#prefixes.update(text, join);
    else if (kind === "segments") this.#segments.update(text, star, join);
    else this.#exact.set(text, join(this.#exact.get(text) ?? null));
  }

  #filled({ template }: AclRule): Pattern | null {
    const label = template === null ? null : fill(template, this.#directives);
    return label === null ? null : patternOf(label);
  }

  #inside(pattern: Pattern): Pattern | null {
    return this.#child === null ? pattern : patternInside(pattern, this.#child.path);
  }

  #leave(policy: StatedPolicy, rule: AclRule, pattern: Pattern | null, why: LeftOut["why"]): void {
    this.#leftOut.push({ policy, rule, pattern, why });
  }
}

/** Between which instants the same rules are in force. */
class Lifetime {
  readonly #now: Instant;
  #from: Instant | null = null;
  #until: Instant | null = null;

  constructor(now: Instant) {
    this.#now = now;
  }

  includes(...ends: readonly (Instant | null)[]): boolean {
    let included = true;
    for (const end of ends) {
      if (end === null) continue;
      if (end <= this.#now) {
        included = false;
        if (this.#from === null || end > this.#from) this.#from = end;
      } else if (this.#until === null || end < this.#until) this.#until = end;
    }
    return included;
  }

  covers(now: Instant): boolean {
    return (
      (this.#from === null || now >= this.#from) && (this.#until === null || now < this.#until)
    );
  }
}
