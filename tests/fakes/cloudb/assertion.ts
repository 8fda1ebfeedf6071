// A client assertion, checked as the provider checks it: against the documents of its issuer, which are
// fetched anew each time, and the federated credentials of the application.

import { createPublicKey, verify } from "node:crypto";
import type { FederatedCredential } from "./model.ts";
import { Refusal } from "./refusal.ts";
import { type Members, membersOf } from "./route.ts";

const SKEW = 300; // seconds

function refuse(number: number, message: string): Refusal {
  return new Refusal(401, "invalid_client", message, { number });
}

function decoded(part: string): Members {
  try {
    return membersOf(JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
  } catch {
    throw refuse(50027, "JWT token is invalid or malformed.");
  }
}

async function fetched(url: string): Promise<Members> {
  try {
    const answer = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(String(answer.status));
    return membersOf(await answer.json());
  } catch {
    throw refuse(50166, `Request to External OIDC endpoint failed: ${url}.`);
  }
}

/** Refuses what the credentials do not allow. `now` in milliseconds. */
export async function checkAssertion(
  text: string,
  credentials: readonly FederatedCredential[],
  now: number,
): Promise<void> {
  const [head = "", body = "", signature = "", ...rest] = text.split(".");
  if (rest.length > 0 || signature === "")
    throw refuse(50027, "JWT token is invalid or malformed.");
  const { alg, kid } = decoded(head);
  const { iss, sub, aud, exp, nbf, iat } = decoded(body);
  if (alg !== "RS256") throw refuse(5002738, "Invalid JWT token: unsupported algorithm.");
  const ofIssuer = credentials.filter(({ issuer }) => issuer === iss);
  const ofSubject = ofIssuer.filter(({ subject }) => subject === sub);
  const [credential] = ofSubject.filter(({ audience }) => audience === aud);
  if (credential === undefined) {
    const [number, claim] =
      ofIssuer.length === 0
        ? ([700211, "issuer"] as const)
        : ofSubject.length === 0
          ? ([700213, "subject"] as const)
          : ([700212, "audience"] as const);
    const message = `No matching federated identity record found for presented assertion ${claim}.`;
    throw refuse(number, message);
  }
  const { jwks_uri: keysAt, issuer } = await fetched(
    `${credential.discovery}/.well-known/openid-configuration`,
  );
  if (issuer !== iss || typeof keysAt !== "string") {
    throw refuse(50166, "The issuer's metadata does not fit the issuer.");
  }
  const { keys } = await fetched(keysAt);
  const jwk = (Array.isArray(keys) ? keys : [])
    .map(membersOf)
    .find((key) => key["kid"] === kid && key["kty"] === "RSA");
  if (jwk === undefined) throw refuse(700027, "The key was not found: client assertion failed.");
  const { n, e } = jwk;
  if (typeof n !== "string" || typeof e !== "string") throw refuse(700027, "The key is malformed.");
  const key = createPublicKey({ format: "jwk", key: { kty: "RSA", n, e } });
  const signed = Buffer.from(`${head}.${body}`);
  if (!verify("RSA-SHA256", signed, key, Buffer.from(signature, "base64url"))) {
    throw refuse(700027, "Client assertion failed signature validation.");
  }
  const seconds = now / 1000;
  const times = typeof exp === "number" && typeof iat === "number" && typeof nbf === "number";
  if (!times || exp < seconds - SKEW || nbf > seconds + SKEW || iat > seconds + SKEW) {
    throw refuse(700024, "Client assertion is not within its valid time range.");
  }
}
