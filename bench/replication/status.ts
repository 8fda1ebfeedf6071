// The status of two clusters that replicate, while the primary takes all the writes that it can: whoever is on call asks
// for it then.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, requestBytes } from "../api/api-caller.ts";
import { LoadConnection } from "../load/load-connection.ts";
import { quantile, roundMillis, rounds } from "../measure.ts";
import { ask } from "../processes.ts";
import type { Context, Figures, Row } from "../row.ts";
import { withClusters } from "./two-clusters.ts";
import type { WritingFigures, WritingInput } from "./writing-process.ts";

const CLIENTS = 64;
const ASKED_EVERY = 20; // ms
const ROUND = 8000; // ms: of a hundred answers the 99th is nearly the slowest of all, which says what else the machine did
const STATUS = "sys/replication/dr/status";
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
  const input: WritingInput = { primary, clients: CLIENTS, millis: roundMillis(context, ROUND) };
  let over = false;
  const writing = ask<WritingFigures>("replication/writing-process.ts", input).finally(() => {
    over = true;
  });
  const asking = async (caller: Caller): Promise<Status[]> => {
    const found: Status[] = [];
    const connection = await LoadConnection.open(new URL(caller.url));
    const request = requestBytes({ ...caller, headers: {} }, "GET", STATUS);
    while (!over) {
      found.push(await statusOf(connection, request));
      await pause(ASKED_EVERY);
    }
    connection.close();
    return found;
  };
  const [own, others] = await Promise.all([asking(primary), asking(secondary), writing]);
  const { began, ended, perSecond, p99 } = await writing;
  const meanwhile = (found: readonly Status[]) =>
    found.filter(({ at, took }) => at >= began && at + took <= ended);
  const slowest = (found: readonly Status[]) =>
    quantile(
      meanwhile(found).map(({ took }) => took),
      0.99,
    );
  return {
    writes: perSecond,
    write: p99,
    primary: slowest(own),
    secondary: slowest(others),
    behind: Math.max(...[...own, ...others].map(({ lag }) => lag)),
  };
}

interface Status {
  /** By the clock of the machine, in ms. */
  readonly at: number;
  readonly took: number; // ms
  readonly lag: number; // entries
}

async function statusOf(connection: LoadConnection, request: Buffer): Promise<Status> {
  const began = performance.now();
  const { status } = await connection.exchange(request);
  const took = performance.now() - began;
  const body = connection.body();
  if (status !== 200) throw new Error(`status ${status}: ${body}`);
  const lag = Number(/"wal_lag":(\d+)/.exec(body)?.[1] ?? 0);
  return { at: performance.timeOrigin + began, took, lag };
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
