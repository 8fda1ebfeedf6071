// Endpoints of cubbyhole as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { keyPath, needInput, restOfPath } from "../request-path.ts";

export type ListCubbyholeAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List what the token's own cubbyhole holds. */
export async function listCubbyhole(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListCubbyholeAnswer>> {
  return client.call({ method: "LIST", path: "cubbyhole", answer: "data" }, options);
}

export type ListCubbyholeFolderInput = {
  /** Name of the folder. */
  readonly path: string;
};

export type ListCubbyholeFolderAnswer = ListCubbyholeAnswer;

/** List a folder of the token's own cubbyhole. */
export async function listCubbyholeFolder(
  client: Caller,
  input: ListCubbyholeFolderInput,
  options?: CallOptions,
): Promise<Answer<ListCubbyholeFolderAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "LIST", path: `cubbyhole/${restOfPath(path)}`, answer: "data" },
    options,
  );
}

export type ReadCubbyholeInput = {
  /** Name of the entry. */
  readonly path: string;
};

/** Read an entry of the token's own cubbyhole. */
export async function readCubbyhole(
  client: Caller,
  input: ReadCubbyholeInput,
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `cubbyhole/${keyPath(path)}`, answer: "data" },
    options,
  );
}

export type WriteCubbyholeInput = {
  /** Name of the entry. */
  readonly path: string;
  /** Any object. */
  readonly data: JsonObject;
};

/** Write an entry of the token's own cubbyhole, in place of what is there. */
export async function writeCubbyhole(
  client: Caller,
  input: WriteCubbyholeInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, data } = needInput(input);
  return client.call(
    { method: "POST", path: `cubbyhole/${keyPath(path)}`, body: data, answer: "nothing" },
    options,
  );
}

export type DeleteCubbyholeInput = ReadCubbyholeInput;

/** Delete an entry of the token's own cubbyhole. */
export async function deleteCubbyhole(
  client: Caller,
  input: DeleteCubbyholeInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path } = needInput(input);
  return client.call(
    { method: "DELETE", path: `cubbyhole/${keyPath(path)}`, answer: "nothing" },
    options,
  );
}
