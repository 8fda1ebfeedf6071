// Tokens as clients of `auth/token` see them: what a look-up tells, what a list tells
// of each, and the `auth` of an answer. Seconds are rounded up, since 0 means "does not expire".

import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import type { Token } from "../token.ts";
import { pathOf } from "../token-terms.ts";

const ROOT = "root";
const DEFAULT = "default";

const policies = out.list(out.string("Name of a policy."), "What it may do; root: everything.");
const secondsLeft = out.integer("Seconds that are left; 0: it does not expire.");

export const tokenFacts = out.object({
  id: out.secret("The credential; empty where only its accessor was given."),
  accessor: out.string("Identifies the token, without being a credential."),
  display_name: out.string("For people; may be empty."),
  policies,
  creation_time: out.integer("When it was made, in seconds since 1970."),
  creation_ttl: out.integer("Seconds that it was made for; 0: no end."),
  expire_time: out.nullable(out.time("When it ends; null: never.")),
  explicit_max_ttl: out.integer(
    "Longest life that its maker allowed, in seconds; 0: the server's.",
  ),
  issue_time: out.time("When it was made."),
  num_uses: out.integer("Uses that are left; 0: as many as one likes."),
  orphan: out.boolean("It does not end with the token that made it."),
  path: out.string("Where it was made."),
  period: out.optional(out.integer("Seconds that each renewal gives.")),
  bound_cidrs: out.optional(
    out.list(out.string("Address or range."), "Where it is good; absent: anywhere."),
  ),
  renewable: out.boolean("Whether it can be renewed."),
  ttl: secondsLeft,
  type: out.oneOf(["service"], "There is one kind."),
  meta: out.nullable(out.mapOf(out.string("Text."), "What was noted when it was made.")),
  entity_id: out.string("Empty: there are no entities."),
});

export type TokenFacts = OutputOf<typeof tokenFacts>;

/** What the record itself does not say. */
export interface Seen {
  readonly now: Instant;
  readonly orphan: boolean;
  /** Whoever gave no more than the accessor does not learn the secret. */
  readonly withSecret: boolean;
}

export function factsOf(token: Token, { now, orphan, withSecret }: Seen): TokenFacts {
  const { terms, expires } = token;
  const period = terms?.period ?? null;
  return {
    id: withSecret ? token.secret.reveal() : "",
    accessor: token.accessor,
    display_name: token.name,
    policies: policiesOf(token),
    creation_time: Number(token.created / SECOND),
    creation_ttl: seconds(token.ttl ?? (expires === null ? 0n : expires - token.created)),
    expire_time: expires === null ? null : showTime(expires),
    explicit_max_ttl: seconds(terms?.longest ?? 0n),
    issue_time: showTime(token.created),
    num_uses: terms?.usesLeft ?? 0,
    orphan,
    path: pathOf(token),
    ...(period === null ? {} : { period: seconds(period) }),
    ...(terms?.boundTo === undefined ? {} : { bound_cidrs: terms.boundTo }),
    renewable: token.renewable,
    ttl: left(token, now),
    type: "service",
    meta: terms?.meta ?? null,
    entity_id: "",
  };
}

export function authOf(token: Token, { now, orphan, withSecret }: Seen): AuthBlock {
  const names = policiesOf(token);
  return {
    client_token: withSecret ? token.secret.reveal() : "",
    accessor: token.accessor,
    policies: names,
    token_policies: names,
    metadata: token.terms?.meta ?? {},
    lease_duration: left(token, now),
    renewable: token.renewable,
    token_type: "service",
    entity_id: "",
    orphan,
    num_uses: token.terms?.usesLeft ?? 0,
  };
}

/** What a list says of each. */
export function summaryOf(token: Token, now: Instant) {
  return {
    display_name: token.name,
    policies: policiesOf(token),
    ttl: left(token, now),
    type: "service",
  };
}

/** With the built-in default where it counts; management is root. */
function policiesOf({ type, policies: own, terms }: Token): readonly string[] {
  if (type === "management") return [ROOT];
  if (terms?.withoutDefault === true) return own;
  return [DEFAULT, ...own.filter((name) => name !== DEFAULT)];
}

function left({ expires }: Token, now: Instant): number {
  if (expires === null) return 0;
  return expires > now ? seconds(expires - now) : 1; // valid up to and including its last instant
}

function seconds(nanos: Nanos): number {
  return Number((nanos + SECOND - 1n) / SECOND);
}
