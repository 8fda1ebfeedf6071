// A namespace as it is stored, and where. The row of a namespace is also the claim on its name: one
// row that cannot disagree with itself, and that a transaction finds without a search.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";

export type Metadata = Readonly<Record<string, string>>;

export interface NamespaceRecord {
  /** Part of every storage key of its contents. Never reused. */
  readonly id: string;
  readonly uuid: string;
  /** From root, without slashes at the ends. */
  readonly path: string;
  readonly parent: string; // id
  readonly metadata: Metadata;
  /** Index of the write that made it. */
  readonly created: bigint;
  /** "deleting": it answers to nobody and is being emptied. */
  readonly state: "active" | "deleting";
}

/** Folded: two names that differ in case only would be taken for each other by people. */
export function rowOf(parent: string, name: string): string {
  return `${childrenOf(parent)}${name.toLowerCase()}`;
}

/** Below it are the rows of all children. */
export function childrenOf(parent: string): string {
  return `${ROWS}${parent}/`;
}

export const ROWS = "tree/";

/** Written with the namespace and never removed: that is how an id is not given out twice. */
export function idRowOf(id: string): string {
  return `ids/${id}`;
}

export const idCodec: Codec<{ readonly created: string }> = jsonCodec();

type Stored = Omit<NamespaceRecord, "created"> & { readonly created: string };
const stored = jsonCodec<Stored>();

export const recordCodec: Codec<NamespaceRecord> = {
  encode: (record) => stored.encode({ ...record, created: String(record.created) }),
  decode: (bytes) => {
    const found = stored.decode(bytes);
    return { ...found, created: BigInt(found.created) };
  },
};

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
