// What exists outside when the data is exchanged for older data: leases and write-ahead records, of two rooms that know
// nothing of each other, taken over together.

import type { Tx, View } from "../barrier/view.ts";
import { adoptLeases, hastenEnded, unknownLeases } from "../leases/adoption.ts";
import {
  adoptWriteAhead,
  hasMountEntry,
  type MountedIn,
  mountsIn,
  unknownWriteAhead,
} from "../mounts/undo/adoption.ts";
import type { OutsideRow } from "../snapshots/restore/carried-rows.ts";
import type { DataViews } from "../snapshots/restore/restored-data.ts";
import type { SnapshotNeeds } from "../snapshots/room.ts";
import type { Ground } from "./ground.ts";
import type { Rooms } from "./rooms.ts";

interface Taking {
  readonly from: View;
  readonly to: View;
  /** Of the data that goes, and of that which comes. */
  readonly mounts: MountedIn;
  readonly mounted: MountedIn;
  readonly taken?: (tx: Tx, key: string) => void;
}

export function takenOver(
  rooms: Rooms,
  { host, views }: Ground,
): Pick<SnapshotNeeds, "adopt" | "outside" | "carriedOutside"> {
  const { log } = host;
  const { clock, timers } = host.world;
  const take = async (taking: Taking) => {
    const now = clock.now();
    const records = await adoptWriteAhead({ ...taking, now, timers });
    const hasMount = (uuid: string) => taking.mounted.has(uuid);
    const leases = await adoptLeases({ ...taking, hasMount, now, timers, log });
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
    adopt: async (from, to) => {
      await hasten(to.local);
      const [mounts, mounted] = [mountsIn(from), mountsIn(to)];
      return take({ from: from.local, to: to.local, mounts, mounted });
    },
    outside: (from, hasKey) => unknownTo(from, hasKey),
    carriedOutside: {
      hastenEnded: () => hasten(views.local),
      adopt: (from, taken) => {
        const mounted = mountsIn(views);
        return take({ from, to: views.local, mounts: mounted, mounted, taken });
      },
    },
  };

  function* unknownTo(
    from: DataViews,
    hasKey: (key: string) => boolean,
  ): Generator<readonly OutsideRow[]> {
    const hasMount = (uuid: string) => hasMountEntry(uuid, hasKey);
    yield* unknownWriteAhead(from, hasKey);
    yield* unknownLeases(from.local, { hasKey, hasMount, log });
  }
}
