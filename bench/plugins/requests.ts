// What a request costs the server that a plugin answers: beside the read of a built-in engine, for each call of the plugin's to
// its storage, and how many transactions of its own it makes in a second.

import type { Caller } from "../api/api-caller.ts";
import { call, requestBytes } from "../api/api-caller.ts";
import type { ReadyNode } from "../api/api-node.ts";
import { figure } from "../api/api-measure.ts";
import { processorMicrosOf } from "../api/api-usage.ts";
import { load } from "../load/load.ts";
import { LONGEST_BLOCK_MS, quantile, roundMillis, rounds } from "../measure.ts";
import { type Context, type Figures, NotMeasured } from "../row.ts";
import { mount, pluginPid, withPlugins } from "./node.ts";

const CLIENTS = 16;
const READS = 8; // in one request

interface Cost {
  readonly micros: number; // of the server's processor, for each request
  readonly perSecond: number;
  readonly p50: number; // ms
}

function clientsOf({ quick }: Context): number {
  return quick ? 4 : CLIENTS;
}

async function costOf(
  context: Context,
  { caller, server }: ReadyNode,
  request: (client: number) => Buffer,
): Promise<Cost> {
  const clients = Array.from({ length: clientsOf(context) }, (_, i) => [request(i)]);
  const before = used(server.pid);
  const url = new URL(caller.url);
  const { latencies, perSecond } = await load(
    url,
    { clients, statuses: [200] },
    roundMillis(context),
  );
  const micros = (used(server.pid) - before) / latencies.length;
  return { micros, perSecond, p50: quantile(latencies, 0.5) };
}

function used(pid: number): number {
  const micros = processorMicrosOf(pid);
  if (micros === null) throw new NotMeasured("the system does not tell what a process uses");
  return micros;
}

const get = (caller: Caller, path: string) => () => requestBytes(caller, "GET", path);

export async function overhead(context: Context): Promise<Figures> {
  return await withPlugins(context, async (node) => {
    const { caller } = node;
    await mount(caller, "plugin");
    await call(caller, "POST", "sys/mounts/builtin", { type: "kv", options: { version: "1" } });
    await call(caller, "POST", "builtin/a", { value: "one" });
    const found = await rounds(context, async () => ({
      builtIn: await costOf(context, node, get(caller, "builtin/a")),
      nothing: await costOf(context, node, get(caller, "plugin/nothing")),
      reads: await costOf(context, node, get(caller, `plugin/reads?times=${READS}`)),
    }));
    const of = (which: keyof (typeof found)[number], what: keyof Cost) =>
      found.map((round) => round[which][what]);
    return {
      samples: found.map(({ nothing, builtIn }) => nothing.micros - builtIn.micros),
      also: [
        {
          ...figure(
            "one call to its storage",
            "µs",
            found.map(({ reads, nothing }) => (reads.micros - nothing.micros) / READS),
          ),
          budget: { atMost: 200 },
        },
        figure("the built-in read itself", "µs", of("builtIn", "micros")),
        figure("requests to the plugin", "/s", of("nothing", "perSecond")),
        figure("latency p50 of these", "ms", of("nothing", "p50")),
        figure("latency p50 of the built-in read", "ms", of("builtIn", "p50")),
      ],
    };
  });
}

export async function transactions(context: Context): Promise<Figures> {
  return await withPlugins(context, async (node) => {
    const { caller } = node;
    await mount(caller, "plugin");
    const count = (i: number) => requestBytes(caller, "POST", `plugin/counts/key-${i}`, {});
    const found = await rounds(context, () => costOf(context, node, count));
    const all = await call(caller, "POST", "plugin/counts/key-0", {});
    if (!/"n":[1-9]/.test(JSON.stringify(all))) throw new Error("nothing was counted");
    return {
      samples: found.map(({ perSecond }) => perSecond),
      also: [
        figure(
          "latency p50",
          "ms",
          found.map(({ p50 }) => p50),
        ),
        figure(
          "server's processor time each",
          "µs",
          found.map(({ micros }) => micros),
        ),
      ],
    };
  });
}

/** One after the other, each as large as it may be. */
export async function largeAnswers(context: Context): Promise<Figures> {
  return await withPlugins(context, async ({ caller }) => {
    await mount(caller, "plugin");
    await pluginPid(caller);
    const times = context.quick ? 2 : 20;
    const samples = await rounds(context, async () => {
      await longestBlock(caller); // what was before does not count
      for (let i = 0; i < times; i++) await call(caller, "GET", "plugin/large?size=4000000");
      return await longestBlock(caller);
    });
    return { samples };
  });
}

/** Since it was last asked, in ms. */
async function longestBlock({ url, headers }: Caller): Promise<number> {
  const answer = await fetch(`${url}/v1/sys/metrics?format=prometheus`, { headers });
  const found = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await answer.text())?.[1];
  return Number(found) * 1000;
}

export const LONGEST = { atMost: LONGEST_BLOCK_MS };
