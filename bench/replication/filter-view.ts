// The shared tree without what a filter withholds, made from the leaves of a large store while others use the server. The filter denies a
// quarter of the mounts.

import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import {
  type Filter,
  type Places,
  Sieve,
  withheldBy,
} from "../../src/replication/filters/filter.ts";
import { SharedView } from "../../src/replication/filters/shared-view.ts";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { LONGEST_BLOCK_MS } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";
import { entryCount, filledStore, mountOf, MOUNTS, sizes } from "../stores/filled-store.ts";
import { withStore } from "../stores/opened-store.ts";

const RESOLUTION_MS = 1;
const ONE_IN = 4;

/** What is denied is so by its mount, or by its namespace: half of each. */
function filtered(): { readonly filter: Filter; readonly places: Places } {
  const mounts: Places["mounts"] = new Map(
    Array.from({ length: MOUNTS }, (_, n) => {
      const namespaceId = n % (2 * ONE_IN) === 0 ? "far" : "root";
      return [mountOf(n), { namespaceId, path: `m${n}/` }];
    }),
  );
  const byThemselves = Array.from({ length: MOUNTS }, (_, n) => n).filter(
    (n) => n % (2 * ONE_IN) === ONE_IN,
  );
  const filter: Filter = {
    mode: "deny",
    paths: [
      { kind: "namespace", id: "far", path: "far/" },
      ...byThemselves.map((n) => ({ kind: "mount", id: mountOf(n), path: `m${n}/` }) as const),
    ],
  };
  const namespaces = new Map([["far", { parent: "root", path: "far/" }]]);
  return { filter, places: { mounts, namespaces, isThere: () => true } };
}

async function madeFromLeaves(context: Context): Promise<Figures> {
  const entries = sizes(context).large;
  const directory = await filledStore(context, entries);
  const { filter, places } = filtered();
  const sieve = new Sieve(withheldBy([filter], places), places);
  return await withStore(directory, {}, async ({ store }) => {
    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    const rssBefore = process.memoryUsage.rss();
    delay.enable();
    const began = performance.now();
    const world = { clock: new SystemClock(), timers: new SystemTimers() };
    const view = new SharedView({ store, ...world, lets: (scope) => sieve.lets(scope) });
    await view.built;
    const seconds = (performance.now() - began) / 1000;
    delay.disable();
    const { count } = view.total();
    view.close();
    const withheld = Math.ceil(entryCount(entries) / ONE_IN);
    if (count !== store.head!.shared.count - withheld) {
      throw new Error(`the view has ${count} leaves of ${store.head!.shared.count}`);
    }
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
