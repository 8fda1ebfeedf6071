// Access to cloudc-store: a service account signs a statement of who it is, a user has a token to renew, and the
// token endpoint gives an access token for either. It is kept until shortly before its end.

import { sign } from "node:crypto";
import { utf8 } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import { numberAt, readAnswer, textAt } from "../targets/json-answer.ts";
import { type StoreAnswer, StoreCalls, type StoreNeeds } from "../targets/store-calls.ts";
import { storeRefuses } from "../targets/store-error.ts";
import type { Identity } from "./credentials.ts";

const SCOPE = "https://www.googleapis.com/auth/devstorage.read_write";
const LIFE = 3600; // seconds
const BEFORE_END = 300;
const STEP = "asking for an access token";

export class AccessToken {
  readonly #identity: Identity;
  readonly #needs: StoreNeeds;
  readonly #url: URL;
  readonly #calls: StoreCalls;
  #token = "";
  #until: Instant = 0n;

  /** Throws a Failure where the address of the token endpoint may not be called. */
  constructor(identity: Identity, needs: StoreNeeds, { plain }: { readonly plain: boolean }) {
    this.#identity = identity;
    this.#needs = needs;
    this.#url = needs.outbound.endpoint("token_uri of the credentials", identity.tokenUri, {
      plain,
    });
    this.#calls = new StoreCalls(needs, {
      plain,
      identity: identity.kind === "service_account" ? identity.email : identity.clientId,
      secrets: () => this.secrets,
      saidBy,
      passing: ["temporarily_unavailable", "internal_failure"],
    });
  }

  /** What must be in no text. */
  get secrets(): readonly string[] {
    const held = this.#token === "" ? [] : [this.#token];
    if (this.#identity.kind === "service_account") return held;
    return [...held, this.#identity.clientSecret, this.#identity.refreshToken];
  }

  async get(signal: AbortSignal): Promise<string> {
    if (this.#needs.clock.now() < this.#until) return this.#token;
    const answer = await this.#calls.send(
      {
        step: STEP,
        request: () => ({
          method: "POST",
          url: this.#url,
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: new URLSearchParams(this.#grant()).toString(),
        }),
      },
      signal,
    );
    const found = readAnswer(answer.text);
    const token = textAt(found, "access_token");
    const seconds = numberAt(found, "expires_in") ?? 0;
    if (token === "" || !/^[!-~]+$/.test(token)) {
      throw storeRefuses(STEP, "the answer holds no access token");
    }
    this.#token = token;
    this.#until = this.#needs.clock.now() + BigInt(Math.max(0, seconds - BEFORE_END)) * SECOND;
    return token;
  }

  #grant(): Record<string, string> {
    const identity = this.#identity;
    if (identity.kind === "authorized_user") {
      const { clientId, clientSecret, refreshToken } = identity;
      return {
        grant_type: "refresh_token",
        client_id: clientId,
        client_secret: clientSecret,
        refresh_token: refreshToken,
      };
    }
    const now = Number(this.#needs.clock.now() / SECOND);
    const { email, keyId, key, tokenUri } = identity;
    const named = keyId === "" ? {} : { kid: keyId };
    const claims = { iss: email, scope: SCOPE, aud: tokenUri, iat: now, exp: now + LIFE };
    const said = [{ alg: "RS256", typ: "JWT", ...named }, claims]
      .map((part) => utf8(JSON.stringify(part)).toString("base64url"))
      .join(".");
    const assertion = `${said}.${sign("sha256", utf8(said), key).toString("base64url")}`;
    return { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion };
  }
}

function saidBy({ text }: StoreAnswer) {
  const found = readAnswer(text);
  const code = textAt(found, "error");
  return { code, message: textAt(found, "error_description"), requestId: "" };
}
