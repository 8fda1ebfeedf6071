// How long a token of `auth/token` lives: what is granted when it is made, and what a
// renewal gives. No sum of times ever means "for ever" (T-B14).

import { secondsLeft, showDuration, showSeconds } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Token } from "../token.ts";

export interface LifeRequest {
  /** 0 is as not given, in all three: existing clients send it for that. */
  readonly ttl: Nanos | null;
  readonly longest: Nanos | null;
  readonly period: Nanos | null;
}

export interface LifeBounds {
  /** Where no time was asked for. */
  readonly usual: Nanos;
  /** From the creation to the last moment, renewals and all. */
  readonly max: Nanos;
}

export interface GrantedLife {
  readonly ttl: Nanos;
  readonly longest: Nanos | null;
  readonly period: Nanos | null;
  readonly warnings: readonly string[];
}

/** A cut to the server's longest is always told, also that of the usual time: whoever counts on that should
 *  know. That the usual time ends at the maximum which the request itself names is no news. */
export function grantedLife(request: LifeRequest, { usual, max }: LifeBounds): GrantedLife {
  const longest = orNone(request.longest);
  const period = orNone(request.period);
  const wanted = period ?? orNone(request.ttl);
  const bound = boundOf({ longest, period }, max);
  const ttl = wanted ?? usual;
  const passed = passedOver(request.ttl, period);
  if (bound === null || ttl <= bound) return { ttl, longest, period, warnings: passed };
  const own = bound === longest;
  if (wanted === null && own) return { ttl: bound, longest, period, warnings: [] };
  const whose = own ? "explicit_max_ttl" : "the longest lifetime of tokens here";
  const what = wanted === null ? "the default lifetime" : "the lifetime";
  const was = `${what} of ${showDuration(ttl)} was cut to ${showDuration(bound)}`;
  return { ttl: bound, longest, period, warnings: [...passed, `${was}, ${whose}`] };
}

/** Of two lengths that differ the period holds. */
function passedOver(ttl: LifeRequest["ttl"], period: Nanos | null): readonly string[] {
  const length = orNone(ttl);
  if (length === null || period === null || length === period) return [];
  return [
    `the ttl of ${showDuration(length)} does not count: with a period of ${showDuration(period)} ` +
      "the token lives that long from each renewal on",
  ];
}

/** What is told to whoever asked for more than its own token has left. */
export function cutByMaker(
  request: LifeRequest,
  granted: GrantedLife,
  { ttl, terms }: Token,
): readonly string[] {
  const times = [
    ["the lifetime", orNone(request.ttl) === null ? null : granted.ttl, ttl],
    ["explicit_max_ttl", granted.longest, terms?.longest ?? null],
  ] as const;
  const warnings: string[] = [];
  for (const [what, wanted, cut] of times) {
    if (wanted === null || cut === null || secondsLeft(wanted) <= secondsLeft(cut)) continue;
    const was = `${showDuration(wanted)} was cut to ${showSeconds(cut)}`;
    warnings.push(`${what} of ${was}, the time that the caller's own token has left`);
  }
  return warnings;
}

/** How long a token may live in all. One with a period lives as long as it is renewed in time: of it only
 *  what its maker has set counts, and null is without end. */
function boundOf(
  { longest, period }: { readonly longest: Nanos | null; readonly period: Nanos | null },
  max: Nanos,
): Nanos | null {
  if (period !== null) return longest;
  return longest === null || longest > max ? max : longest;
}

/** Until when a token may live, by its maker's bound and the server's; null: for as long as it is
 *  renewed. */
export function lastMoment({ created, terms }: Token, max: Nanos): Instant | null {
  const { longest = null, period = null } = terms ?? {};
  const bound = boundOf({ longest, period }, max);
  return bound === null ? null : created + bound;
}

/** When a token ends at the latest, whatever is done for it; null: there is no such moment. One that its
 *  login method knows no more is not renewed. */
export function hardEnd(token: Token, max: Nanos, known: boolean): Instant | null {
  const { expires, renewable } = token;
  if (expires === null || !renewable || !known) return expires;
  const last = lastMoment(token, max);
  return last !== null && last < expires ? expires : last;
}

/** What a renewal aims at: 0 or nothing asked is the time it was made with. */
export function increment({ ttl, terms }: Token, requested: Nanos | null): Nanos {
  return terms?.period ?? orNone(requested) ?? ttl ?? 0n;
}

/** The new end. A renewal never takes time away, and never goes past the last moment. */
export function renewedUntil(
  token: Token & { readonly expires: Instant },
  { now, by, max }: { readonly now: Instant; readonly by: Nanos; readonly max: Nanos },
): Instant {
  const last = lastMoment(token, max);
  const wanted = now + by;
  const end = last !== null && wanted > last ? last : wanted;
  return end > token.expires ? end : token.expires;
}

function orNone(nanos: Nanos | null): Nanos | null {
  return nanos === 0n ? null : nanos;
}
