// The policies of a token, compiled once into a structure whose lookup does not grow with the number
// of rules. Pure: the time is handed in, and the result says for which times it holds.

import type { Instant } from "../base/world.ts";
import type { AclDocument } from "./acl-document.ts";
import { MergedRule, type PolicyRef } from "./acl-merged-rule.ts";
import { type Pattern, patternInside, patternOf } from "./acl-pattern.ts";
import { PrefixTree } from "./acl-prefix-tree.ts";
import type { AclRule } from "./acl-rule.ts";
import { SegmentTree } from "./acl-segment-tree.ts";
import { type Directives, fill } from "./acl-template.ts";

export interface PolicyInForce extends PolicyRef {
  readonly document: AclDocument;
  /** Index of its last write. */
  readonly written: bigint;
  /** From then on the whole policy counts as absent. */
  readonly expires: Instant | null;
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

interface Group {
  readonly pattern: Pattern;
  readonly sources: { readonly policy: PolicyRef; readonly rule: AclRule }[];
}

export class CompiledAcl {
  readonly exact = new Map<string, MergedRule>();
  readonly prefixes = new PrefixTree<MergedRule>();
  readonly segments = new SegmentTree<MergedRule>();
  readonly rules: number;
  /** What rules that grant something begin with, and whether more may follow. */
  readonly #leads: { readonly text: string; readonly open: boolean }[] = [];
  readonly #from: Instant | null;
  readonly #until: Instant | null;

  private constructor(groups: Iterable<Group>, lifetime: Lifetime) {
    let rules = 0;
    for (const { pattern, sources } of groups) {
      const rule = new MergedRule(pattern, sources);
      if (pattern.kind === "exact") this.exact.set(pattern.text, rule);
      else if (pattern.kind === "prefix") this.prefixes.set(pattern.text, rule);
      else this.segments.set(pattern.text, pattern.star, rule);
      rules += 1;
      if (rule.capabilities === 0 || rule.denies) continue;
      this.#leads.push({
        text: pattern.text.slice(0, pattern.first),
        open: pattern.kind !== "exact",
      });
    }
    this.rules = rules;
    this.#from = lifetime.from;
    this.#until = lifetime.until;
  }

  static compile(policies: readonly PolicyInForce[], options: CompileOptions): CompiledAcl {
    const { child = null, directives = () => undefined } = options;
    const lifetime = new Lifetime(options.now);
    const groups = new Map<string, Group>();
    for (const policy of policies) {
      // Whoever wrote it did not know of the child (T-A09).
      if (child !== null && child.created >= policy.written) continue;
      for (const rule of policy.document.rules) {
        const pattern = patternFor(rule, child?.path ?? null, directives);
        if (pattern === null || !lifetime.includes(rule.expires, policy.expires)) continue;
        const group = groups.get(pattern.key);
        if (group === undefined) groups.set(pattern.key, { pattern, sources: [{ policy, rule }] });
        else group.sources.push({ policy, rule });
      }
    }
    return new CompiledAcl(groups.values(), lifetime);
  }

  /** Whether some rule may grant something at or below this beginning of a path. For what is shown,
   *  never for what is allowed: a stronger rule may deny it still. */
  reaches(beginning: string): boolean {
    return this.#leads.some(
      ({ text, open }) => text.startsWith(beginning) || (open && beginning.startsWith(text)),
    );
  }

  /** Whether it still says what the policies say: no rule has ended since, or comes back because
   *  somebody has set the clock. */
  covers(now: Instant): boolean {
    return (
      (this.#from === null || now >= this.#from) && (this.#until === null || now < this.#until)
    );
  }
}

function patternFor(rule: AclRule, child: string | null, directives: Directives): Pattern | null {
  const pattern = rule.pattern ?? filledPattern(rule, directives);
  return pattern === null || child === null ? pattern : patternInside(pattern, child);
}

function filledPattern(rule: AclRule, directives: Directives): Pattern | null {
  const label = fill(rule.template, directives);
  return label === null ? null : patternOf(label);
}

/** Between which instants the same rules are in force. */
class Lifetime {
  readonly #now: Instant;
  from: Instant | null = null;
  until: Instant | null = null;

  constructor(now: Instant) {
    this.#now = now;
  }

  includes(...ends: readonly (Instant | null)[]): boolean {
    let included = true;
    for (const end of ends) {
      if (end === null) continue;
      if (end <= this.#now) {
        included = false;
        if (this.from === null || end > this.from) this.from = end;
      } else if (this.until === null || end < this.until) this.until = end;
    }
    return included;
  }
}
