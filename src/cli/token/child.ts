// A client token cannot use acl/token, which is for management. What its policies let it make is made at
// auth/token/create: a token that ends with it.

import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import * as tokens from "@holdfast/client/api/tokens";
import type { Context } from "../command.ts";
import type { TokenFields } from "./fields.ts";

/** What can be said there. A token without policies would be given all of the caller's. */
const RELEVANT = new Set(["Name", "Policies", "ExpirationTTL", "Type"]);

/** Whether a refusal of acl/token is due to the caller being a client token, and there is another way. */
export async function mayMakeChild(
  client: Client,
  fields: TokenFields,
  refusal: unknown,
): Promise<boolean> {
  if (!(refusal instanceof ApiError) || refusal.kind !== "denied") return false;
  if (fields.Type !== "client" || fields.Policies === undefined) return false;
  if (Object.keys(fields).some((name) => !RELEVANT.has(name))) return false;
  return (await selfOf(client))["Type"] === "client";
}

export async function createChild(
  { client, out }: Pick<Context, "client" | "out">,
  { Name, Policies, ExpirationTTL }: TokenFields,
): Promise<JsonObject> {
  const { data: auth } = await tokens.authTokenCreate(client, {
    policies: Policies ?? [],
    ...(Name === undefined ? {} : { display_name: Name }),
    ...(ExpirationTTL === undefined || ExpirationTTL === null ? {} : { ttl: ExpirationTTL }),
  });
  const { accessor, client_token: secret, token_policies: policies } = auth;
  out.hint(
    "Made by a client token, with which it ends; `holdfast write auth/token/create-orphan policies=…` " +
      "makes one that does not, where you have sudo.",
  );
  // The record tells more; where it cannot be had the secret must be told all the same.
  const record = await selfOf(client.withToken(new Secret(secret)));
  const known = { Name: Name ?? "", Type: "client", Policies: policies };
  return { ...known, ...record, AccessorID: accessor, SecretID: secret };
}

/** The record of the token that a client has; empty where it may not be seen. */
async function selfOf(client: Client): Promise<JsonObject> {
  try {
    return (await tokens.readSelfToken(client)).data;
  } catch (error) {
    if (error instanceof Failure) return {};
    throw error;
  }
}
