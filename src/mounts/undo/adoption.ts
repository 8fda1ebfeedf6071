// Write-ahead records that a copy of older data does not know: what they tell of is still there outside, or may be. They
// are taken over to be undone at once, since nobody works on them any more.

import { DAY } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Instant, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import { ENTRIES, entryCodec, entryKey } from "../table/mount-record.ts";
import { writeAheadCodec } from "./write-ahead.ts";
import { writeAheadOf } from "./write-ahead-keys.ts";

const PAGE = 100;
const ESSENTIAL = { essential: true }; // a full disk keeps nobody from ending what is outside

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

export interface WriteAheadAdoption {
  /** Of everything below local/. */
  readonly from: View;
  readonly to: View;
  /** Whose records are looked for, and what the data has that comes. */
  readonly mounts: MountedIn;
  readonly mounted: MountedIn;
  readonly now: Instant;
  readonly timers: Timers;
  /** In the transaction that takes over the record of this key. */
  readonly taken?: (tx: Tx, key: string) => void;
}

export async function adoptWriteAhead({
  from,
  to,
  mounts,
  mounted,
  now,
  timers,
  taken,
}: WriteAheadAdoption): Promise<{ readonly adopted: number; readonly left: number }> {
  let adopted = 0;
  let left = 0;
  for (const { uuid, namespaceId, keys } of writeAheadIn(from, mounts)) {
    const unknown = keys.filter((key) => !hasRow(to, key));
    const stays = mounted.get(uuid) === namespaceId;
    const found = unknown.flatMap((key) => {
      const value = stays ? readable(from, key) : null;
      return value === null ? [] : [{ key, value }];
    });
    if (found.length > 0) {
      await to.write((tx) => {
        for (const { key, value } of found) {
          const { kind, data } = value;
          tx.put(key, { kind, data, created: String(now - DAY) }, writeAheadCodec);
          taken?.(tx, key);
        }
      }, ESSENTIAL);
    }
    adopted += found.length;
    left += unknown.length - found.length;
    await timers.turn();
  }
  return { adopted, left };
}

/** A record that other data does not know, as it is stored; null where nobody there could undo it. */
export interface UnknownRecord {
  /** Below local/. */
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** Those that data does not know of which there are only keys. */
export function* unknownWriteAhead(
  from: MountViews,
  hasKey: (key: string) => boolean,
): Generator<readonly UnknownRecord[]> {
  for (const { uuid, keys } of writeAheadIn(from.local, mountsIn(from))) {
    const stays = hasMountEntry(uuid, hasKey);
    const unknown = keys.filter((key) => !hasKey(`local/${key}`));
    yield unknown.map((key) => {
      const value = stays ? readable(from.local, key) : null;
      return { key, value: value === null ? null : writeAheadCodec.encode(value) };
    });
  }
}

interface SomeRecords {
  readonly uuid: string;
  readonly namespaceId: string;
  readonly keys: readonly string[];
}

function* writeAheadIn(data: View, mounts: MountedIn): Generator<SomeRecords> {
  for (const [uuid, namespaceId] of mounts) {
    const folder = writeAheadOf(namespaceId, uuid);
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const keys = data.keys(folder, page);
      after = keys.at(-1);
      if (after === undefined) break;
      yield { uuid, namespaceId, keys };
    }
  }
}

function hasRow(data: View, key: string): boolean {
  return data.keys(key, { limit: 1 })[0] === key;
}

/** Null for one that cannot be read: it keeps no other from being taken over. */
function readable(data: View, key: string) {
  try {
    return data.get(key, writeAheadCodec);
  } catch (error) {
    if (error instanceof Failure && error.kind === "damaged") return null;
    throw error;
  }
}
