// What exists outside when the data is exchanged for older data: leases and write-ahead records, of two rooms that know
// nothing of each other, taken over together.

import { isObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import {
  type OutsideReads,
  type OutsideRow,
  RowsAtHand,
  takeOver,
  type TakenOver,
  unknownRows,
} from "../carried/outside-rows.ts";
import type { CarriedNeeds } from "../carried/room.ts";
import { hastenEnded, isLeaseKey, isWholeLease, outsideLeases } from "../leases/adoption.ts";
import {
  hasMountEntry,
  isWholeRecord,
  isWriteAheadKey,
  type MountedIn,
  mountsIn,
  outsideRecords,
} from "../mounts/undo/adoption.ts";
import { mountOf } from "../mounts/undo/write-ahead-keys.ts";
import { keepThroughRestore } from "../replication/cascades/through-restore.ts";
import type { BroughtRow, OutsideRows } from "../replication/links/orphans.ts";
import { unprovenJson } from "../signed/unproven-json.ts";
import type { DataViews } from "../snapshots/restore/restored-data.ts";
import type { SnapshotNeeds } from "../snapshots/room.ts";
import { isLegalKey } from "../storage/key.ts";
import { MalformedBytes } from "../storage/rows/row-bytes.ts";
import type { Store } from "../storage/store.ts";
import type { Ground } from "./ground.ts";
import type { Rooms } from "./rooms.ts";

/** Whether its data has taken the place of other data. Where that cannot be read, it may have. */
export function isReplacement(store: Pick<Store, "timeline">): boolean {
  try {
    return (store.timeline?.origin?.replaced ?? null) !== null;
  } catch (error) {
    if (error instanceof MalformedBytes) return true;
    throw error;
  }
}

interface Taking {
  readonly from: OutsideReads;
  readonly to: View;
  /** Of the data that goes, and of that which comes. */
  readonly mounts: MountedIn;
  readonly mounted: MountedIn;
  readonly taken?: (tx: Tx, keys: readonly string[]) => void;
  readonly essential?: boolean;
  readonly now?: Instant;
}

export function takenOver(
  rooms: Rooms,
  { host, views }: Ground,
): {
  readonly restored: Pick<SnapshotNeeds, "adopt" | "keep" | "unknown">;
  readonly carried: CarriedNeeds["outside"];
  readonly brought: OutsideRows;
} {
  const { log } = host;
  const { clock, timers } = host.world;
  const take = async (taking: Taking): Promise<TakenOver> => {
    const { from, mounts, mounted, now = clock.now() } = taking;
    const stays = (uuid: string, namespaceId: string) => mounted.get(uuid) === namespaceId;
    const hasMount = (uuid: string) => mounted.has(uuid);
    const over = { ...taking, timers };
    const records = await takeOver(outsideRecords({ from, mounts, stays, now }), over);
    const leases = await takeOver(outsideLeases({ from, hasMount, now, log }), over);
    return {
      adopted: records.adopted + leases.adopted,
      known: records.known + leases.known,
      left: records.left + leases.left,
    };
  };
  const hasten = (data: View) =>
    hastenEnded({
      data,
      endedFor: ({ namespaceId, id }) => rooms.evidence.receipts.of(namespaceId, id)?.why ?? null,
      now: clock.now(),
      timers,
      log,
    });
  return {
    restored: {
      adopt: async (from, to) => {
        await hasten(to.local);
        const [mounts, mounted] = [mountsIn(from), mountsIn(to)];
        return take({ from: from.local, to: to.local, mounts, mounted });
      },
      keep: (from, to) => keepThroughRestore(from.local, to.local),
      unknown: (from, hasKey) => unknownTo(from, hasKey),
    },
    carried: {
      hastenEnded: () => hasten(views.local),
      adopt: async (from, taken) => {
        const mounted = mountsIn(views);
        await take({ from, to: views.local, mounts: mounted, mounted, taken });
      },
    },
    brought: {
      standsFor: (key) => isLeaseKey(key) || isWriteAheadKey(key),
      all: () => everything(views),
      adopt: (rows) => adoptBrought(rows),
    },
  };

  /** By other clusters of the set: nothing of them is believed that is not looked at. */
  async function adoptBrought(rows: readonly BroughtRow[]): Promise<TakenOver> {
    const whole = rows.filter(({ key, value }) => isWhole(key, value));
    const from = new RowsAtHand(new Map(whole.map(({ key, value }) => [key, value])));
    const mounted = mountedHere(whole);
    const now = rooms.leases.leases.now();
    const taking = { from, to: views.local, mounts: mounted, mounted, now, essential: false };
    const { adopted, known } = await take(taking);
    return { adopted, known, left: rows.length - adopted - known };
  }

  /** Those of the mounts that these rows name. One that is being disabled takes nothing any more. */
  function mountedHere(rows: readonly BroughtRow[]): MountedIn {
    const uuids = rows.flatMap(({ key, value }) => mountsNamed(key, value));
    const found = new Map<string, string>();
    for (const uuid of uuids) {
      const record = rooms.mounts.mounts.recordOf(uuid);
      if (record !== null && record.state.kind !== "disabling") found.set(uuid, record.namespaceId);
    }
    return found;
  }

  function* everything(data: DataViews): Generator<readonly string[]> {
    const now = clock.now();
    const mounts = mountsIn(data);
    yield* outsideRecords({ from: data.local, mounts, stays: () => true, now }).pages();
    yield* outsideLeases({ from: data.local, hasMount: () => true, now, log }).pages();
  }

  function* unknownTo(
    from: DataViews,
    hasKey: (key: string) => boolean,
  ): Generator<readonly OutsideRow[]> {
    const now = clock.now();
    const hasMount = (uuid: string) => hasMountEntry(uuid, hasKey);
    const mounts = mountsIn(from);
    const records = outsideRecords({ from: from.local, mounts, stays: hasMount, now });
    yield* unknownRows(records, hasKey);
    yield* unknownRows(outsideLeases({ from: from.local, hasMount, now, log }), hasKey);
  }
}

function isWhole(key: string, bytes: Uint8Array): boolean {
  if (!isLegalKey(`local/${key}`)) return false;
  const value = unprovenJson(bytes);
  if (value === undefined) return false;
  return isLeaseKey(key) ? isWholeLease(key, value) : isWholeRecord(key, value);
}

function mountsNamed(key: string, bytes: Uint8Array): string[] {
  if (!isLeaseKey(key)) return [mountOf(key).mountUuid];
  const value = unprovenJson(bytes);
  const uuid = isObject(value) ? value["mountUuid"] : null;
  return typeof uuid === "string" ? [uuid] : [];
}
