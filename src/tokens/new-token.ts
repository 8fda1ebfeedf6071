// What is asked for when a token is made, and how long it may live.

import { showDuration } from "@holdfast/shared/text/duration";
import { isOver } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Origin } from "@holdfast/shared/endpoint/request";
import { parentGone, tokenInvalid } from "./failures.ts";
import type { TokenTerms } from "./token-terms.ts";
import { checkShape, type GivenShape, type TokenShape } from "./token-shape.ts";

export interface NewToken extends GivenShape {
  readonly namespaceId: string;
  /** Replicated to all clusters. Default false. */
  readonly global?: boolean | undefined;
  /** Default never. */
  readonly expires?: Instant | null | undefined;
  /** Counts from the creation, and wins over `expires`. */
  readonly ttl?: Nanos | null | undefined;
  /** What it does not outlive, however often it is renewed. Default: nothing. */
  readonly notAfter?: Instant | null | undefined;
  /** When it was made elsewhere, for an upload: only if that is past. Default: now. */
  readonly created?: Instant | null | undefined;
  /** Can be prolonged (`auth/token` alone). Default false. */
  readonly renewable?: boolean | undefined;
  /** Of those made through `auth/token`. Default none. */
  readonly terms?: TokenTerms | undefined;
  /** Default: as of a token that management makes through /acl/. */
  readonly origin?: Origin | undefined;
}

/** The bounds of lifetimes, both included; they hold for whatever expires. */
export interface Lifetimes {
  readonly least: Nanos;
  readonly most: Nanos;
}

export interface CheckedToken extends TokenShape {
  readonly created: Instant;
  readonly expires: Instant | null;
  readonly ttl: Nanos | null;
}

/** With its time and its explicit maximum cut to what is left until `notAfter`. */
export function cutToMaker(given: NewToken, now: Instant): NewToken {
  const { notAfter = null, ttl = null, terms } = given;
  if (notAfter === null || terms === undefined) return given;
  const left = notAfter - now;
  if (left <= 0n) throw parentGone();
  const cut = (nanos: Nanos | null) => (nanos === null || nanos > left ? left : nanos);
  return { ...given, ttl: cut(ttl), terms: { ...terms, longest: cut(terms.longest) } };
}

/** Throws with all problems. Without `lifetimes` any that ends in the future will do. */
export function checkNewToken(
  given: NewToken,
  now: Instant,
  lifetimes: Lifetimes | null,
): CheckedToken {
  const problems: string[] = [];
  const shape = checkShape(given, problems);
  const ttl = given.ttl ?? null;
  const chosen = given.created ?? null;
  const created = chosen !== null && chosen < now ? chosen : now;
  const expires = ttl === null ? (given.expires ?? null) : created + ttl;
  if (ttl !== null && ttl < 0n) {
    problems.push(`token expiration TTL '${showDuration(ttl)}' should not be negative`);
  } else if (expires !== null) {
    checkLifetime(created, expires, lifetimes, problems);
    if (expires >= created && isOver(expires, now)) problems.push("token has expired");
  }
  if (problems.length > 0) throw tokenInvalid(problems);
  return { ...shape, created, expires, ttl };
}

function checkLifetime(
  created: Instant,
  expires: Instant,
  lifetimes: Lifetimes | null,
  problems: string[],
): void {
  if (expires < created) problems.push("expiration time cannot be before create time");
  if (lifetimes === null) return;
  const { least, most } = lifetimes;
  const lifetime = expires - created;
  const was = `in the future (was ${showDuration(lifetime)})`;
  if (lifetime > most) {
    problems.push(`expiration time cannot be more than ${showDuration(most)} ${was}`);
  }
  if (lifetime < least) {
    problems.push(`expiration time cannot be less than ${showDuration(least)} ${was}`);
  }
}
