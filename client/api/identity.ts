// Endpoints of identity as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { Answer, Caller, CallOptions } from "../client.ts";

export type ReadPluginIssuerAnswer = {
  /** As in `iss` of the tokens. */
  readonly issuer: string;
  /** Where the keys are. */
  readonly jwks_uri: string;
  /** What is given. */
  readonly response_types_supported: readonly string[];
  /** Kinds of subjects. */
  readonly subject_types_supported: readonly string[];
  /** Algorithms. */
  readonly id_token_signing_alg_values_supported: readonly string[];
};

/** Who signs the identity tokens of engines, and where the keys are. */
export async function readPluginIssuer(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadPluginIssuerAnswer>> {
  return client.call(
    {
      method: "GET",
      path: "identity/oidc/plugins/.well-known/openid-configuration",
      answer: "bare",
    },
    options,
  );
}

export type ReadPluginKeysAnswer = {
  /** A JWK each. */
  readonly keys: readonly {
    /** Kind of key. */
    readonly kty: "RSA";
    /** What it is for. */
    readonly use: "sig";
    /** What it signs with. */
    readonly alg: "RS256";
    /** Its name, as in the header of a token. */
    readonly kid: string;
    /** Modulus. */
    readonly n: string;
    /** Exponent. */
    readonly e: string;
  }[];
};

/** Public keys of identity tokens, those of tokens that have not ended yet among them. */
export async function readPluginKeys(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadPluginKeysAnswer>> {
  return client.call(
    { method: "GET", path: "identity/oidc/plugins/.well-known/keys", answer: "bare" },
    options,
  );
}
