// Slow clients (T-N03): thousands of slow clients of four kinds beside good ones. Each kind is dropped when its
// time is over, and the good ones are served as if nothing were.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { CertificateFiles, TestAuthority } from "../../tests/support/certificates.ts";
import { discard, scratch } from "../child.ts";
import { GoodClients } from "./good-clients.ts";
import { ObservedServer } from "../observed-server.ts";
import type { Result } from "../result.ts";
import { NeverReading, SlowClients } from "./slow-clients.ts";

const SLACK_S = 2;
const QUIET_MS = 4000;
const MAX_RATIO = 2;
// Of a machine whose processors the clients share with the server, and in a short run with other tests.
const NOISE_MS = 10;
const QUICK_NOISE_MS = 100;
const POLL_MS = 100;

export interface SlowExperiment {
  readonly say: (line: string) => void;
  /** A fifth of the clients, against time limits of seconds: 15 s in all instead of 80. */
  readonly quick?: boolean;
  /** The limits on heads and answers are ten times what is expected of them. */
  readonly plant?: "patient";
}

interface Scale {
  readonly head: number; // seconds
  readonly body: number;
  readonly answer: number;
  readonly handshake: number;
  readonly counts: {
    readonly heads: number;
    readonly bodies: number;
    readonly handshakes: number;
    readonly unread: number;
    readonly unreadTcp: number; // of those
    readonly good: number;
  };
}

const FULL: Scale = {
  head: 10,
  body: 30,
  answer: 60,
  handshake: 10,
  counts: {
    heads: 2000,
    bodies: 2000,
    handshakes: 500,
    unread: 500,
    unreadTcp: 20,
    good: 200,
  },
};

const QUICK: Scale = {
  head: 2,
  body: 3,
  answer: 6,
  handshake: 2,
  counts: { heads: 400, bodies: 400, handshakes: 100, unread: 100, unreadTcp: 5, good: 40 },
};

// A Unix socket holds 208 KiB that nobody reads, a loopback connection more than 4 MiB.
const UNIX_ANSWER = 50; // namespaces of 8 KiB
const TCP_ANSWER = 1000;

export async function slow({ say, quick = false, plant }: SlowExperiment): Promise<Result> {
  const scale = quick ? QUICK : FULL;
  checkDescriptors(scale);
  const place = scratch("slow");
  const files = new CertificateFiles();
  const authority = await TestAuthority.make();
  files.write(await authority.issue("localhost"));
  const unixPath = join(place, "api.sock");
  const limits = timeLimits(scale, plant === "patient" ? 10 : 1);
  const server = await ObservedServer.start({
    directory: place,
    listener: limits,
    settings: `
listener "tcp" {
  address       = "127.0.0.1:0"
  tls_cert_file = ${JSON.stringify(files.certFile)}
  tls_key_file  = ${JSON.stringify(files.keyFile)}
  tls_handshake_timeout = "${plant === "patient" ? scale.handshake * 10 : scale.handshake}s"
  ${limits}
}
listener "unix" {
  address = ${JSON.stringify(unixPath)}
  ${limits}
}`,
  });
  try {
    await fill(server);
    return await watch(server, { scale, unixPath, say });
  } finally {
    await server.stop();
    files.remove();
    discard(place);
  }
}

function timeLimits({ head, body, answer }: Scale, factor: number): string {
  return `header_timeout = "${head * factor}s"
  body_timeout   = "${body}s"
  answer_timeout = "${answer * factor}s"`;
}

/** Namespaces whose list is a long answer. */
async function fill(server: ObservedServer): Promise<void> {
  const members = Array.from({ length: 15 }, (_, i) => [`note-${i}`, "v".repeat(500)]);
  const body = { custom_metadata: Object.fromEntries(members) };
  for (let i = 0; i < TCP_ANSWER; i++) {
    await server.expect(200, "POST", `sys/namespaces/n${i}`, { body });
  }
}

