// A store with a million entries: how soon it is ready, what it keeps in memory, and what the check
// of all of it costs those who use the server meanwhile.

import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { filledStore, sizes } from "./filled-store.ts";
import type { MillionFigures, MillionInput } from "./million-process.ts";
import { LONGEST_BLOCK_MS, median } from "../measure.ts";
import { withStore } from "./opened-store.ts";
import { ask } from "../processes.ts";
import type { Context, Figures, Row } from "../row.ts";

const RESOLUTION_MS = 1;
// What a store of 1,000 entries does not show yet, but is fixed: the sums of all 65,536 slots, read
// in one go and kept twice (about 40 MiB), and SQLite's page cache once it is full (16 MiB).
const MAX_GROWTH_MIB = 64;
// The cache of decrypted entries is given 32 MiB; twice that is allowed for what the runtime adds.
const MAX_CACHE_MIB = 64;

/** Several starts, each in a fresh process. */
async function starts(
  context: Context,
  entries: number,
  use: Pick<MillionInput, "gets" | "cached">,
): Promise<MillionFigures[]> {
  const directory = await filledStore(context, entries);
  const input: MillionInput = { directory, entries, ...use };
  const found: MillionFigures[] = [];
  await ask<MillionFigures>("stores/million-process.ts", { ...input, gets: 0 }); // warms the page cache
  for (let i = 0; i < (context.quick ? 1 : 3); i++) {
    found.push(await ask<MillionFigures>("stores/million-process.ts", input));
  }
  return found;
}

async function ready(context: Context): Promise<Figures> {
  const found = await starts(context, sizes(context).large, { gets: 0, cached: true });
  const opens = found.map(({ openMillis }) => openMillis);
  return {
    samples: found.map(({ readyMillis }) => readyMillis),
    also: [{ what: "of which open and unseal", unit: "ms", samples: opens }],
  };
}

async function growth(context: Context, of: "rssOpen" | "rssAfterGets"): Promise<Figures> {
  const { small, middle, large } = sizes(context);
  const gets = of === "rssOpen" ? 0 : context.quick ? 1000 : 100_000;
  const rss = async (entries: number) => {
    const found = await starts(context, entries, { gets, cached: false });
    return found.map((figures) => figures[of]);
  };
  const [few, some, many] = [await rss(small), await rss(middle), await rss(large)];
  return {
    samples: [median(many) - median(few)],
    also: [
      { what: "with 1,000 entries", unit: "MiB", samples: few },
      { what: "with 100,000 entries", unit: "MiB", samples: some },
      { what: "with 1,000,000 entries", unit: "MiB", samples: many },
    ],
  };
}

/** Enough gets that the cache is full and has thrown out several times what it holds. */
async function cacheCost(context: Context): Promise<Figures> {
  const entries = sizes(context).large;
  const gets = context.quick ? 1000 : 400_000;
  const rss = async (cached: boolean) => {
    const found = await starts(context, entries, { gets, cached });
    return found.map(({ rssAfterGets }) => rssAfterGets);
  };
  const [without, full] = [await rss(false), await rss(true)];
  return {
    samples: [median(full) - median(without)],
    also: [
      { what: "without it", unit: "MiB", samples: without },
      { what: "with it", unit: "MiB", samples: full },
    ],
  };
}

async function check(context: Context, deep: boolean): Promise<Figures> {
  const directory = await filledStore(context, sizes(context).large);
  return await withStore(directory, {}, async ({ store }) => {
    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    const rssBefore = process.memoryUsage.rss();
    delay.enable();
    const began = performance.now();
    const report = await store.check({ deep });
    const seconds = (performance.now() - began) / 1000;
    delay.disable();
    if (!report.ok) throw new Error("the filled store does not add up; fill it anew with --fresh");
    const block = delay.max / 1e6 - RESOLUTION_MS; // it counts its own interval in
    const rss = (process.resourceUsage().maxRSS * 1024 - rssBefore) / 2 ** 20;
    return {
      samples: [seconds],
      also: [
        {
          what: "longest block of the event loop",
          unit: "ms",
          samples: [block],
          budget: { atMost: LONGEST_BLOCK_MS },
        },
        { what: "memory beyond that before", unit: "MiB", samples: [rss] },
      ],
    };
  });
}

export const millionRows: readonly Row[] = [
  {
    name: "million/ready",
    what: "1,000,000 entries, process start to unsealed",
    unit: "ms",
    budget: { atMost: 3000 },
    run: ready,
  },
  {
    name: "million/rss-open",
    what: "RSS once unsealed, beyond that with 1,000 entries",
    unit: "MiB",
    budget: { atMost: MAX_GROWTH_MIB },
    run: (context) => growth(context, "rssOpen"),
  },
  {
    name: "million/rss-gets",
    what: "RSS after 100,000 gets, beyond that with 1,000",
    unit: "MiB",
    budget: { atMost: MAX_GROWTH_MIB },
    run: (context) => growth(context, "rssAfterGets"),
  },
  {
    name: "million/rss-cache",
    what: "RSS of the full cache of decrypted entries (32 MiB)",
    unit: "MiB",
    budget: { atMost: MAX_CACHE_MIB },
    run: cacheCost,
  },
  {
    name: "million/check-deep",
    what: "Merkle check, every value hashed again",
    unit: "s",
    budget: { atMost: 60 },
    run: (context) => check(context, true),
  },
  {
    name: "million/check-shallow",
    what: "Merkle check of the keys alone",
    unit: "s",
    run: (context) => check(context, false),
  },
];
