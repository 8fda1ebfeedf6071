// The API of the running server under one kind of load from a process beside it, and of another server
// for comparison: rates, latencies and processor time, with the audit records counted at the end.

import { call, type Caller } from "./api-caller.ts";
import { withNode } from "./api-node.ts";
import type { ApiContext, Target } from "./api-target.ts";
import { processorMicrosOf } from "./api-usage.ts";
import { load, type Loaded } from "../load/load.ts";
import { clientsOf, type LoadKind } from "../load/load-kind.ts";
import { median, quantile, roundMillis, rounds } from "../measure.ts";
import type { Context, Figure, Figures, Row } from "../row.ts";
import { errorText } from "../../tests/support/error-text.ts";

const RECORDS_EACH = 2; // of the request, and of the answer

interface Measured {
  readonly loaded: readonly Round[];
  /** The server's processor time for each request, by round; empty where it is not known. */
  readonly serverMicros: readonly number[];
}

interface Round extends Loaded {
  readonly serverMicros: number | null;
}

/** Of a row that is the rate of such requests. */
export function loaded(load: LoadKind): Pick<Row, "load" | "run"> {
  return { load, run: (context: ApiContext) => measure(context, load) };
}

async function measure(context: ApiContext, kind: LoadKind): Promise<Figures> {
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

async function measureOurs(context: ApiContext, kind: LoadKind): Promise<Measured> {
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
  kind: LoadKind,
): Promise<Measured> {
  // Servers of this kind all know the token by this name.
  const caller = { url, headers: { "X-Vault-Token": token } };
  try {
    return await run(context, kind, caller, null);
  } finally {
    await remove(caller, kind.made(clientsOf(context, kind)));
  }
}

/** Prepares the server, then runs the rounds. */
async function run(
  context: Context,
  kind: LoadKind,
  caller: Caller,
  pid: number | null,
): Promise<Measured & { readonly answers: number }> {
  const clients = clientsOf(context, kind);
  const work = await kind.prepare(caller, clients);
  const millis = roundMillis(context, 2000);
  const used = () => (pid === null ? null : processorMicrosOf(pid));
  let answers = 0;
  const loaded = await rounds(context, async () => {
    const before = used();
    const round = await load(new URL(caller.url), work, millis);
    const after = used();
    const { length } = round.latencies;
    answers += length;
    return {
      ...round,
      serverMicros: before === null || after === null ? null : (after - before) / length,
    };
  });
  const serverMicros = loaded.map((round) => round.serverMicros).filter((each) => each !== null);
  return { loaded, serverMicros, answers };
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

export function figure(what: string, unit: string, samples: readonly number[]): Figure {
  return { what, unit, samples };
}

/** As far as that server lets us: what stays there is told, and is no reason to lose the figures. */
async function remove(caller: Caller, paths: readonly string[]): Promise<void> {
  try {
    for (const path of paths) await call(caller, "DELETE", path);
  } catch (error) {
    process.stderr.write(`something was left at ${caller.url}: ${errorText(error)}\n`);
  }
}
