// Access tokens of the fake of cloud B: opaque texts, each good for one of the two APIs until it
// expires. One that was given out outlives the password with which it was got, as in reality.

import { randomBytes } from "node:crypto";

export interface AccessToken {
  readonly appId: string;
  /** The base address of the API it is for. */
  readonly audience: string;
  readonly expires: number;
  /** Of the password; "" for an assertion or a managed identity. */
  readonly keyId: string;
}

export class AccessTokens {
  readonly #tokens = new Map<string, AccessToken>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  issue(token: Omit<AccessToken, "expires">, seconds: number): string {
    for (const [text, { expires }] of this.#tokens) {
      if (expires <= this.#now()) this.#tokens.delete(text);
      else break;
    }
    const text = `eyJ0eXAi.${randomBytes(24).toString("base64url")}.${randomBytes(24).toString("base64url")}`;
    this.#tokens.set(text, { ...token, expires: this.#now() + seconds * 1000 });
    return text;
  }

  find(text: string): AccessToken | null {
    return this.#tokens.get(text) ?? null;
  }

  expired(token: AccessToken): boolean {
    return token.expires <= this.#now();
  }

  /** All that are out become worthless. */
  revokeAll(): void {
    this.#tokens.clear();
  }
}
