// A mount as it is stored, and where. Three rows each: the record, below its namespace; the claim on its
// path, which a transaction finds without a search; and beside the namespaces an entry by uuid, so that
// the table is loaded, and followed, without a look at what the mounts hold.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineOptions } from "@holdfast/plugin-sdk/engine";
import type { MountConfig } from "./mount-config.ts";

export type MountKind = "secret" | "auth";

export interface MountRecord {
  /** Never changes, also not when the mount moves. Part of the storage keys of its contents. */
  readonly uuid: string;
  readonly accessor: string;
  readonly kind: MountKind;
  readonly type: string;
  /** Of a plugin: which version was chosen for it; empty: the one without. Default: its type is built in. */
  readonly plugin?: { readonly version: string } | undefined;
  readonly namespaceId: string;
  /** With a slash at the end, relative to its namespace: "kv/", "auth/people/". */
  readonly path: string;
  readonly description: string;
  readonly options: EngineOptions;
  readonly config: MountConfig;
  readonly local: boolean;
  readonly sealWrap: boolean;
  /** Index of the write that made it. */
  readonly created: bigint;
  readonly state: MountState;
}

/** Whatever is not active is reached by no request, only by revocations and by rollback. */
export type MountState =
  | { readonly kind: "active" }
  | { readonly kind: "disabling"; readonly abandon: boolean }
  | {
      readonly kind: "moving";
      readonly id: string;
      readonly namespaceId: string;
      readonly path: string;
    };

type Stored = Omit<MountRecord, "created"> & { readonly created: string };
const stored = jsonCodec<Stored>();

export const recordCodec: Codec<MountRecord> = {
  encode: (record) => stored.encode({ ...record, created: String(record.created) }),
  decode: (bytes) => {
    const found = stored.decode(bytes);
    return { ...found, created: BigInt(found.created) };
  },
};

/** Whose path it is. */
export const claimCodec: Codec<{ readonly uuid: string }> = jsonCodec();
export interface MountEntry {
  readonly namespaceId: string;
}

export const entryCodec: Codec<MountEntry> = jsonCodec();

// --- keys, relative to shared/ or local/ ---

export const ENTRIES = "mounts/";

export function entryKey(uuid: string): string {
  return ENTRIES + uuid;
}

export function recordKey(namespaceId: string, uuid: string): string {
  return `ns/${namespaceId}/mount-table/${uuid}`;
}

/** `path` with or without the slash at its end. */
export function claimKey(namespaceId: string, path: string): string {
  return `ns/${namespaceId}/mount-paths/${path.replace(/\/$/, "")}`;
}

/** Below local/: what is kept of an opened engine for the time when it cannot be opened. */
export function seenKey(uuid: string): string {
  return `plugins/seen/${uuid}`;
}

export const seenCodec: Codec<JsonObject> = jsonCodec();

/** Below it lies what the mount's engine keeps. */
export function dataOf(namespaceId: string, uuid: string): string {
  return `ns/${namespaceId}/mounts/${uuid}/data/`;
}

const DATA = /^ns\/([^/]+)\/mounts\/([^/]+)\/data\/(.+)$/s;

/** Whose data it is, and what its engine calls the key; null for every other row. */
export function ownerOf(
  path: string,
): { readonly namespaceId: string; readonly uuid: string; readonly key: string } | null {
  const [, namespaceId, uuid, key] = DATA.exec(path) ?? [];
  if (namespaceId === undefined || uuid === undefined || key === undefined) return null;
  return { namespaceId, uuid, key };
}

const RECORD = /^ns\/[^/]+\/mount-table\/([^/]+)$/;

/** Of which mount it is the record; null for every other row. */
export function recordOwner(path: string): string | null {
  return RECORD.exec(path)?.[1] ?? null;
}

/** Everything of the mount but its table rows. */
export function contentsOf(namespaceId: string, uuid: string): string {
  return `ns/${namespaceId}/mounts/${uuid}/`;
}
