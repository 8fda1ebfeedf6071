// What an update may change of a token, and what it may only repeat.

import type { Instant, Nanos } from "@holdfast/shared/world";
import { tokenInvalid, tokenModified } from "./failures.ts";
import type { Token } from "./token.ts";
import { checkShape, type GivenShape } from "./token-shape.ts";

/** Name, type and policies replace what was there, as a whole. The rest is for comparing: what is
 *  left out is unchanged, what is given must be as stored. */
export interface TokenChange extends GivenShape {
  readonly global?: boolean | undefined;
  readonly expires?: Instant | null | undefined;
  readonly ttl?: Nanos | null | undefined;
  /** The ModifyIndex that the change is meant for. Default: whatever it is. */
  readonly cas?: bigint | undefined;
}

/** The token as it will be, but for its ModifyIndex. `isOver` is whether it can be used no more. */
export function changed(before: Token, change: TokenChange, isOver: boolean): Token {
  const { cas, global, expires, ttl } = change;
  if (cas !== undefined && cas !== before.modifyIndex) throw tokenModified(before.modifyIndex);
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
function isOther<T>(given: T | null | undefined, stored: T | null): boolean {
  return given !== undefined && given !== null && given !== stored;
}
