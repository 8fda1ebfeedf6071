// Endpoints of browser as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment } from "../request-path.ts";

export type ReadCorsAnswer = {
  /** Whether any other origin may call the API */
  readonly enabled: boolean;
  /** Origins that may */
  readonly allowed_origins: readonly string[];
  /** Request headers that they may send */
  readonly allowed_headers: readonly string[];
  /** Whether browsers may send their own credentials along */
  readonly allow_credentials: boolean;
};

/** Read which other origins may call the API */
export async function readCors(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadCorsAnswer>> {
  return client.call({ method: "GET", path: "sys/config/cors", answer: "data" }, options);
}

export type WriteCorsInput = {
  /** Origins such as https://console.example.com, or * for every origin */
  readonly allowed_origins: readonly string[];
  /** Request headers that may be sent beside the standard ones */
  readonly allowed_headers?: readonly string[] | undefined;
  /** Let browsers send their own credentials, such as client certificates, along */
  readonly allow_credentials?: boolean | undefined;
};

/** Let pages of other origins call the API */
export async function writeCors(
  client: Caller,
  body: WriteCorsInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/config/cors", body, answer: "nothing" }, options);
}

/** Let no other origin call the API */
export async function deleteCors(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "DELETE", path: "sys/config/cors", answer: "nothing" }, options);
}

export type ListConsoleHeadersAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the console headers that are set */
export async function listConsoleHeaders(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListConsoleHeadersAnswer>> {
  return client.call({ method: "LIST", path: "sys/config/ui/headers", answer: "data" }, options);
}

export type ReadConsoleHeaderInput = {
  /** Name of the header; upper and lower case are the same */
  readonly name: string;
};

export type ReadConsoleHeaderAnswer = {
  /** Values of the header */
  readonly values: readonly string[];
};

/** Read a console header that is set */
export async function readConsoleHeader(
  client: Caller,
  input: ReadConsoleHeaderInput,
  options?: CallOptions,
): Promise<Answer<ReadConsoleHeaderAnswer>> {
  const { name } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/config/ui/headers/${oneSegment(name)}`, answer: "data" },
    options,
  );
}

export type WriteConsoleHeaderInput = {
  /** Name of the header; upper and lower case are the same */
  readonly name: string;
  /** Values; several are joined by commas */
  readonly values: readonly string[];
};

/** Set a header of the console's pages */
export async function writeConsoleHeader(
  client: Caller,
  input: WriteConsoleHeaderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/config/ui/headers/${oneSegment(name)}`, body, answer: "nothing" },
    options,
  );
}

export type DeleteConsoleHeaderInput = ReadConsoleHeaderInput;

/** Go back to the default of a console header, or to none */
export async function deleteConsoleHeader(
  client: Caller,
  input: DeleteConsoleHeaderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/config/ui/headers/${oneSegment(name)}`, answer: "nothing" },
    options,
  );
}
