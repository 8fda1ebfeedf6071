// What a new token is given on the command line, as the members of a request.

import { showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { parseTime } from "@holdfast/shared/text/time";
import { isUuid } from "@holdfast/shared/text/uuid";
import type * as tokens from "@holdfast/client/api/tokens";
import { flag, type FlagValues } from "./flag.ts";
import { UsageError } from "./usage-error.ts";

export const TYPES = ["client", "management"] as const;

export const NEW_TOKEN_FLAGS = {
  name: flag.string("What the token is for, for people"),
  policy: flag.string("A policy that the token has", "NAME", "policies").repeated(),
  global: flag.switch("Valid in every region; this cannot be changed later"),
  ttl: flag.duration("How long it lives; without it, for ever"),
  expiresAt: flag.string("When it expires, instead of -ttl: 2026-03-01T10:00:00Z", "TIME"),
};

/** What a token can be made with, by its names on the wire. */
export type TokenFields = Pick<
  tokens.CreateTokenInput,
  "Name" | "Type" | "Policies" | "Global" | "ExpirationTTL" | "ExpirationTime"
>;

/** Members that were not given are absent: the server, or the token that is copied, decides. */
export function newTokenFields(given: FlagValues<typeof NEW_TOKEN_FLAGS>): TokenFields {
  const { name, policy, global, ttl, expiresAt } = given;
  if (ttl !== undefined && expiresAt !== undefined) {
    throw new UsageError("-ttl and -expires-at exclude each other");
  }
  return {
    ...(name === undefined ? {} : { Name: name }),
    ...(policy.length === 0 ? {} : { Policies: policy }),
    ...(global ? { Global: true } : {}),
    ...(ttl === undefined ? {} : { ExpirationTTL: showDuration(ttl) }),
    ...(expiresAt === undefined ? {} : { ExpirationTime: checkedTime(expiresAt) }),
  };
}

export function checkedAccessor(text: string): string {
  const accessor = text.toLowerCase();
  if (isUuid(accessor)) return accessor;
  throw new UsageError("the accessor of a token to upload must be a whole UUID");
}

function checkedTime(text: string): string {
  try {
    if (parseTime(text) !== null) return text;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  throw new UsageError("-expires-at takes a time such as 2026-03-01T10:00:00Z");
}
