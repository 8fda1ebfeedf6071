// What every way of logging in can say of the tokens that come of it: the `token_…` fields of its users
// or roles. Fields, checks, what is kept, what is shown, and the offer that the server is made.

import { showRange } from "@holdfast/shared/text/addresses";
import { AddressRanges } from "@holdfast/shared/text/address-ranges";
import { SECOND } from "@holdfast/shared/text/duration";
import { fieldInvalid as refused } from "./failure.ts";
import type { Nanos } from "@holdfast/shared/world";
import type { LoginOffer } from "@holdfast/shared/endpoint/lease";
import { out } from "@holdfast/shared/endpoint/output";
import type { InputOf, WireField } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";
import { ACCEPTED_NAMES, policyName } from "@holdfast/shared/text/policy-name";
import type { EngineOptions } from "./engine.ts";

export const MAX_POLICIES = 1024; // what a token may have
export const MAX_USES = 2 ** 31 - 1;
export const MAX_RANGES = 256;

export interface LoginTerms {
  /** Null: as the mount says. */
  readonly ttl: Nanos | null;
  readonly maxTtl: Nanos | null;
  readonly explicitMaxTtl: Nanos | null;
  readonly period: Nanos | null;
  /** Folded, each once. */
  readonly policies: readonly string[];
  /** Empty: from anywhere. */
  readonly boundTo: readonly string[];
  readonly withoutDefault: boolean;
  /** 0: as many as one likes. */
  readonly uses: number;
}

export const DEFAULT_TERMS: LoginTerms = {
  ttl: null,
  maxTtl: null,
  explicitMaxTtl: null,
  period: null,
  policies: [],
  boundTo: [],
  withoutDefault: false,
  uses: 0,
};

const time = (name: string, help: string) => wire.body(name).duration(help).optional();

export const loginFields = {
  ttl: time("token_ttl", "How long a token lives; 0: as the mount says."),
  maxTtl: time("token_max_ttl", "How long it lives at most, renewals and all; 0: as the mount."),
  explicitMaxTtl: time("token_explicit_max_ttl", "The same: the shorter of the two holds."),
  period: time("token_period", "How long it lives from each renewal on; 0: none."),
  policies: wire
    .body("token_policies", { aliases: ["policies"] })
    .policies("Names of the policies of a token.", { max: MAX_POLICIES })
    .optional(),
  boundTo: wire
    .body("token_bound_cidrs")
    .list("Addresses and ranges from which one may log in, and use the token.", {
      max: MAX_RANGES,
      show: rangeForm,
    })
    .optional(),
  withoutDefault: wire
    .body("token_no_default_policy")
    .boolean("Whether the policy default does not count for a token.")
    .optional(),
  uses: wire
    .body("token_num_uses")
    .integer("How many requests a token may make; 0: any number.", { min: 0, max: MAX_USES })
    .optional(),
  kind: wire
    .body("token_type")
    .oneOf(["default", "default-service", "service", ""], "There is one kind.")
    .optional(),
};

export type LoginChange = Partial<InputOf<typeof loginFields>>;

/** What is left out stays as it is. Refuses what no token could have. */
export function changedTerms(before: LoginTerms, change: LoginChange): LoginTerms {
  const names = change.policies;
  const terms: LoginTerms = {
    ttl: timeOf(change.ttl, before.ttl),
    maxTtl: timeOf(change.maxTtl, before.maxTtl),
    explicitMaxTtl: timeOf(change.explicitMaxTtl, before.explicitMaxTtl),
    period: timeOf(change.period, before.period),
    policies: names === undefined ? before.policies : readPolicies(names),
    boundTo: change.boundTo === undefined ? before.boundTo : readRanges(change.boundTo).texts,
    withoutDefault: change.withoutDefault ?? before.withoutDefault,
    uses: change.uses ?? before.uses,
  };
  const longest = shorter(terms.maxTtl, terms.explicitMaxTtl);
  if (longest !== null && (terms.ttl ?? 0n) > longest) {
    throw refused("token_ttl must not be greater than token_max_ttl or token_explicit_max_ttl");
  }
  if (longest !== null && (terms.period ?? 0n) > longest) {
    throw refused("token_period must not be greater than token_max_ttl or token_explicit_max_ttl");
  }
  if (terms.withoutDefault && terms.policies.length === 0) {
    throw refused("token_policies must name at least one where token_no_default_policy is set");
  }
  return terms;
}

/** The one form of a range, for rules and programs: 10.1.2.3/8 is 10.0.0.0/8, an address has its length. */
export function rangeForm(text: string): string {
  return showRange(text.trim()) ?? text;
}

/** Refuses a text that is neither an address nor a range. */
export function readRanges(texts: readonly string[], field = "token_bound_cidrs"): AddressRanges {
  const ranges = AddressRanges.read(texts.map((text) => text.trim()).filter((text) => text !== ""));
  if (ranges !== null) return ranges;
  throw refused(`${field} must be addresses or ranges such as 10.0.0.0/8 or 2001:db8::/32`);
}

/** Whether one may come from there. None named: from anywhere; unreadable ones: from nowhere. */
export function isFrom(boundTo: readonly string[], address: string): boolean {
  return boundTo.length === 0 || AddressRanges.read(boundTo)?.has(address) === true;
}

// --- shown ---

const seconds = (help: string) => out.integer(`${help} In seconds; 0: as the mount says.`);

