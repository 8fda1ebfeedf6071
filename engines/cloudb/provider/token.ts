// Access tokens for the provider: asked for by a secret, by a proof of this
// mount's identity, or by the identity of the machine; kept for each scope until shortly before they end.

import { SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Endpoints } from "./environments.ts";
import type { Http } from "./http.ts";
import { ProviderError } from "../../cloud/provider-error.ts";
import { type Answer, neededText, unreadable } from "./provider-answer.ts";
import { path } from "./url-path.ts";

export type Credentials =
  | { readonly kind: "secret"; readonly clientId: string; readonly secret: string }
  | {
      readonly kind: "identity";
      readonly clientId: string;
      readonly audience: string;
      readonly seconds: number;
    }
  | { readonly kind: "machine"; readonly clientId: string };

export interface TokenParts {
  readonly needs: EngineNeeds;
  readonly http: Http;
  readonly endpoints: Endpoints;
  readonly tenantId: string;
  readonly credentials: Credentials;
  /** Whose connections these are. */
  readonly identity: string;
}

interface AccessToken {
  readonly text: string;
  readonly expires: Instant;
}

const STEP = "getting a token";
const LONGEST = 86_400n * SECOND;
const KEPT_BEFORE_END = 300n * SECOND;
const ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const METADATA = "http://169.254.169.254/metadata/identity/oauth2/token";

export class Tokens {
  readonly #parts: TokenParts;
  readonly #kept = new Map<string, AccessToken>(); // by scope
  readonly #asking = new Map<string, Promise<AccessToken>>(); // one at a time for each scope

  constructor(parts: TokenParts) {
    this.#parts = parts;
  }

  /** For `base`, one of the services, such as https://graph.microsoft.com. */
  async for(base: string, signal: AbortSignal): Promise<string> {
    const kept = this.#kept.get(base);
    if (kept !== undefined && kept.expires - KEPT_BEFORE_END > this.#parts.needs.clock.now()) {
      return kept.text;
    }
    let asking = this.#asking.get(base);
    if (asking === undefined) {
      // Others may wait for it as well: it does not end with the request that happened to begin it, but
      // by the limits of the way out.
      asking = requestToken(this.#parts, base, new AbortController().signal);
      this.#asking.set(base, asking);
      const over = () => this.#asking.delete(base);
      asking.then(over, over);
    }
    const token = await unlessAborted(asking, signal);
    this.#kept.set(base, token);
    return token.text;
  }

  /** The service does not take it any more. */
  drop(base: string, text: string): void {
    if (this.#kept.get(base)?.text === text) this.#kept.delete(base);
  }
}

/** A fresh one, kept nowhere. */
export async function requestToken(
  parts: TokenParts,
  base: string,
  signal: AbortSignal,
): Promise<AccessToken> {
  const { needs } = parts;
  const began = needs.clock.now();
  const { body } = await exchange(parts, base, signal);
  const text = neededText(STEP, body, "access_token");
  if (/[^\x21-\x7e]/.test(text)) throw unreadable(STEP, "access_token is no token");
  return { text, expires: endOf(body, began) };
}

/** By how long it lasts or, as platforms of machines say it, by when it ends: in seconds, a number or
 *  its digits. One that says neither is used once. */
function endOf(body: JsonObject, began: Instant): Instant {
  const wholeIn = (name: string) => {
    const found = Number(body[name]);
    return Number.isSafeInteger(found) && found > 0 ? BigInt(found) * SECOND : null;
  };
  const lasts = wholeIn("expires_in");
  const ends = lasts === null ? wholeIn("expires_on") : began + lasts;
  if (ends === null) return began;
  return ends < began + LONGEST ? ends : began + LONGEST;
}

async function exchange(parts: TokenParts, base: string, signal: AbortSignal): Promise<Answer> {
  const { credentials, http, endpoints, tenantId, identity } = parts;
  if (credentials.kind === "machine") return askMachine(parts, base, signal);
  const proof = await proofOf(parts);
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: credentials.clientId,
    scope: `${base}/.default`,
    ...proof.fields,
  });
  return http.send({
    step: STEP,
    action: "token",
    method: "POST",
    url: new URL(endpoints.authority + path`/${tenantId}/oauth2/v2.0/token`),
    body: form.toString(),
    signal,
    secrets: [proof.secret],
    identity,
    finds: false,
  });
}

async function proofOf({ needs, credentials }: TokenParts) {
  if (credentials.kind === "secret") {
    return { secret: credentials.secret, fields: { client_secret: credentials.secret } };
  }
  const audience = credentials.kind === "identity" ? credentials.audience : "";
  const length = credentials.kind === "identity" ? credentials.seconds : 0;
  const jwt = await needs.identity.token(audience, BigInt(length) * SECOND);
  return { secret: jwt, fields: { client_assertion_type: ASSERTION, client_assertion: jwt } };
}

/** The identity that the machine has been given: by its platform's own endpoint, or by the address that
 *  every virtual machine has. */
async function askMachine(parts: TokenParts, base: string, signal: AbortSignal): Promise<Answer> {
  const { needs, http, credentials, identity } = parts;
  const platform = needs.environment("IDENTITY_ENDPOINT");
  const header = needs.environment("IDENTITY_HEADER");
  const own = platform !== null && header !== null;
  const url = own
    ? needs.outbound.endpoint("IDENTITY_ENDPOINT", platform, { plain: true, metadata: true })
    : new URL(METADATA);
  url.searchParams.set("api-version", own ? "2019-08-01" : "2018-02-01");
  url.searchParams.set("resource", base);
  if (credentials.clientId !== "") url.searchParams.set("client_id", credentials.clientId);
  const answering = http.send({
    step: STEP,
    action: "machineToken",
    method: "GET",
    url,
    headers: own ? { "x-identity-header": header } : { metadata: "true" },
    signal,
    secrets: own ? [header] : [],
    identity,
    finds: false,
    metadata: true,
  });
  try {
    return await answering;
  } catch (error) {
    if (!(error instanceof ProviderError) || ![404, 410].includes(error.status)) throw error;
    // Said while the machine comes up or its identity is being changed: it is worth asking again.
    throw error.with({ status: 503, kind: "unknown", retryAfter: null });
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const end = () =>
    aborted.reject(
      new ProviderError({
        step: STEP,
        code: "aborted",
        message: "the time for this was over",
        status: 0,
        requestId: "",
        kind: "unreachable",
        secrets: [],
      }),
    );
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
