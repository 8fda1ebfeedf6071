// What a token may do, for those who ask: the words for paths, which rule they come
// from, and all rules at once. RGPs and EGPs are not counted; it is told when some would judge.

import { MAX_PATH } from "@holdfast/shared/text/canonical-path";
import { invariant } from "@holdfast/shared/invariant";
import { type Pace, Stretches } from "@holdfast/shared/sliced";
import {
  type RequestContext,
  type Caller,
  isAtOrBelow,
  type NamespaceRef,
} from "@holdfast/shared/endpoint/request";
import { type AclCapability, wordsOf } from "../../acl/capability.ts";
import type { CompiledAcl } from "../../acl/compile.ts";
import { mightEver, wordsOn } from "../../acl/decide.ts";
import type { MergedRule } from "../../acl/merged-rule.ts";
import type { Pattern } from "../../acl/pattern.ts";
import * as failures from "../failures.ts";
import type { InspectionOptions } from "./inspection.ts";

/** Paths between two turns, mostly a part of a millisecond; and where hundreds ask at once, the first of each are in turn
 *  as well. Of rules that somebody has chosen for it one path may take milliseconds: then time says when. */
const AT_ONCE = 32;
const NOT_COUNTED = "RGPs and EGPs are not counted, and some judge what this token does there";
const MAX_RULES = 1_000; // in one answer, which is recorded word by word

export interface CapabilityQueriesOptions {
  readonly rights: {
    /** Null for what lies outside the caller's namespace. */
    aclOf(caller: Caller, namespace: NamespaceRef): Promise<CompiledAcl | null>;
  };
  readonly governing: {
    applying(
      caller: Caller,
      namespace: NamespaceRef,
      path: string,
    ): readonly unknown[] | Promise<readonly unknown[]>;
  };
  readonly tokens: {
    find(secret: string): Caller | null;
    callerBy(namespace: NamespaceRef, accessor: string): Caller | null;
  };
  readonly namespaces: {
    resolve(
      base: NamespaceRef,
      segments: readonly string[],
    ): { readonly namespace: NamespaceRef; readonly taken: number };
  };
  /** The one form of a path: what would be judged. */
  readonly canonical: InspectionOptions["canonical"];
  readonly declared: InspectionOptions["declared"];
}

/** Where a block stands. */
interface RulePlace {
  readonly name: string;
  readonly line: number;
  readonly column: number;
}

export interface Decider {
  readonly label: string;
  readonly policies: readonly RulePlace[];
}

export interface Capabilities {
  readonly path: string;
  readonly words: readonly string[];
  /** Null where no rule matches, and for management, whom none binds. */
  readonly decider: Decider | null;
}

export interface Answered {
  readonly capabilities: readonly Capabilities[];
  readonly warnings: readonly string[];
}

export interface ResultantRule {
  readonly label: string;
  readonly exact: boolean;
  readonly words: readonly string[];
}

export class CapabilityQueries {
  readonly #options: CapabilityQueriesOptions;

  constructor(options: CapabilityQueriesOptions) {
    this.#options = options;
  }

  // --- whose ---

  self({ caller }: RequestContext): Caller {
    invariant(caller !== null, "nobody gets here without a token");
    return caller;
  }

  bySecret(secret: string, namespace: NamespaceRef): Caller {
    const caller = this.#options.tokens.find(secret);
    // A token of another part of the tree is none here, as everywhere else.
    if (caller === null || !isAtOrBelow(namespace, caller.namespace)) throw failures.tokenInvalid();
    return caller;
  }

  byAccessor(accessor: string, namespace: NamespaceRef): Caller {
    const caller = this.#options.tokens.callerBy(namespace, accessor);
    if (caller === null) throw failures.accessorInvalid();
    return caller;
  }

  // --- what ---

