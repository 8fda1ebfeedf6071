// Hostile requests (T-N01, T-N02, T-N06, T-N07, T-N09, T-G05): every hostile request, 64 at once, with a
// token and without, beside a good client. No request may stop the event loop for more than 50 ms, leave
// memory behind, be answered by a fault of ours, or end the process.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { RawClient } from "../../tests/support/http-front.ts";
import { discard, scratch } from "../child.ts";
import { GoodClients } from "./good-clients.ts";
import { hostilePayloads, type Payload } from "./hostile-payloads.ts";
import { hostileRules } from "./hostile-rules.ts";
import { ObservedServer } from "../observed-server.ts";
import type { ProbeReading } from "./loop-probe.ts";
import type { Result } from "../result.ts";

const AT_ONCE = 64;
const MAX_BLOCKED_MS = 50;
const MAX_GROWTH = 64 * 1024 * 1024;
const PROVOKED_MS = 120;
/** Bytes; of smaller ones as many are taken as come. */
const LARGE = 256 * 1024;
const QUIET_MS = 2000;
const LONGEST_ANSWER_MS = 30_000;
const REPEATS = 4; // before a block is believed: what is ours comes again, what is the machine's does not
const MAX_LISTED = 8;
let places = 0;

export interface HostileOptions {
  /** Of what is searched for. */
  readonly seed: number;
  readonly say: (line: string) => void;
  /** A fourth of the payloads, 8 at once. */
  readonly quick?: boolean;
  readonly plant?: "no-json-limits";
  /** Only payloads whose name has this in it. */
  readonly only?: string | undefined;
}

interface Row {
  readonly name: string;
  readonly stretch: number; // ms
  readonly turn: number;
}

export async function hostile(options: HostileOptions): Promise<Result> {
  const { say, seed, quick = false, plant, only = "" } = options;
  // The short form runs on whatever machine there is: it finds what takes seconds.
  const max = quick ? 5 * MAX_BLOCKED_MS : MAX_BLOCKED_MS;
  const place = scratch("hostile");
  const server = await ObservedServer.start({ directory: place });
  const wrong: string[] = [];
  const rows: Row[] = [];
  let good: GoodClients | null = null;
  try {
    await server.expect(200, "POST", "sys/namespaces/hostile");
    await server.expect(200, "POST", "sys/namespaces/good");
    const baseline = await watchQuiet(server, say);
    if (plant === "no-json-limits") server.tell({ ask: "drop-json-limits" });
    const all = [...(await hostilePayloads()), ...(await hostileRules(server, seed))];
    const chosen = selected(all, only, quick && plant === undefined);
    good = GoodClients.open({ count: 4, ...goodRequest(server) });
    await pause(QUIET_MS);
    const { p99: quietP99 } = await good.take();
    // What a first flood takes, the allocator and the collector keep for the next one: it is the growth
    // after that which has no bound.
    const heavy = chosen.filter(({ name }) => /chunk|1 MiB|1,000 keys|odd numbers/.test(name));
    for (const payload of plant === undefined ? heavy : []) {
      for (const token of [server.token, null]) {
        await measure(server, payload, token, payload.name, quick, []);
      }
    }
    const before = await server.read();
    const cold = (before.resident - baseline.resident) / 1024 / 1024;
    say(`the first flood left ${cold.toFixed(0)} MiB`);

    for (const payload of chosen) {
      for (const token of [server.token, null]) {
        const name = `${payload.name}${token === null ? ", no token" : ""}`;
        const row = await measure(server, payload, token, name, quick, wrong);
        rows.push(row);
        if (row.stretch > max || row.turn > 4 * max) {
          say(`${row.stretch.toFixed(0)} ms, turn ${row.turn.toFixed(0)} ms: ${name}`);
        }
        if (server.ended !== null) break;
      }
      if (server.ended !== null || wrong.length > (plant === undefined ? 20 : 0)) break;
    }
    const { p99: busyP99 } = await good.take();
    const failures = await good.close();
    if (server.ended !== null) wrong.push(`the server ended: ${server.ended}\n${server.log}`);
    if (failures.length > 0) wrong.push(`good clients: ${failures.slice(0, 3).join(", ")}`);
    const skip = server.ended !== null || plant !== undefined;
    const grown = skip ? 0 : await settled(server, before.resident);
    if (grown > MAX_GROWTH) wrong.push(`${mib(grown)} MiB more memory after it was over`);
    for (const { name, stretch } of rows) {
      if (stretch > max) wrong.push(`${name}: blocked for ${stretch.toFixed(0)} ms`);
    }
    const worst = rows.toSorted((a, b) => b.stretch - a.stretch);
    const longest = rows.toSorted((a, b) => b.turn - a.turn);
    for (const { name, stretch, turn } of new Set([
      ...worst.slice(0, MAX_LISTED),
      ...longest.slice(0, MAX_LISTED),
    ])) {
      say(`${stretch.toFixed(0).padStart(5)} ms (turn ${turn.toFixed(0)}) ${name}`);
    }
    const figure =
      `${rows.length} hostile requests × ${quick ? 8 : AT_ONCE} at once: longest block ` +
      `${worst[0]?.stretch.toFixed(0)} ms, longest turn ${longest[0]?.turn.toFixed(0)} ms ` +
      `(idle ${baseline.turn.toFixed(0)} ms), memory +${cold.toFixed(0)} and ` +
      `${grown < 0 ? "" : "+"}${mib(grown)} MiB, good clients p99 ${quietP99.toFixed(1)} → ` +
      `${busyP99.toFixed(1)} ms, ${wrong.length} wrong`;
    return wrong.length === 0
      ? { ok: true, figure }
      : { ok: false, figure, detail: wrong.join("\n") };
  } finally {
    await good?.close();
    await server.stop();
    discard(place);
  }
}

