// How long a secret lives: never less than a second, never more than the least maximum there is. Nothing in here means "for ever" (T-J01).

import { SECOND, secondsLeft, showDuration, showSeconds } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";

/** What a role or the engine says; absent, null or 0: nothing. */
export interface Wished {
  readonly ttl?: Nanos | null | undefined;
  readonly maxTtl?: Nanos | null | undefined;
}

export interface MountTtls {
  defaultTtl(): Nanos;
  maxTtl(): Nanos;
}

export interface Granted {
  readonly ttl: Nanos;
  readonly warnings: readonly string[];
}

export function grantedAtIssue(wished: Wished, mount: MountTtls): Granted {
  return cut(said(wished.ttl) ?? mount.defaultTtl(), max(wished, mount));
}

/** From now on; null when there is no time left, counted from the issue. */
export function grantedAtRenewal(
  wished: Wished & { readonly increment: Nanos | null },
  mount: MountTtls,
  { issued, now }: { readonly issued: Instant; readonly now: Instant },
): Granted | null {
  const left = issued + max(wished, mount) - now;
  if (left <= 0n) return null;
  const { ttl, warnings } = cut(
    said(wished.increment) ?? said(wished.ttl) ?? mount.defaultTtl(),
    left,
  );
  // Who asked for no time gets what there is.
  return { ttl, warnings: said(wished.increment) === null ? [] : warnings };
}

function max({ maxTtl }: Wished, mount: MountTtls): Nanos {
  const own = said(maxTtl);
  const all = mount.maxTtl();
  return own !== null && own < all ? own : all;
}

function cut(wanted: Nanos, longest: Nanos): Granted {
  const whole = wholeSeconds(wanted);
  if (whole <= longest) return { ttl: whole, warnings: [] };
  // What remains is no whole number of seconds: all of it is granted, and told to the nearest.
  const ttl = longest < SECOND ? SECOND : longest;
  if (secondsLeft(ttl) >= secondsLeft(whole)) return { ttl, warnings: [] };
  const was = `the lifetime of ${showDuration(whole)} was cut`;
  return { ttl, warnings: [`${was} to the maximum, ${showSeconds(ttl)}`] };
}

function wholeSeconds(length: Nanos): Nanos {
  const whole = length - (length % SECOND);
  return whole < SECOND ? SECOND : whole;
}

function said(length: Nanos | null | undefined): Nanos | null {
  return length === null || length === undefined || length <= 0n ? null : length;
}
