// The shared tree without what a filter withholds, made from the leaves of a large store while others use the server.

import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { SharedView } from "../../src/replication/filters/shared-view.ts";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { LONGEST_BLOCK_MS } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";
import { filledStore, sizes } from "../stores/filled-store.ts";
import { withStore } from "../stores/opened-store.ts";

const RESOLUTION_MS = 1;

async function madeFromLeaves(context: Context): Promise<Figures> {
  const directory = await filledStore(context, sizes(context).large);
  return await withStore(directory, {}, async ({ store }) => {
    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    const rssBefore = process.memoryUsage.rss();
    delay.enable();
    const began = performance.now();
    const world = { clock: new SystemClock(), timers: new SystemTimers() };
    const view = new SharedView({ store, ...world, lets: () => true });
    await view.built;
    const seconds = (performance.now() - began) / 1000;
    delay.disable();
    const { count } = view.total();
    view.close();
    if (count !== store.head!.shared.count) throw new Error("the view is not the tree");
    return {
      samples: [seconds],
      also: [
        {
          what: "longest block of the event loop",
          unit: "ms",
          samples: [delay.max / 1e6 - RESOLUTION_MS], // it counts its own interval in
          budget: { atMost: LONGEST_BLOCK_MS },
        },
        {
          what: "memory beyond that before",
          unit: "MiB",
          samples: [(process.resourceUsage().maxRSS * 1024 - rssBefore) / 2 ** 20],
        },
      ],
    };
  });
}

export const filterRows: readonly Row[] = [
  {
    name: "replication/filter-view",
    what: "the view of a filter, made from 1,000,000 leaves",
    unit: "s",
    budget: { atMost: 5 },
    run: madeFromLeaves,
  },
];
