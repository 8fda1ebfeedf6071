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

/** Told of a cut is who asked for more than there is: the usual time, where it is longer than the longest,
 *  nobody has asked for. */
export function grantedLife(asked: AskedLife, { usual, most }: LifeBounds): GrantedLife {
  const longest = orNone(asked.longest);
  const period = orNone(asked.period);
  const wanted = period ?? orNone(asked.ttl);
  const bound = boundOf({ longest, period }, most);
  const ttl = wanted ?? usual;
  if (bound === null || ttl <= bound) return { ttl, longest, period, warnings: [] };
  if (wanted === null) return { ttl: bound, longest, period, warnings: [] };
  const whose = bound === longest ? "explicit_max_ttl" : "the longest lifetime of tokens here";
  const was = `${showDuration(wanted)} was cut to ${showDuration(bound)}`;
  return { ttl: bound, longest, period, warnings: [`the lifetime of ${was}, ${whose}`] };
}

/** How long a token may live in all. One with a period lives as long as it is renewed in time: of it only
 *  what its maker has set counts, and null is without end. */
function boundOf(
  { longest, period }: { readonly longest: Nanos | null; readonly period: Nanos | null },
  most: Nanos,
): Nanos | null {
  if (period !== null) return longest;
  return longest === null || longest > most ? most : longest;
}

/** Until when a token may live, by its maker's bound and the server's; null: for as long as it is
 *  renewed. */
export function lastMoment({ created, terms }: Token, most: Nanos): Instant | null {
  const { longest = null, period = null } = terms ?? {};
  const bound = boundOf({ longest, period }, most);
  return bound === null ? null : created + bound;
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
  const end = last !== null && wanted > last ? last : wanted;
  return end > token.expires ? end : token.expires;
}

function orNone(nanos: Nanos | null): Nanos | null {
  return nanos === 0n ? null : nanos;
}
