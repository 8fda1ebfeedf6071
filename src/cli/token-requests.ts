// What several token commands ask of the server.

import { Failure } from "@holdfast/shared/failure";
import type { Secret } from "@holdfast/shared/secret";
import type { Client } from "@holdfast/client/client";
import * as tokens from "@holdfast/client/api/tokens";
import type { TokenFields } from "./token-fields.ts";

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
