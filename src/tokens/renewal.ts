// How long a token of `auth/token` lives (decision 44): what is granted when it is made, and what a
// renewal gives. No sum of times ever means "for ever" (T-B14).

import { showDuration } from "../base/duration.ts";
import type { Instant, Nanos } from "../base/world.ts";
import type { Token } from "./token.ts";

export interface AskedLife {
  /** 0 is as not given, in all three: existing clients send it for that. */
  readonly ttl: Nanos | null;
  readonly longest: Nanos | null;
  readonly period: Nanos | null;
}

export interface LifeBounds {
  /** Where no time was asked for. */
  readonly usual: Nanos;
  /** From the creation to the last moment, renewals and all. */
  readonly most: Nanos;
}

export interface GrantedLife {
  readonly ttl: Nanos;
  readonly longest: Nanos | null;
  readonly period: Nanos | null;
  readonly warnings: readonly string[];
}

export function grantedLife(asked: AskedLife, { usual, most }: LifeBounds): GrantedLife {
  const longest = orNone(asked.longest);
  const period = orNone(asked.period);
  const wanted = period ?? orNone(asked.ttl) ?? usual;
  const bound = longest === null || longest > most ? most : longest;
  if (wanted <= bound) return { ttl: wanted, longest, period, warnings: [] };
  const whose = bound === most ? "the longest lifetime of tokens here" : "explicit_max_ttl";
  const was = `${showDuration(wanted)} was cut to ${showDuration(bound)}`;
  const warnings = [`the lifetime of ${was}, ${whose}`];
  return { ttl: bound, longest, period, warnings };
}

/** Until when a token may live, by its maker's bound and the server's. */
export function lastMoment({ created, terms }: Token, most: Nanos): Instant {
  const longest = terms?.longest ?? null;
  return created + (longest === null || longest > most ? most : longest);
}

/** What a renewal aims at: 0 or nothing asked is the time it was made with. */
export function increment({ ttl, terms }: Token, asked: Nanos | null): Nanos {
  return terms?.period ?? orNone(asked) ?? ttl ?? 0n;
}

/** The new end. A renewal never takes time away, and never goes past the last moment. */
export function renewedUntil(
  token: Token & { readonly expires: Instant },
  { now, by, most }: { readonly now: Instant; readonly by: Nanos; readonly most: Nanos },
): Instant {
  const last = lastMoment(token, most);
  const wanted = now + by;
  const end = wanted > last ? last : wanted;
  return end > token.expires ? end : token.expires;
}

function orNone(nanos: Nanos | null): Nanos | null {
  return nanos === 0n ? null : nanos;
}
