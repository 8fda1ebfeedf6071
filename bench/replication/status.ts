// The status of two clusters that replicate, while the primary takes all the writes that it can: whoever is on call asks
// for it then.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, call, requestBytes } from "../api/api-caller.ts";
import { withNode } from "../api/api-node.ts";
import { freePort } from "../api/api-server.ts";
import { load } from "../load/load.ts";
import { quantile, roundMillis, rounds } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";

const CLIENTS = 64;
const ASKED_EVERY = 20; // ms
const STATUS = "/v1/sys/replication/dr/status";
const DR = "sys/replication/dr";
const BUDGET = { atMost: 50 };

interface Found {
  readonly writes: number; // for each second
  readonly write: number; // ms
  readonly primary: number;
  readonly secondary: number;
  readonly behind: number; // entries, the most that was seen
}

async function statusUnderLoad(context: Context): Promise<Figures> {
  return await withClusters(context, async (primary, secondary) => {
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

async function statusOf({ url }: Caller): Promise<{ took: number; lag: number; state: string }> {
  const began = performance.now();
  const answer = await fetch(url + STATUS);
  const body = await answer.text();
  const took = performance.now() - began;
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${body}`);
  const lag = Number(/"wal_lag":(\d+)/.exec(body)?.[1] ?? 0);
  return { took, lag, state: /"state":"([^"]*)"/.exec(body)?.[1] ?? "" };
}

/** Two of them, the second with everything that the first has. */
async function withClusters<T>(
  { directory }: Context,
  use: (primary: Caller, secondary: Caller) => Promise<T>,
): Promise<T> {
  const node = async <R>(name: string, run: (caller: Caller) => Promise<R>) => {
    const own = join(directory, name);
    mkdirSync(own, { mode: 0o700 });
    return await withNode(own, ({ caller }) => run(caller), await clusterListener());
  };
  return await node("primary", async (primary) => {
    await call(primary, "POST", "sys/mounts/secret", { type: "kv", options: { version: "2" } });
    await call(primary, "POST", `${DR}/primary/enable`, {});
    return await node("secondary", async (secondary) => {
      const { data: key } = dataOf(
        await call(secondary, "POST", `${DR}/secondary/generate-public-key`, {}),
      );
      const { data } = dataOf(
        await call(primary, "POST", `${DR}/primary/secondary-token`, {
          id: "second",
          secondary_public_key: key["secondary_public_key"],
        }),
      );
      await call(secondary, "POST", `${DR}/secondary/enable`, { token: data["token"] });
      while ((await statusOf(secondary)).state !== "stream-wals") await pause(ASKED_EVERY);
      return await use(primary, secondary);
    });
  });
}

function dataOf(body: unknown): { readonly data: Readonly<Record<string, string>> } {
  return body as { data: Record<string, string> }; // as these endpoints answer
}

async function clusterListener(): Promise<string> {
  return `
listener "tcp" {
  address         = "127.0.0.1:${await freePort()}"
  tls_disable     = true
  cluster_address = "127.0.0.1:${await freePort()}"
}
`;
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