export const loginOutputs = {
  token_ttl: seconds("How long a token lives."),
  token_max_ttl: seconds("How long it lives at most."),
  token_explicit_max_ttl: seconds("How long it lives at most."),
  token_period: out.integer("How long it lives from each renewal on, in seconds; 0: none."),
  token_policies: out.list(out.string("Name of a policy."), "Policies of a token."),
  token_bound_cidrs: out.list(
    out.string("Address or range."),
    "Where it is good; empty: anywhere.",
  ),
  token_no_default_policy: out.boolean("Whether the policy default does not count for it."),
  token_num_uses: out.integer("How many requests it may make; 0: any number."),
  token_type: out.oneOf(["default"], "There is one kind."),
};

export function showTerms(terms: LoginTerms) {
  return {
    token_ttl: inSeconds(terms.ttl),
    token_max_ttl: inSeconds(terms.maxTtl),
    token_explicit_max_ttl: inSeconds(terms.explicitMaxTtl),
    token_period: inSeconds(terms.period),
    token_policies: terms.policies,
    token_bound_cidrs: terms.boundTo,
    token_no_default_policy: terms.withoutDefault,
    token_num_uses: terms.uses,
    token_type: "default" as const,
  };
}

/** Rounded up: 0 would mean something else. */
export function inSeconds(nanos: Nanos | null): number {
  return nanos === null ? 0 : Number((nanos + SECOND - 1n) / SECOND);
}

// --- kept ---

type Times = "ttl" | "maxTtl" | "explicitMaxTtl" | "period";

/** JSON has no integers of this size. */
export type StoredTerms = Omit<LoginTerms, Times> & Readonly<Record<Times, string | null>>;

export function storedTerms(terms: LoginTerms): StoredTerms {
  return {
    ...terms,
    ttl: storedTime(terms.ttl),
    maxTtl: storedTime(terms.maxTtl),
    explicitMaxTtl: storedTime(terms.explicitMaxTtl),
    period: storedTime(terms.period),
  };
}

export function keptTerms(stored: StoredTerms): LoginTerms {
  return {
    ...stored,
    ttl: keptTime(stored.ttl),
    maxTtl: keptTime(stored.maxTtl),
    explicitMaxTtl: keptTime(stored.explicitMaxTtl),
    period: keptTime(stored.period),
  };
}

export function storedTime(nanos: Nanos | null): string | null {
  return nanos === null ? null : String(nanos);
}

export function keptTime(stored: string | null): Nanos | null {
  return stored === null ? null : BigInt(stored);
}

// --- offered ---

/** Each use would be a write at the cluster that writes what is shared. */
export function checkGlobal({ uses }: Pick<LoginTerms, "uses">): void {
  if (uses > 0) throw refused("token_num_uses must be 0 where token_scope is global");
}

export function offerOf(
  terms: LoginTerms,
  who: Pick<LoginOffer, "displayName" | "identity" | "metadata" | "owner" | "notes" | "global">,
): LoginOffer {
  const { ttl, maxTtl, explicitMaxTtl, period, policies, boundTo, withoutDefault, uses } = terms;
  if (who.global === true) checkGlobal(terms);
  return {
    ...who,
    policies,
    ttl,
    maxTtl: shorter(maxTtl, explicitMaxTtl),
    period,
    uses,
    boundTo,
    withoutDefaultPolicy: withoutDefault,
  };
}

const SCOPES = ["local", "global"];

/** The one option of a mount with logins: whether its tokens are good in every cluster. */
export function checkLoginOptions(
  { token_scope = "local", ...rest }: EngineOptions,
  { local }: { readonly local: boolean } = { local: false },
): EngineOptions {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw refused(`unknown option ${JSON.stringify(unknown)}; accepted is token_scope`);
  }
  if (!SCOPES.includes(token_scope)) throw refused("token_scope must be local or global");
  // Whoever ends what came through it would have to know it in every cluster.
  if (local && token_scope === "global") {
    throw refused("token_scope must be local where the mount is");
  }
  return { token_scope };
}

export function isGlobal({ token_scope }: EngineOptions): boolean {
  return token_scope === "global";
}

const NAME = /^[a-z0-9_](?:[a-z0-9_.@-]{0,126}[a-z0-9_])?$/;

export const ACCEPTED_LOGIN_NAMES =
  "1 to 128 characters out of a-z 0-9 _ - . and @, beginning and ending with a letter, digit or _";

/** A field of a path that holds such a name: every spelling is the same name, wherever it is judged, looked
 *  up, counted or deleted (T-B23, T-B28). */
export function loginNameField(name: string, help: string): WireField<string> {
  return wire.path(name, { folds: "case" }).string(help);
}

/** Whether it is one, in the one form that such a field gives it. */
export function isLoginName(text: string): boolean {
  return NAME.test(text);
}

function readPolicies(policies: readonly string[]): readonly string[] {
  const names = policies.map((name) => name.trim()).filter((name) => name !== "");
  const folded = new Set(names.map(policyName));
  if (folded.has(null)) throw refused(`invalid policy name: accepted are ${ACCEPTED_NAMES}`);
  // Judged after folding: every spelling of it is the same name (T-B10).
  if (folded.has("root")) throw refused('policy "root" cannot be attached to a client token');
  return [...folded].filter((name) => name !== null);
}

function timeOf(requested: Nanos | undefined, before: Nanos | null): Nanos | null {
  if (requested === undefined) return before;
  return requested === 0n ? null : requested;
}

function shorter(a: Nanos | null, b: Nanos | null): Nanos | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
