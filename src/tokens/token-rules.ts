// What a token may be, new or changed: its name, type, policies, and how long it may live. Problems are
// collected, so that nobody learns of them one by one.

import { showDuration } from "@holdfast/shared/text/duration";
import { ACCEPTED_NAMES, policyName } from "@holdfast/shared/text/policy-name";
import { isOver } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Origin } from "@holdfast/shared/endpoint/request";
import { parentGone, roleUnknown, tokenInvalid, tokenModified } from "./failures.ts";
import type { TokenTerms } from "./token-terms.ts";
import type { Token, TokenType } from "./token.ts";

const MAX_NAME_BYTES = 256;
const MAX_POLICIES = 1024; // far above what anybody gives a token, and judged at every request

export interface ShapeInput {
  /** `client` or `management`, in this spelling only. */
  readonly type: string;
  /** Default empty. */
  readonly name?: string | undefined;
  /** Default none. Names in any case; kept folded, each once. */
  readonly policies?: readonly string[] | undefined;
  /** Names or identifiers. There are none yet, so any is refused. */
  readonly roles?: readonly string[] | undefined;
}

export interface TokenShape {
  readonly type: TokenType;
  readonly name: string;
  readonly policies: readonly string[];
}

/** Adds to `problems`; what is returned counts only if there are none. */
export function checkShape(input: ShapeInput, problems: string[]): TokenShape {
  const { type, name = "", policies = [], roles = [] } = input;
  const [role] = roles;
  if (role !== undefined) throw roleUnknown(role);
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) problems.push("token name too long");
  if (!isType(type)) problems.push("token type must be client or management");
  if (type === "client" && policies.length === 0) {
    problems.push("client token missing policies or roles");
  }
  if (type === "management" && policies.length > 0) {
    problems.push("management token cannot be associated with policies or roles");
  }
  if (policies.length > MAX_POLICIES) {
    problems.push(`a token may have at most ${MAX_POLICIES} policies`);
  }
  const folded = policies.slice(0, MAX_POLICIES).map(policyName);
  if (folded.includes(null)) {
    problems.push(`invalid policy name: accepted are ${ACCEPTED_NAMES}`);
  }
  // Judged after folding: every spelling of it is the same name (T-B10).
  if (folded.includes("root")) problems.push('policy "root" cannot be attached to a client token');
  const names = new Set(folded.filter((policy) => policy !== null));
  return { type: isType(type) ? type : "client", name, policies: [...names] };
}

function isType(type: string): type is TokenType {
  return type === "client" || type === "management";
}

export interface NewToken extends ShapeInput {
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
  readonly min: Nanos;
  readonly max: Nanos;
}

export interface CheckedToken extends TokenShape {
  readonly created: Instant;
  readonly expires: Instant | null;
  readonly ttl: Nanos | null;
}

/** With its time and its explicit maximum cut to what is left until `notAfter`. */
export function cutToMaker(spec: NewToken, now: Instant): NewToken {
  const { notAfter = null, ttl = null, terms } = spec;
  if (notAfter === null || terms === undefined) return spec;
  const left = notAfter - now;
  if (left <= 0n) throw parentGone();
  const cut = (nanos: Nanos | null) => (nanos === null || nanos > left ? left : nanos);
  return { ...spec, ttl: cut(ttl), terms: { ...terms, longest: cut(terms.longest) } };
}

/** Throws with all problems. Without `lifetimes` any that ends in the future will do. */
export function checkNewToken(
  spec: NewToken,
  now: Instant,
  lifetimes: Lifetimes | null,
): CheckedToken {
  const problems: string[] = [];
  const shape = checkShape(spec, problems);
  const ttl = spec.ttl ?? null;
  const chosen = spec.created ?? null;
  const created = chosen !== null && chosen < now ? chosen : now;
  const expires = ttl === null ? (spec.expires ?? null) : created + ttl;
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
  const { min, max } = lifetimes;
  const lifetime = expires - created;
  const was = `in the future (was ${showDuration(lifetime)})`;
  if (lifetime > max) {
    problems.push(`expiration time cannot be more than ${showDuration(max)} ${was}`);
  }
  if (lifetime < min) {
    problems.push(`expiration time cannot be less than ${showDuration(min)} ${was}`);
  }
}

/** Name, type and policies replace what was there, as a whole. The rest is for comparing: what is
 *  left out is unchanged, what is given must be as stored. */
export interface TokenChange extends ShapeInput {
  readonly global?: boolean | undefined;
  readonly expires?: Instant | null | undefined;
  readonly ttl?: Nanos | null | undefined;
  /** The ModifyIndex that the change is meant for. Default: whatever it is. */
  readonly cas?: Cas | undefined;
}

/** A ModifyIndex as it is shown here, or as the record has it where another cluster has written that: the primary is sent the latter. */
export type Cas = bigint | { readonly ofRecord: bigint };

export function assertUnmodified({ modifyIndex, written }: Token, cas: Cas | undefined): void {
  if (cas === undefined) return;
  if (typeof cas === "bigint") {
    if (cas !== modifyIndex) throw tokenModified(modifyIndex);
  } else if (cas.ofRecord !== (written?.modify ?? modifyIndex)) throw tokenModified(null);
}

/** The token as it will be, but for its ModifyIndex. `isOver` is whether it can be used no more. */
export function changed(before: Token, change: TokenChange, isOver: boolean): Token {
  const { cas, global, expires, ttl } = change;
  assertUnmodified(before, cas);
  const problems: string[] = [];
  const shape = checkShape(change, problems);
  if (isOver) problems.push("token has expired");
  if (isOther(global, before.global)) problems.push("cannot toggle global mode");
  if (isOther(ttl, before.ttl)) problems.push("cannot update expiration TTL");
  if (isOther(expires, before.expires)) problems.push("cannot update expiration time");
  if (problems.length > 0) throw tokenInvalid(problems);
  return { ...before, ...shape, ...renamed(before, shape.name) };
}

/** Who changes a token may say who it is, but for one who has logged in. A name that is repeated is still
 *  only what the token's maker has chosen. */
function renamed({ name: was, origin }: Token, name: string): Pick<Token, "origin"> {
  if (origin === undefined || origin.mount !== null || name === was) return {};
  return { origin: { ...origin, name } };
}

/** Whether something is given, and is not what is stored. */
function isOther<T>(value: T | null | undefined, stored: T | null): boolean {
  return value !== undefined && value !== null && value !== stored;
}
