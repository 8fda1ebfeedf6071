// What several token commands ask of the server.

import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Secret } from "@holdfast/shared/secret";
import type { Client } from "@holdfast/client/client";

/** The token of an answer. */
export function tokenOf(body: JsonValue | undefined): JsonObject {
  if (isObject(body) && typeof body["AccessorID"] === "string") return body;
  const message = "the server's answer holds no token";
  throw new Failure("upstream", "answer-malformed", message);
}

export async function readToken(client: Client, accessor: string): Promise<JsonObject> {
  return tokenOf((await client.request("GET", `acl/token/${accessor}`)).body);
}

export async function createToken(client: Client, fields: JsonObject): Promise<JsonObject> {
  return tokenOf((await client.request("POST", "acl/token", { body: fields })).body);
}

/** A token with identifiers that were chosen elsewhere. */
export async function uploadToken(
  client: Client,
  accessor: string,
  secret: Secret<string>,
  fields: JsonObject,
): Promise<JsonObject> {
  const body = { ...fields, AccessorID: accessor, SecretID: secret.reveal() };
  return tokenOf((await client.request("POST", `acl/token/${accessor}`, { body })).body);
}
