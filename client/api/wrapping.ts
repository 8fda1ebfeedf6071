// Endpoints of wrapping as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput } from "../request-path.ts";

export type WrapDataInput = {
  /** What is to be handed over. */
  readonly data: JsonObject;
};

/** Wrap the body of this request. */
export async function wrapData(
  client: Caller,
  input: WrapDataInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { data } = needInput(input);
  return client.call(
    { method: "POST", path: "sys/wrapping/wrap", body: data, answer: "data" },
    options,
  );
}

export type LookUpWrappingInput = {
  /** The wrapping token, unless it is the credential of the request itself. */
  readonly token?: string | undefined;
};

export type LookUpWrappingAnswer = {
  /** When it was made. */
  readonly creation_time: string;
  /** Seconds that it was made for. */
  readonly creation_ttl: number;
  /** The request whose answer it holds, from the root namespace. */
  readonly creation_path: string;
};

/** What a wrapping token is, without using it up. */
export async function lookUpWrapping(
  client: Caller,
  body: LookUpWrappingInput = {},
  options?: CallOptions,
): Promise<Answer<LookUpWrappingAnswer>> {
  return client.call(
    { method: "POST", path: "sys/wrapping/lookup", body, answer: "data" },
    options,
  );
}

export type UnwrapInput = LookUpWrappingInput;

/** The answer that a wrapping token holds; it works once. */
export async function unwrap(
  client: Caller,
  body: UnwrapInput = {},
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "POST", path: "sys/wrapping/unwrap", body, answer: "data" },
    options,
  );
}

export type RewrapInput = LookUpWrappingInput;

/** The same answer behind a new wrapping token; the old one is used up. */
export async function rewrap(
  client: Caller,
  body: RewrapInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/wrapping/rewrap", body, answer: "nothing" },
    options,
  );
}

export type ReadWrappingKeyAnswer = {
  /** In PEM. */
  readonly public_key: string;
  /** First half of the public point, as a decimal number. */
  readonly jwt_x: string;
  /** Second half. */
  readonly jwt_y: string;
  /** The curve. */
  readonly jwt_curve: "p521";
  readonly jwk: {
    /** Kind of key. */
    readonly kty: "EC";
    /** The curve. */
    readonly crv: "P-521";
    /** What it signs with. */
    readonly alg: "ES512";
    /** What it is for. */
    readonly use: "sig";
    /** First half, in base64url. */
    readonly x: string;
    /** Second half. */
    readonly y: string;
  };
};

/** The key that wrapping tokens in the form of a JWT are signed with. */
export async function readWrappingKey(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadWrappingKeyAnswer>> {
  return client.call({ method: "GET", path: "sys/wrapping/pubkey", answer: "data" }, options);
}
