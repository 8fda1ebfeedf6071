// The status of two clusters that replicate, while the primary takes all the writes that it can: whoever is on call asks
// for it then.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, requestBytes } from "../api/api-caller.ts";
import { load } from "../load/load.ts";
import { quantile, roundMillis, rounds } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";
import { withClusters } from "./two-clusters.ts";

const CLIENTS = 64;
const ASKED_EVERY = 20; // ms
const STATUS = "/v1/sys/replication/dr/status";
const BUDGET = { atMost: 50 };

interface Found {
  readonly writes: number; // for each second
  readonly write: number; // ms
  readonly primary: number;
  readonly secondary: number;
  readonly behind: number; // entries, the most that was seen
}

async function statusUnderLoad(context: Context): Promise<Figures> {
  return await withClusters(context, "dr", async (primary, secondary) => {
    const found = await rounds(context, () => round(context, primary, secondary));
    const of = (name: keyof Found) => found.map((each) => each[name]);
    return {
      samples: of("primary"),
      also: [
        { what: "p99 of the secondary's", unit: "ms", samples: of("secondary"), budget: BUDGET },
        { what: "writes meanwhile", unit: "/s", samples: of("writes") },
        { what: "p99 of these", unit: "ms", samples: of("write") },
        { what: "entries behind, at most", unit: "", samples: of("behind") },
      ],
    };
  });
}

async function round(context: Context, primary: Caller, secondary: Caller): Promise<Found> {
  const clients = Array.from({ length: CLIENTS }, (_, i) => [
    requestBytes(primary, "POST", `secret/data/key-${i}`, { data: { value: "x".repeat(200) } }),
  ]);
  const millis = roundMillis(context, 2000);
  let over = false;
  const loading = load(new URL(primary.url), { clients, statuses: [200] }, millis).finally(() => {
    over = true;
  });
  const times = { primary: [] as number[], secondary: [] as number[] };
  let behind = 0;
  const asking = async (caller: Caller, found: number[]) => {
    while (!over) {
      const { took, lag } = await statusOf(caller);
      found.push(took);
      behind = Math.max(behind, lag);
      await pause(ASKED_EVERY);
    }
  };
  await Promise.all([asking(primary, times.primary), asking(secondary, times.secondary), loading]);
  const { latencies } = await loading;
  return {
    writes: latencies.length / (millis / 1000),
    write: quantile(latencies, 0.99),
    primary: quantile(times.primary, 0.99),
    secondary: quantile(times.secondary, 0.99),
    behind,
  };
}

async function statusOf({ url }: Caller): Promise<{ took: number; lag: number }> {
  const began = performance.now();
  const answer = await fetch(url + STATUS);
  const body = await answer.text();
  const took = performance.now() - began;
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${body}`);
  const lag = Number(/"wal_lag":(\d+)/.exec(body)?.[1] ?? 0);
  return { took, lag };
}

export const statusRows: readonly Row[] = [
  {
    name: "replication/status",
    what: "p99 of a primary's status while 64 clients write",
    unit: "ms",
    budget: BUDGET,
    run: statusUnderLoad,
  },
];
