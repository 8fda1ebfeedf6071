// Endpoints of namespaces as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, restOfPath } from "../request-path.ts";

export type ListNamespacesInput = {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListNamespacesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the direct child namespaces. */
export async function listNamespaces(
  client: Caller,
  query: ListNamespacesInput = {},
  options?: CallOptions,
): Promise<Answer<ListNamespacesAnswer>> {
  return client.call({ method: "LIST", path: "sys/namespaces", query, answer: "data" }, options);
}

export type ReadNamespaceInput = {
  /** Path of the namespace, relative to the namespace of the request. */
  readonly path: string;
};

export type ReadNamespaceAnswer = {
  /** Short id; part of lease ids and audit records. Never used again. */
  readonly id: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Path from the root namespace, with a slash at the end. */
  readonly path: string;
  /** What operators noted about it. */
  readonly custom_metadata: Readonly<Record<string, string>>;
};

/** Read a namespace. */
export async function readNamespace(
  client: Caller,
  input: ReadNamespaceInput,
  options?: CallOptions,
): Promise<Answer<ReadNamespaceAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/namespaces/${restOfPath(path)}`, answer: "data" },
    options,
  );
}

export type WriteNamespaceInput = {
  /** Path of the namespace, relative to the namespace of the request. */
  readonly path: string;
  /** What operators note about it. */
  readonly custom_metadata?: Readonly<Record<string, string>> | undefined;
};

export type WriteNamespaceAnswer = ReadNamespaceAnswer;

/** Create a namespace, or replace its metadata. */
export async function writeNamespace(
  client: Caller,
  input: WriteNamespaceInput,
  options?: CallOptions,
): Promise<Answer<WriteNamespaceAnswer>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/namespaces/${restOfPath(path)}`, body, answer: "data" },
    options,
  );
}

export type PatchNamespaceInput = {
  /** Path of the namespace, relative to the namespace of the request. */
  readonly path: string;
  /** A merge patch: null in place of a text removes it. */
  readonly custom_metadata?: Readonly<Record<string, string | null>> | undefined;
};

export type PatchNamespaceAnswer = ReadNamespaceAnswer;

/** Change some of a namespace's metadata. */
export async function patchNamespace(
  client: Caller,
  input: PatchNamespaceInput,
  options?: CallOptions,
): Promise<Answer<PatchNamespaceAnswer>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "PATCH", path: `sys/namespaces/${restOfPath(path)}`, body, answer: "data" },
    options,
  );
}

export type DeleteNamespaceInput = ReadNamespaceInput;

export type DeleteNamespaceAnswer = {
  /** It is being emptied, also after a restart. */
  readonly status: "in-progress";
};

/** Delete a namespace and everything in it. */
export async function deleteNamespace(
  client: Caller,
  input: DeleteNamespaceInput,
  options?: CallOptions,
): Promise<Answer<DeleteNamespaceAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/namespaces/${restOfPath(path)}`, answer: "data" },
    options,
  );
}
