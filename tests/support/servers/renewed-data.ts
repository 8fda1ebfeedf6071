// An exchange of a house for another with the same data: what every exchange does, without an archive.

import type { Replacement } from "../../../src/server/house-exchange.ts";
import type { Server } from "../../../src/server/server.ts";
import type { Reads } from "../../../src/storage/engines/engine.ts";
import { type FilledRow, Filler } from "../../../src/storage/generations/filler.ts";
import { classOf } from "../../../src/storage/key.ts";
import { slotOf } from "../../../src/storage/rows/merkle.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemTimers } from "../../../src/system/timers.ts";

const ALL = { from: "", to: null, limit: 1_000_000 };

function rowsOf(reads: Reads): FilledRow[] {
  return reads.rows(ALL).map(({ key, value }) => {
    const slot = slotOf(classOf(key), key);
    const scope = (slot === null ? null : reads.leaf(slot, key))?.scope ?? new Uint8Array(16);
    return { key, scope, value };
  });
}

/** The data as of when the filling began; rows below core/ as of when the house rests. */
export function renewed(server: Server, changes: Partial<Replacement> = {}): Replacement {
  const { store, barrier } = server;
  const world = { clock: new SystemClock(), timers: new SystemTimers() };
  const treeKey = barrier.treeKeyIn(store);
  let filler: Filler | null = null;
  const all = async () => {
    const view = store.view();
    try {
      return rowsOf(view);
    } finally {
      view.close();
    }
  };
  return {
    fill: async (engine) => {
      filler = new Filler({ engine, ...world }, treeKey);
      for (const row of await all()) await filler.add(row);
    },
    finish: async () => {
      if (filler === null || store.head === null) throw new Error("nothing was filled");
      for (const row of await all()) if (row.key.startsWith("core/")) await filler.put(row);
      const { epoch, index } = store.head;
      const place = { lineage: store.timeline?.lineage ?? "", epoch, index: String(index) };
      const lineage = new SystemRandom().bytes(16);
      await filler.finish({
        lineage,
        epoch: epoch + 1,
        index: index + 1n,
        cluster: server.keeper.clusterId,
        origin: { restored: place, replaced: place },
      });
      filler.wipe();
      return barrier.rootKey;
    },
    ...changes,
  };
}
