// Durable writes through barrier, store and engine: each writer waits for its own before the next,
// as a client would. One write makes data row, leaf, sum, log entry and head.

import { performance } from "node:perf_hooks";
import { bytesCodec } from "@holdfast/shared/codec";
import { SystemRandom } from "../src/system/random.ts";
import type { View } from "../src/barrier/view.ts";
import { VALUE_BYTES } from "./stores/filled-store.ts";
import { LONGEST_BLOCK_MS, quantile, roundMillis, rounds } from "./measure.ts";
import { withStore } from "./stores/opened-store.ts";
import type { Context, Figures, Row } from "./row.ts";

const MAX_ROWS = 8192; // what one transaction may hold

const value = Buffer.alloc(VALUE_BYTES, "holdfast ");

export interface Written {
  readonly perSecond: number;
  readonly latencies: readonly number[]; // ms
  /** Processor time of all threads for each write: hardly disturbed by what else is running. */
  readonly processorMicros: number;
}

/** New records under names that come in no order, for `millis`. */
export async function writeFor(millis: number, writers: number, view: View): Promise<Written> {
  const random = new SystemRandom();
  const latencies: number[] = [];
  const processor = process.cpuUsage();
  const began = performance.now();
  const writer = async () => {
    for (let at = performance.now(); at - began < millis;) {
      const key = random.uuid();
      await view.write((tx) => tx.put(key, value, bytesCodec));
      const done = performance.now();
      latencies.push(done - at);
      at = done;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const perSecond = (latencies.length * 1000) / (performance.now() - began);
  const { user, system } = process.cpuUsage(processor);
  return { perSecond, latencies, processorMicros: (user + system) / latencies.length };
}

async function measure(context: Context, writers: number): Promise<Figures> {
  return await withStore(context.directory, {}, async ({ barrier }) => {
    const view = barrier.view("shared/records/");
    const millis = roundMillis(context, 2000);
    const written = await rounds(context, () => writeFor(millis, writers, view));
    const latency = (rank: number) => written.map(({ latencies }) => quantile(latencies, rank));
    return {
      samples: written.map(({ perSecond }) => perSecond),
      also: [
        { what: "latency p50", unit: "ms", samples: latency(0.5) },
        { what: "latency p99", unit: "ms", samples: latency(0.99) },
        {
          what: "processor time each, all threads",
          unit: "µs",
          samples: written.map(({ processorMicros }) => processorMicros),
        },
      ],
    };
  });
}

/** How long the event loop stands still for the largest transaction, and until it is durable. */
async function measureLargest(context: Context): Promise<Figures> {
  return await withStore(context.directory, {}, async ({ barrier }) => {
    const view = barrier.view("shared/records/");
    const random = new SystemRandom();
    const once = async () => {
      const keys = Array.from({ length: context.quick ? 100 : MAX_ROWS }, () => random.uuid());
      const began = performance.now();
      const write = view.write((tx) => {
        for (const key of keys) tx.put(key, value, bytesCodec);
      });
      const blocked = performance.now() - began;
      await write;
      return { blocked, durable: performance.now() - began };
    };
    const found = await rounds(context, once);
    return {
      samples: found.map(({ blocked }) => blocked),
      also: [{ what: "until durable", unit: "ms", samples: found.map(({ durable }) => durable) }],
    };
  });
}

function row(writers: number, budget?: Row["budget"]): Row {
  return {
    name: `commits/${writers}`,
    what: `durable writes of ${VALUE_BYTES} B, ${writers} ${writers === 1 ? "writer" : "writers"}`,
    unit: "/s",
    ...(budget && { budget }),
    run: (context) => measure(context, writers),
  };
}

export const commitRows: readonly Row[] = [
  row(1),
  row(16),
  row(64, { atLeast: 5000 }),
  row(256),
  {
    name: "commits/largest",
    what: "event loop blocked by one transaction of 8,192 records",
    unit: "ms",
    budget: { atMost: LONGEST_BLOCK_MS },
    run: measureLargest,
  },
];
