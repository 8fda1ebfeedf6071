// What a token is made with, and what several commands ask the server about one.

import { Failure } from "@holdfast/shared/failure";
import type { Secret } from "@holdfast/shared/secret";
import { showDuration } from "@holdfast/shared/text/duration";
import { parseTime } from "@holdfast/shared/text/time";
import { isUuid } from "@holdfast/shared/text/uuid";
import * as tokens from "@holdfast/client/api/tokens";
import type { Client } from "@holdfast/client/client";
import { flag, type FlagValues } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

export const TYPES = ["client", "management"] as const;

export const NEW_TOKEN_FLAGS = {
  name: flag.string("What the token is for, for people"),
  policy: flag.string("A policy that the token has", "NAME", "policies").repeated(),
  global: flag.switch("Valid in every region; this cannot be changed later"),
  ttl: flag.duration(
    "How long it lives; without it for ever, or default_lease_ttl if a client token makes it",
  ),
  expiresAt: flag.string("When it expires, instead of -ttl: 2026-03-01T10:00:00Z", "TIME"),
};

/** What a token can be made with, by its names on the wire. */
export type TokenFields = Pick<
  tokens.CreateTokenInput,
  "Name" | "Type" | "Policies" | "Global" | "ExpirationTTL" | "ExpirationTime"
>;

/** Members that were not given are absent: the server, or the token that is copied, decides. */
export function newTokenFields(flags: FlagValues<typeof NEW_TOKEN_FLAGS>): TokenFields {
  const { name, policy, global, ttl, expiresAt } = flags;
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

export type TokenRecord = tokens.ReadTokenAnswer;

/** The token of an answer, where it holds one. */
export function tokenOf(token: TokenRecord): TokenRecord {
  if (typeof token.AccessorID === "string") return token;
  const message = "the server's answer holds no token";
  throw new Failure("upstream", "answer-malformed", message);
}

export async function readToken(client: Client, accessor: string): Promise<TokenRecord> {
  return tokenOf((await tokens.readToken(client, { accessor_id: accessor })).data);
}

export async function createToken(client: Client, fields: TokenFields): Promise<TokenRecord> {
  return tokenOf((await tokens.createToken(client, fields)).data);
}

/** A token with identifiers that were chosen elsewhere. */
export async function uploadToken(
  client: Client,
  accessor: string,
  secret: Secret<string>,
  fields: TokenFields,
): Promise<TokenRecord> {
  const ids = { AccessorID: accessor, SecretID: secret.reveal() };
  return tokenOf(
    (await tokens.updateToken(client, { accessor_id: accessor, ...fields, ...ids })).data,
  );
}

/** Of a command that acts with one. */
export function noToken(): UsageError {
  return new UsageError("there is no token", "run `holdfast login`, or set HOLDFAST_TOKEN");
}
