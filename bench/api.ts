// The API of the running server under load from a process beside it: durable writes, and reads with
// token, policy decision and two audit records each; and how soon a server to try out is ready.

import { setTimeout as pause } from "node:timers/promises";
import { join } from "node:path";
import type { Caller } from "./api-caller.ts";
import { makeNamespaces, pathsFor, reads, removeNamespaces, writes } from "./api-namespaces.ts";
import { withNode } from "./api-node.ts";
import { freePort, withServer } from "./api-server.ts";
import type { ApiContext, Target } from "./api-target.ts";
import { processorMicrosOf, residentBytesOf } from "./api-usage.ts";
import { type Load, load, type Loaded } from "./load.ts";
import { median, quantile, roundMillis, rounds } from "./measure.ts";
import type { Context, Figure, Figures, Row } from "./row.ts";

const IDLE_MS = 2000;
const RECORDS_EACH = 2; // of the request, and of the answer
const QUICK_CLIENTS = 4;

interface Kind {
  readonly clients: number;
  readonly make: (caller: Caller, paths: readonly string[], clients: number) => Load;
}

interface Measured {
  readonly loaded: readonly Loaded[];
  /** The server's processor time for each request, by round; empty where it is not known. */
  readonly serverMicros: readonly number[];
}

async function measure(context: ApiContext, kind: Kind): Promise<Figures> {
  const ours = await measureOurs(context, kind);
  const theirs = context.target && (await measureTarget(context, context.target, kind));
  return {
    samples: rates(ours),
    also: [
      ...latencies(ours, ""),
      figure("server's processor time each, all threads", "µs", ours.serverMicros),
      figure(
        "load generator's processor time each",
        "µs",
        ours.loaded.map(({ processorMicros }) => processorMicros),
      ),
      ...(theirs === undefined ? [] : comparison(ours, theirs)),
    ].filter(({ samples }) => samples.length > 0),
  };
}

async function measureOurs(context: ApiContext, kind: Kind): Promise<Measured> {
  return await withNode(context.directory, async ({ caller, server, records }) => {
    const before = await records();
    const { answers, ...measured } = await run(context, kind, caller, server.pid);
    const found = (await records()) - before;
    if (found < answers * RECORDS_EACH) {
      throw new Error(`${answers} requests left only ${found} audit records`);
    }
    return measured;
  });
}

async function measureTarget(
  context: ApiContext,
  { url, token }: Target,
  kind: Kind,
): Promise<Measured> {
  // Servers of this kind all know the token by this name.
  const caller = { url, headers: { "X-Vault-Token": token } };
  try {
    return await run(context, kind, caller, null);
  } finally {
    await removeNamespaces(caller, pathsFor(clientsOf(context, kind)));
  }
}

function clientsOf(context: Context, kind: Kind): number {
  return context.quick ? QUICK_CLIENTS : kind.clients;
}

/** Makes the namespaces, then runs the rounds. */
async function run(
  context: Context,
  kind: Kind,
  caller: Caller,
  pid: number | null,
): Promise<Measured & { readonly answers: number }> {
  const clients = clientsOf(context, kind);
  const paths = pathsFor(clients);
  await makeNamespaces(caller, paths);
  const work = kind.make(caller, paths, clients);
  const millis = roundMillis(context, 2000);
  const used = () => (pid === null ? null : processorMicrosOf(pid));
  const serverMicros: number[] = [];
  let answers = 0;
  const loaded = await rounds(context, async () => {
    const before = used();
    const round = await load(new URL(caller.url), work, millis);
    const after = used();
    const { length } = round.latencies;
    if (before !== null && after !== null) serverMicros.push((after - before) / length);
    answers += length;
    return round;
  });
  return { loaded, serverMicros: serverMicros.slice(1), answers }; // without the warm-up
}

function rates({ loaded }: Measured): number[] {
  return loaded.map(({ perSecond }) => perSecond);
}

function at(rank: number, { loaded }: Measured): number[] {
  return loaded.map((round) => quantile(round.latencies, rank));
}

function latencies(measured: Measured, whose: string): Figure[] {
  return [
    figure(`${whose}latency p50`, "ms", at(0.5, measured)),
    figure(`${whose}latency p99`, "ms", at(0.99, measured)),
  ];
}

function comparison(ours: Measured, theirs: Measured): Figure[] {
  const ratio = (of: (measured: Measured) => number[]) => [median(of(ours)) / median(of(theirs))];
  return [
    figure("the target", "/s", rates(theirs)),
    ...latencies(theirs, "the target, "),
    figure("ours / theirs, rate", "×", ratio(rates)),
    figure(
      "ours / theirs, latency p50",
      "×",
      ratio((measured) => at(0.5, measured)),
    ),
    figure(
      "ours / theirs, latency p99",
      "×",
      ratio((measured) => at(0.99, measured)),
    ),
  ];
}

function figure(what: string, unit: string, samples: readonly number[]): Figure {
  return { what, unit, samples };
}

async function ready(context: Context): Promise<Figures> {
  let started = 0;
  const once = async () => {
    const port = await freePort();
    const directory = join(context.directory, String(started++));
    const args = ["--dev", "--dev-listen-address", `127.0.0.1:${port}`];
    return await withServer({ directory, port, args, ready: [200] }, async (server) => {
      await pause(context.quick ? 0 : IDLE_MS);
      return { millis: server.readyMillis, megabytes: residentBytesOf(server.pid) / 1e6 };
    });
  };
  const found = await rounds(context, once);
  return {
    samples: found.map(({ millis }) => millis),
    also: [
      {
        ...figure(
          "RSS 2 s later",
          "MB",
          found.map(({ megabytes }) => megabytes),
        ),
        budget: { atMost: 150 },
      },
    ],
  };
}

export const apiRows: readonly Row[] = [
  {
    name: "api/ready",
    what: "dev server, process start to the first 200 of sys/health",
    unit: "ms",
    budget: { atMost: 1000 },
    run: ready,
  },
  {
    name: "api/writes",
    what: "durable audited writes of a namespace, 64 clients",
    unit: "/s",
    budget: { atLeast: 4000 },
    run: (context: ApiContext) => measure(context, { clients: 64, make: writes }),
  },
  {
    name: "api/reads",
    what: "authorised audited reads of a namespace, 32 clients",
    unit: "/s",
    budget: { atLeast: 12_000 },
    run: (context: ApiContext) => measure(context, { clients: 32, make: reads }),
  },
];
