// Endpoints of kv1 as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { keyPath, mountPath, needInput, restOfPath } from "../request-path.ts";

export type ListInput = {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List secrets and folders at the top of the mount. */
export async function list(
  client: Caller,
  mount: string,
  query: ListInput = {},
  options?: CallOptions,
): Promise<Answer<ListAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}`, query, answer: "data" },
    options,
  );
}

export type ListBelowInput = {
  /** Folder: the part of the paths up to a slash. */
  readonly path: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListBelowAnswer = ListAnswer;

/** List secrets and folders in a folder. */
export async function listBelow(
  client: Caller,
  mount: string,
  input: ListBelowInput,
  options?: CallOptions,
): Promise<Answer<ListBelowAnswer>> {
  const { path, ...query } = needInput(input);
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/${restOfPath(path)}`, query, answer: "data" },
    options,
  );
}

export type ReadInput = {
  /** Path of the secret. */
  readonly path: string;
};

/** Read a secret. */
export async function read(
  client: Caller,
  mount: string,
  input: ReadInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/${keyPath(path)}`, answer: "data" },
    options,
  );
}

export type WriteInput = {
  /** Path of the secret. */
  readonly path: string;
  /** What is to be kept. */
  readonly data: JsonObject;
};

/** Write a secret in place of what was there. */
export async function write(
  client: Caller,
  mount: string,
  input: WriteInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, data } = needInput(input);
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/${keyPath(path)}`, body: data, answer: "nothing" },
    options,
  );
}

export type DeleteInput = ReadInput;

/** Remove a secret. */
async function delete_(
  client: Caller,
  mount: string,
  input: DeleteInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path } = needInput(input);
  return client.call(
    { method: "DELETE", path: `${mountPath(mount)}/${keyPath(path)}`, answer: "nothing" },
    options,
  );
}
export { delete_ as delete };
