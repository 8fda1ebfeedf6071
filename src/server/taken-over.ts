// What exists outside when the data is exchanged for older data: leases and write-ahead records, of two rooms that know
// nothing of each other, taken over together.

import type { Tx, View } from "../barrier/view.ts";
import { type OutsideRow, takeOver, unknownRows } from "../carried/outside-rows.ts";
import type { CarriedNeeds } from "../carried/room.ts";
import { hastenEnded, outsideLeases } from "../leases/adoption.ts";
import {
  hasMountEntry,
  type MountedIn,
  mountsIn,
  outsideRecords,
} from "../mounts/undo/adoption.ts";
import type { DataViews } from "../snapshots/restore/restored-data.ts";
import type { SnapshotNeeds } from "../snapshots/room.ts";
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
  readonly from: View;
  readonly to: View;
  /** Of the data that goes, and of that which comes. */
  readonly mounts: MountedIn;
  readonly mounted: MountedIn;
  readonly taken?: (tx: Tx, keys: readonly string[]) => void;
}

export function takenOver(
  rooms: Rooms,
  { host, views }: Ground,
): {
  readonly restored: Pick<SnapshotNeeds, "adopt" | "unknown">;
  readonly carried: CarriedNeeds["outside"];
} {
  const { log } = host;
  const { clock, timers } = host.world;
  const take = async ({ from, mounts, mounted, ...taking }: Taking) => {
    const now = clock.now();
    const stays = (uuid: string, namespaceId: string) => mounted.get(uuid) === namespaceId;
    const hasMount = (uuid: string) => mounted.has(uuid);
    const over = { ...taking, timers };
    const records = await takeOver(outsideRecords({ from, mounts, stays, now }), over);
    const leases = await takeOver(outsideLeases({ from, hasMount, now, log }), over);
    return { adopted: records.adopted + leases.adopted, left: records.left + leases.left };
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
      unknown: (from, hasKey) => unknownTo(from, hasKey),
    },
    carried: {
      hastenEnded: () => hasten(views.local),
      adopt: async (from, taken) => {
        const mounted = mountsIn(views);
        await take({ from, to: views.local, mounts: mounted, mounted, taken });
      },
    },
  };

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