async function watch(
  server: ObservedServer,
  { scale, unixPath, say }: { scale: Scale; unixPath: string; say: (line: string) => void },
): Promise<Result> {
  const { counts } = scale;
  const wrong: string[] = [];
  const noise = scale === QUICK ? QUICK_NOISE_MS : NOISE_MS;
  const port = Number(new URL(server.url).port);
  const securePort = Number(new URL(server.addresses[1] ?? "").port);
  const ask = (method: string, path: string) =>
    `${method} /v1/${path} HTTP/1.1\r\nHost: localhost\r\nX-Service-Token: ${server.token}\r\n\r\n`;
  const good = GoodClients.open({
    port,
    count: counts.good,
    request: ask("GET", "sys/namespaces/n1?x=1"),
    everyMillis: 250,
    addresses: Array.from({ length: 50 }, (_, i) => `127.0.200.${1 + i}`),
  });
  const heads = new SlowClients("head", { count: counts.heads, port, net: 10 });
  const bodies = new SlowClients("body", { count: counts.bodies, port, net: 20 });
  const handshakes = new SlowClients("handshake", {
    count: counts.handshakes,
    port: securePort,
    net: 30,
  });
  const unread = new NeverReading();
  try {
    await pause(1000);
    await good.take();
    await server.read();
    await pause(QUIET_MS);
    const quiet = await good.take();
    const before = await server.read();
    const base = descriptors(server.pid);

    const began = performance.now();
    const tcp = { host: "127.0.0.1", port, localAddress: "127.0.40.1" };
    const short = ask("LIST", `sys/namespaces?limit=${UNIX_ANSWER}`);
    await unread.open({ path: unixPath }, short, counts.unread - counts.unreadTcp, 200);
    await unread.open(tcp, ask("LIST", "sys/namespaces"), counts.unreadTcp, 20);
    for (let i = 0; i < 10; i++) await server.expect(200, "GET", "sys/health"); // all are made now
    const requestedAt = performance.now();
    await Promise.all([heads.open(), bodies.open(), handshakes.open()]);
    const opened = performance.now();
    const held = await server.read();
    const came = await good.take();
    say(
      `${descriptors(server.pid) - base} connections in ${((opened - began) / 1000).toFixed(1)} s; ` +
        `p99 of good clients while they came ${came.p99.toFixed(1)} ms`,
    );
    const drops = await countDown(server, {
      base,
      all: counts.unread,
      until: requestedAt + (scale.answer + SLACK_S + 1) * 1000,
      others: () => heads.left + bodies.left + handshakes.left,
    });
    const busy = await good.take();
    const { stretch, turn, turn99 } = await server.read();
    judge("slow heads", heads, counts.heads, scale.head, wrong, say);
    judge("slow bodies", bodies, counts.bodies, scale.body, wrong, say);
    judge("handshakes", handshakes, counts.handshakes, scale.handshake, wrong, say);
    const first = (drops.first - began) / 1000;
    const last = (drops.last - requestedAt) / 1000;
    say(
      `unread answers: the first dropped ${first.toFixed(1)} s after the first was asked for, the ` +
        `last ${last.toFixed(1)} s after the last; ${drops.left} of ${counts.unread} left`,
    );
    if (drops.left > 0) wrong.push(`${drops.left} unread answers were not dropped`);
    if (first < scale.answer - SLACK_S || last > scale.answer + SLACK_S) {
      wrong.push(`unread answers dropped from ${first.toFixed(1)} to ${last.toFixed(1)} s`);
    }
    const failures = await good.close();
    if (failures.length > 0) {
      wrong.push(`good clients: ${failures.length} failures, such as ${failures[0]}`);
    }
    // The short form runs on whatever machine there is, with a second of its own work beside it.
    if (scale !== QUICK && busy.p99 > quiet.p99 * MAX_RATIO + noise) {
      wrong.push(`good clients' p99: ${quiet.p99.toFixed(1)} → ${busy.p99.toFixed(1)} ms`);
    }
    if (server.ended !== null) wrong.push(`the server ended: ${server.ended}\n${server.log}`);
    const memory = (held.resident - before.resident) / 2 ** 20;
    const figure =
      `${counts.heads} heads, ${counts.bodies} bodies, ${counts.unread} unread, ` +
      `${counts.handshakes} handshakes beside ${counts.good} good clients: dropped at ` +
      `${span(heads)}, ${span(bodies)}, ${first.toFixed(1)}–${last.toFixed(1)}, ` +
      `${span(handshakes)} s; p99 ${quiet.p99.toFixed(1)} → ${busy.p99.toFixed(1)} ms, ` +
      `p50 ${quiet.p50.toFixed(1)} → ${busy.p50.toFixed(1)} ms, longest block ` +
      `${stretch.toFixed(0)} ms, turns p99 ${before.turn99.toFixed(1)} → ${turn99.toFixed(1)} ms, ` +
      `longest ${turn.toFixed(0)} ms, memory +${memory.toFixed(0)} MiB, ` +
      `${wrong.length} wrong`;
    return wrong.length === 0
      ? { ok: true, figure }
      : { ok: false, figure, detail: wrong.join("\n") };
  } finally {
    await good.close();
    heads.close();
    bodies.close();
    handshakes.close();
    unread.close();
  }
}

function judge(
  what: string,
  clients: SlowClients,
  count: number,
  limit: number,
  wrong: string[],
  say: (line: string) => void,
): void {
  const { drops, left, failures } = clients;
  const early = drops.filter(({ max }) => max < limit - SLACK_S).length;
  const late = drops.filter(({ min }) => min > limit + SLACK_S).length;
  say(`${what}: dropped at ${span(clients)} s; ${left} left`);
  if (drops.length !== count || early > 0 || late > 0) {
    wrong.push(
      `${what}: of ${count} ${failures} were refused, ${early} dropped early, ${late} late, ` +
        `${left} not at all (${span(clients)} s, not ${limit} ± ${SLACK_S})`,
    );
  }
}

function span({ drops }: SlowClients): string {
  const first = Math.min(...drops.map(({ max }) => max));
  const last = Math.max(...drops.map(({ min }) => min));
  return `${first.toFixed(1)}–${last.toFixed(1)}`;
}

/** When the connections that cannot be seen from outside began to go, and when the last was gone. */
async function countDown(
  server: ObservedServer,
  { base, all, until, others }: { base: number; all: number; until: number; others: () => number },
): Promise<{ readonly first: number; readonly last: number; readonly left: number }> {
  let first = Infinity;
  let last = Infinity;
  let left = all;
  while (performance.now() < until && server.ended === null) {
    await pause(POLL_MS);
    // A file that is opened for a moment counts as well, hence a tolerance.
    if (others() > 0) continue; // they go before these, and hide them until then
    left = Math.max(0, descriptors(server.pid) - base);
    if (left < all * 0.95 && first === Infinity) first = performance.now();
    if (left > all * 0.02) continue;
    last = performance.now();
    left = 0;
    break;
  }
  return { first, last, left };
}

function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function checkDescriptors({ counts }: Scale): void {
  const { heads, bodies, handshakes, unread, good } = counts;
  const needed = heads + bodies + handshakes + unread + good + 300;
  const [, soft = "0"] =
    /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  if (Number(soft) >= needed) return;
  throw new Error(`${needed} open files are needed and ${soft} allowed; run ulimit -n ${needed}`);
}