/** Those with a text in their name; quick: every fourth, unless that leaves out what was asked for. */
export function selected<T extends { readonly name: string }>(
  all: readonly T[],
  only: string,
  quick: boolean,
): T[] {
  const named = all.filter(({ name }) => name.includes(only));
  if (named.length === 0) {
    throw new Error(`no payload has ${JSON.stringify(only)} in its name: nothing would be tried`);
  }
  return quick && only === "" ? named.filter((_, i) => i % 4 === 0) : named;
}

/** What the machine does to an idle server; and that a block is seen at all. In ms. */
async function watchQuiet(
  server: ObservedServer,
  say: (line: string) => void,
): Promise<ProbeReading> {
  await pause(QUIET_MS / 2); // what the start has left to do
  await server.read();
  await server.ownFigure();
  await pause(QUIET_MS);
  const idle = await server.read();
  server.tell({ ask: "block", millis: PROVOKED_MS });
  await pause(PROVOKED_MS * 2);
  const provoked = await server.read();
  const figure = await server.ownFigure();
  say(
    `idle: stretch ${idle.stretch.toFixed(0)} ms, turn ${idle.turn.toFixed(0)} ms; a block of ` +
      `${PROVOKED_MS} ms: ${provoked.stretch.toFixed(0)}, ${provoked.turn.toFixed(0)}, by the ` +
      `wall ${provoked.wall.toFixed(0)}, by sys/metrics ${figure.toFixed(0)} ms`,
  );
  if (provoked.wall < PROVOKED_MS * 0.8 || figure < PROVOKED_MS * 0.6) {
    throw new Error("a block made on purpose was not seen: nothing measured here would count");
  }
  return idle;
}

async function measure(
  server: ObservedServer,
  payload: Payload,
  token: string | null,
  name: string,
  quick: boolean,
  wrong: string[],
): Promise<Row> {
  const right = token === null ? payload.rightWithout : payload.right;
  const bytes = payload.bytes(token);
  let best: Row | null = null;
  for (let round = 0; round < REPEATS; round++) {
    const from = `127.0.0.${2 + (places++ % 200)}`;
    await server.read();
    const answers = await Promise.all(
      Array.from({ length: quick ? 8 : AT_ONCE }, () => answerTo(server.url, bytes, from)),
    );
    if (server.ended !== null) break;
    const { stretch, turn } = await server.read();
    // So many large bodies of one address at once have no room, which is the bound that is meant; some have.
    const hasNoRoom = (answer: { readonly status: number; readonly text: string }) =>
      bytes.length > LARGE &&
      answer.status === 503 &&
      answer.text.includes("too many large bodies");
    const judged = answers.filter((answer) => !hasNoRoom(answer));
    if (judged.length === 0) wrong.push(`${name}: there was no room for any of them`);
    const odd = judged.find(({ status }) => !right.includes(status));
    if (odd !== undefined) {
      wrong.push(
        `${name}: answered ${odd.status || "nothing"}, not ${right.join(" or ")}: ${odd.text}`,
      );
    }
    if (payload.undo !== undefined) await server.call(payload.undo.method, payload.undo.path);
    if (best === null || stretch < best.stretch) best = { name, stretch, turn };
    if (best.stretch <= MAX_BLOCKED_MS) break;
  }
  return best ?? { name, stretch: 0, turn: 0 };
}

/** `from`: a connection that was refused lingers for two seconds, and an address has so many. */
async function answerTo(
  url: string,
  bytes: Buffer,
  from: string,
): Promise<{ readonly status: number; readonly text: string }> {
  let client: RawClient | null = null;
  let late: NodeJS.Timeout | undefined;
  try {
    client = await RawClient.connect(Number(new URL(url).port), from);
    late = setTimeout(() => client?.destroy(), LONGEST_ANSWER_MS);
    void client.send(bytes); // it may never be taken in full
    const answer = await client.next();
    return { status: answer?.status ?? 0, text: (answer?.body ?? "").slice(0, 200) };
  } catch (error) {
    return { status: 0, text: error instanceof Error ? error.message : "" };
  } finally {
    clearTimeout(late);
    client?.destroy();
  }
}

/** By how much it is larger than before, once it has had time to give back. */
async function settled(server: ObservedServer, before: number): Promise<number> {
  const end = performance.now() + 10_000;
  let grown = Infinity;
  while (performance.now() < end && grown > MAX_GROWTH / 4) {
    server.tell({ ask: "collect" }); // an idle process sees no reason to
    grown = Math.min(grown, (await server.read()).resident - before);
    await pause(250);
  }
  return grown;
}

function goodRequest({ url, token }: ObservedServer) {
  const head = `GET /v1/sys/namespaces/good HTTP/1.1\r\nHost: localhost\r\nX-Service-Token: ${token}\r\n\r\n`;
  return { port: Number(new URL(url).port), request: head, everyMillis: 20 };
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0);
}
