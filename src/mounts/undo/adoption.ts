// Write-ahead records that a copy of older data does not know: what they tell of is still there outside, or may be. They
// are taken over to be undone at once, since nobody works on them any more.

import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Instant } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import type { OutsideKind, OutsideReads } from "../../carried/outside-rows.ts";
import { ENTRIES, entryCodec, entryKey } from "../table/mount-record.ts";
import { type StoredWriteAhead, writeAheadCodec } from "./write-ahead.ts";
import { mountOf, writeAheadOf } from "./write-ahead-keys.ts";

const PAGE = 100;

/** Of everything below shared/ and local/. */
export interface MountViews {
  readonly shared: View;
  readonly local: View;
}

/** The namespace of each mount, by its uuid. */
export type MountedIn = ReadonlyMap<string, string>;

export function mountsIn({ shared, local }: MountViews): MountedIn {
  const found = new Map<string, string>();
  for (const view of [shared, local]) {
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const rows = view.records(ENTRIES, entryCodec, page);
      for (const { key, value } of rows) found.set(key.slice(ENTRIES.length), value.namespaceId);
      after = rows.at(-1)?.key;
      if (after === undefined) break;
    }
  }
  return found;
}

/** Whether data that nobody can open has this mount: keys of rows lie there in clear. */
export function hasMountEntry(uuid: string, hasKey: (key: string) => boolean): boolean {
  return hasKey(`shared/${entryKey(uuid)}`) || hasKey(`local/${entryKey(uuid)}`);
}

export interface OutsideRecordsOptions {
  /** Of everything below local/ of the data that goes. */
  readonly from: OutsideReads;
  /** Whose records are looked for. */
  readonly mounts: MountedIn;
  /** Whether the data that comes has this mount there. */
  readonly stays: (uuid: string, namespaceId: string) => boolean;
  readonly now: Instant;
}

export function outsideRecords(options: OutsideRecordsOptions): OutsideKind<StoredWriteAhead> {
  const { from, mounts, stays, now } = options;
  return {
    pages: () => keysOf(from, mounts),
    read: (key) => {
      const { namespaceId, mountUuid } = mountOf(key);
      return stays(mountUuid, namespaceId) ? readable(from, key) : null;
    },
    encode: (record) => writeAheadCodec.encode(record),
    put: (tx, to, key, { kind, data, created }) =>
      tx.on(to).put(key, abandoned({ kind, data, created }, now), writeAheadCodec),
  };
}

/** When it was written stays: engines tell by it what was made then. */
function abandoned({ kind, data, created }: StoredWriteAhead, now: Instant): StoredWriteAhead {
  const since = BigInt(created) < now ? created : String(now);
  return { kind, data, created: since, abandoned: true };
}

function* keysOf(data: OutsideReads, mounts: MountedIn): Generator<readonly string[]> {
  for (const [uuid, namespaceId] of mounts) {
    const folder = writeAheadOf(namespaceId, uuid);
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const keys = data.keys(folder, page);
      after = keys.at(-1);
      if (after === undefined) break;
      yield keys;
    }
  }
}

/** Null for one that cannot be read: it keeps no other from being taken over. */
function readable(data: OutsideReads, key: string): StoredWriteAhead | null {
  try {
    return data.get(key, writeAheadCodec);
  } catch (error) {
    if (error instanceof Failure && error.kind === "damaged") return null;
    throw error;
  }
}

const KEY = /^ns\/[^/]+\/mounts\/[^/]+\/wal\/([^/]+)$/;
const MAX_KIND = 128;

/** Whether a key below local/ is that of a write-ahead record. */
export function isWriteAheadKey(key: string): boolean {
  return KEY.test(key);
}

/** Whether what another cluster says of a record is one, of this key. */
export function isWholeRecord(key: string, value: JsonValue): boolean {
  const [, id = ""] = KEY.exec(key) ?? [];
  if (!isUuid(id) || !isObject(value)) return false;
  const { kind, data, created } = value;
  if (typeof kind !== "string" || kind === "" || kind.length > MAX_KIND) return false;
  return isObject(data) && typeof created === "string" && /^\d{1,19}$/.test(created);
}
