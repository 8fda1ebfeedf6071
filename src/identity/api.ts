// The two documents by which a provider checks identity tokens (OpenID Connect discovery): for
// everybody, in the form that the standard gives them and without an envelope of ours.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { type Identity, ISSUER_PATH } from "./identity.ts";

const endpoint = endpointsOf<Identity>();

const open = { access: access.open, rootOnly: true, family: "bare", input: {} } as const;

export const identityApi = [
  endpoint({
    ...open,
    name: "readPluginIssuer",
    method: "GET",
    path: `/${ISSUER_PATH}/.well-known/openid-configuration`,
    summary: "Who signs the identity tokens of engines, and where the keys are.",
    output: out.object({
      issuer: out.string("As in `iss` of the tokens."),
      jwks_uri: out.string("Where the keys are."),
      response_types_supported: out.list(out.string("A type."), "What is given."),
      subject_types_supported: out.list(out.string("A type."), "Kinds of subjects."),
      id_token_signing_alg_values_supported: out.list(out.string("An algorithm."), "Algorithms."),
    }),
    handler: ({ issuer }) => ({
      issuer,
      jwks_uri: `${issuer}/.well-known/keys`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    }),
  }),
  endpoint({
    ...open,
    name: "readPluginKeys",
    method: "GET",
    path: `/${ISSUER_PATH}/.well-known/keys`,
    summary: "Public keys of identity tokens, those of tokens that have not ended yet among them.",
    output: out.object({
      keys: out.list(
        out.object({
          kty: out.oneOf(["RSA"], "Kind of key."),
          use: out.oneOf(["sig"], "What it is for."),
          alg: out.oneOf(["RS256"], "What it signs with."),
          kid: out.string("Its name, as in the header of a token."),
          n: out.string("Modulus."),
          e: out.string("Exponent."),
        }),
        "A JWK each.",
      ),
    }),
    handler: (identity) => ({
      keys: identity.publicKeys().map(({ kid, n, e }) => {
        return { kty: "RSA" as const, use: "sig" as const, alg: "RS256" as const, kid, n, e };
      }),
    }),
  }),
];