  /** Of each path as it is given; the longest namespace that it leads into is its own. */
  async on(
    caller: Caller,
    base: NamespaceRef,
    paths: readonly string[],
    pace: Pace,
  ): Promise<Answered> {
    const capabilities: Capabilities[] = [];
    let governed = false;
    const wanted = [...new Set(paths)];
    const many = wanted.length > AT_ONCE;
    const stretch = new Stretches(pace);
    for (const [at, path] of wanted.entries()) {
      if ((many && at % AT_ONCE === 0) || stretch.over) await stretch.next();
      const place = this.#placeOf(base, path);
      capabilities.push({ path, ...(await this.#at(caller, place)) });
      governed ||= await this.#isGoverned(caller, place);
    }
    return { capabilities, warnings: governed ? [NOT_COUNTED] : [] };
  }

  /** Every rule of a client, as far as one answer goes; null for management, whom none binds. */
  async all(
    caller: Caller,
    namespace: NamespaceRef,
  ): Promise<{ readonly rules: readonly ResultantRule[]; readonly more: boolean } | null> {
    if (caller.type === "management") return null;
    const acl = await this.#options.rights.aclOf(caller, namespace);
    const rules = acl?.all().take(MAX_RULES) ?? [];
    const visible = Array.from(rules, (rule) => ({
      label: labelOf(rule.pattern, false),
      exact: rule.pattern.kind === "exact",
      words: grantedBy(rule),
    }));
    return { rules: visible, more: (acl?.rules ?? 0) > MAX_RULES };
  }

  // --- inside ---

  async #at(caller: Caller, place: Place): Promise<Omit<Capabilities, "path">> {
    const { namespace, path } = place;
    if (caller.type === "management") {
      const inside = isAtOrBelow(namespace, caller.namespace);
      return { words: [inside ? "root" : "deny"], decider: null };
    }
    const acl = await this.#options.rights.aclOf(caller, namespace);
    // No request has a path so long: there is nothing that could be done on it.
    if (acl === null || path.length > MAX_PATH) return { words: ["deny"], decider: null };
    const { words: granted, rule } = wordsOn(acl, path);
    const words = granted.filter(
      (word) =>
        word === "sudo" ||
        !this.#needsSudo(place, word) ||
        mightEver(acl, { path, capability: word, sudo: true }),
    );
    return {
      words: words.length === 0 ? ["deny"] : words,
      decider: rule === null ? null : deciderOf(rule),
    };
  }

  #needsSudo({ namespace, path }: Place, capability: Exclude<AclCapability, "sudo">): boolean {
    const segments = (path.endsWith("/") ? path.slice(0, -1) : path).split("/");
    const access = this.#options.declared(namespace, segments, capability)?.access;
    return access?.kind === "capability" && access.sudo;
  }

  async #isGoverned(caller: Caller, { namespace, path }: Place): Promise<boolean> {
    return (await this.#options.governing.applying(caller, namespace, path)).length > 0;
  }

  #placeOf(base: NamespaceRef, text: string): Place {
    if (text.length > MAX_PATH) return { namespace: base, path: text };
    const segments = (text.startsWith("/") ? text.slice(1) : text).split("/");
    const { namespace, taken } = this.#options.namespaces.resolve(base, segments);
    const rest = segments.slice(taken);
    return { namespace, path: this.#options.canonical(namespace, rest).join("/") };
  }
}

interface Place {
  readonly namespace: NamespaceRef;
  readonly path: string;
}

function deciderOf(rule: MergedRule): Decider {
  const policies = rule.sources.map(({ policy, rule: { position } }) => {
    return { name: policy.name, line: position.line, column: position.column };
  });
  return { label: labelOf(rule.pattern, true), policies: policies.toSorted(byPlace) };
}

function byPlace(a: RulePlace, b: RulePlace): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

function grantedBy(rule: MergedRule): readonly string[] {
  return rule.denies ? ["deny"] : wordsOf(rule.capabilities);
}

/** As written; prefix rules without the star where clients of other servers expect it so. */
function labelOf({ kind, text, star }: Pattern, withStar: boolean): string {
  return star && (withStar || kind === "segments") ? `${text}*` : text;
}
