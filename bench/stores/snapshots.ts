// Snapshots of a store with a million entries: how fast one is made, and what that costs those who use the server
// meanwhile; and how long it takes to prove that it restores.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { bytesCodec } from "@holdfast/shared/codec";
import { writeArchive } from "../../src/snapshots/archive/archive-writer.ts";
import { FORMAT } from "../../src/storage/engines/sqlite-format.ts";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemRandom } from "../../src/system/random.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { SystemWorkFiles } from "../../src/system/work-file.ts";
import { LONGEST_BLOCK_MS } from "../measure.ts";
import { ask } from "../processes.ts";
import type { Context, Figures, Row } from "../row.ts";
import type { DrillFigures } from "./drill-process.ts";
import { filledStore, sizes } from "./filled-store.ts";
import { type OpenedStore, withStore } from "./opened-store.ts";

const RESOLUTION_MS = 1;
const MAX_MEMORY_MIB = 64;
const MAX_DRILL_MIB = 150;
const PACE_NANOS = 5_000_000n;
const CLUSTER = "00000000-0000-4000-8000-000000000000";

interface Made {
  readonly file: string;
  readonly bytes: number;
  readonly seconds: number;
}

async function make({ store, barrier }: OpenedStore, file: string): Promise<Made> {
  const target = await new SystemWorkFiles().create(file);
  const began = performance.now();
  const snapshot = await store.snapshotApart();
  try {
    const { bytes } = await writeArchive(snapshot, target, {
      clusterId: CLUSTER,
      software: "bench",
      format: FORMAT,
      created: new SystemClock().now(),
      rootKey: barrier.rootKey,
      random: new SystemRandom(),
    });
    await target.sync();
    return { file, bytes, seconds: (performance.now() - began) / 1000 };
  } finally {
    await snapshot.close();
    await target.close();
  }
}

/** Small writes, one after another at a steady pace, until it is over. */
async function writesUntil({ barrier }: OpenedStore, over: Promise<unknown>): Promise<number[]> {
  const timers = new SystemTimers();
  const view = barrier.view("local/");
  const taken: number[] = [];
  let going = true;
  void over.finally(() => (going = false));
  const value = Buffer.alloc(200, 1);
  while (going) {
    const began = performance.now();
    await view.write((tx) => tx.put("bench-snapshot", value, bytesCodec));
    taken.push(performance.now() - began);
    await new Promise<void>((resolve) => timers.after(PACE_NANOS, resolve));
  }
  await view.write((tx) => tx.delete("bench-snapshot")); // the store is kept for others
  return taken;
}

function p99(taken: readonly number[]): number {
  const sorted = taken.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0;
}

async function write(context: Context): Promise<Figures> {
  const directory = await filledStore(context, sizes(context).large);
  mkdirSync(context.directory, { recursive: true });
  return withStore(directory, {}, async (opened) => {
    const pause = new Promise<void>((resolve) => {
      new SystemTimers().after(context.quick ? 200_000_000n : 5_000_000_000n, resolve);
    });
    const alone = p99(await writesUntil(opened, pause));
    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    const rssBefore = process.memoryUsage.rss();
    delay.enable();
    const making = make(opened, join(context.directory, "a.snap"));
    const beside = p99(await writesUntil(opened, making));
    const { bytes, seconds } = await making;
    delay.disable();
    const rss = (process.resourceUsage().maxRSS * 1024 - rssBefore) / 2 ** 20;
    const block = delay.max / 1e6 - RESOLUTION_MS; // it counts its own interval in
    return {
      samples: [bytes / 1e6 / seconds],
      also: [
        { what: "size", unit: "MB", samples: [bytes / 1e6] },
        {
          what: "memory beyond that before",
          unit: "MiB",
          samples: [rss],
          budget: { atMost: MAX_MEMORY_MIB },
        },
        {
          what: "longest block of the event loop",
          unit: "ms",
          samples: [block],
          budget: { atMost: LONGEST_BLOCK_MS },
        },
        {
          what: "p99 of writes beside it, by that without",
          unit: "×",
          samples: [beside / alone],
          budget: { atMost: 1.5 },
        },
      ],
    };
  });
}

async function drill(context: Context): Promise<Figures> {
  const directory = await filledStore(context, sizes(context).large);
  mkdirSync(context.directory, { recursive: true });
  const file = join(context.directory, "a.snap");
  const { bytes } = await withStore(directory, {}, (opened) => make(opened, file));
  // As a command of ours runs: its code is compiled already, and it has little room for young objects.
  const how = {
    env: { NODE_COMPILE_CACHE: join(context.cache, "compiled") },
    runtime: ["--max-semi-space-size=8"],
  };
  const program = "stores/drill-process.ts";
  await ask<DrillFigures>(program, { file: null }, how);
  const { seconds, rss, before, block } = await ask<DrillFigures>(program, { file }, how);
  return {
    samples: [bytes / 1e6 / seconds],
    also: [
      { what: "time", unit: "s", samples: [seconds] },
      {
        what: "memory of the process",
        unit: "MiB",
        samples: [rss],
        budget: { atMost: MAX_DRILL_MIB },
      },
      { what: "of it before it begins", unit: "MiB", samples: [before] },
      { what: "longest block of the event loop", unit: "ms", samples: [block] },
    ],
  };
}

export const snapshotRows: readonly Row[] = [
  {
    name: "snapshots/write",
    what: "archive of 1,000,000 entries beside small writes",
    unit: "MB/s",
    budget: { atLeast: 30 },
    run: write,
  },
  {
    name: "snapshots/drill",
    what: "proof that an archive of 1,000,000 entries restores",
    unit: "MB/s",
    run: drill,
  },
];
