// T-K04: a hundred thousand strangers at the cluster port, one after another and many at once. Memory stays where it was,
// they hold no more places than there are, and a member that has a session is answered as before.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { HOUR } from "@holdfast/shared/text/duration";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";
import { Sweep } from "@holdfast/shared/sweep";
import { issueMember, issueServer, makeAuthority } from "../../src/cluster/authority.ts";
import { hostOf } from "../../src/cluster/names.ts";
import { CarriedLink } from "../../src/cluster/peer-link.ts";
import { ClusterPort, type PortLimits } from "../../src/cluster/port.ts";
import { TlsCarrier } from "../../src/cluster/tls-carrier.ts";
import type { Peer } from "../../src/cluster/verify.ts";
import { message, text } from "@holdfast/shared/grpc/message";
import { method, serveUnary, serviceTable } from "@holdfast/shared/grpc/method";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemNet } from "../../src/system/net.ts";
import { SystemRandom } from "../../src/system/random.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { type Result, resultOf } from "../result.ts";
import type { StrangersOptions } from "./strangers.ts";

const STRANGERS = join(import.meta.dirname, "strangers.ts");
const SET = { set: "00000000-0000-4000-8000-000000000001", kind: "dr" } as const;
const PLACES = 64;
const QUIET_PINGS = 200;
const BETWEEN_MS = 20; // two pings
const LONGEST_MS = 2000;
/** What a busy machine may add to the usual answer. */
const SLOWER = 5;
const SPARE_MS = 50;
const GROWTH = 24 * 1024 * 1024;

const line = message({ text: text(1) });
const ping = method("unary", "/soak.Cluster/Ping", line, line);

export interface ClusterPortOptions {
  /** Strangers. */
  readonly n: number;
  /** A port without its bounds: that must be seen. */
  readonly plant?: "patient";
  readonly say: (line: string) => void;
}

export async function clusterPort({ n, plant, say }: ClusterPortOptions): Promise<Result> {
  const clock = new SystemClock();
  const timers = new SystemTimers();
  const { log } = fakeWorld();
  const sweep = new Sweep(clock, timers);
  const world = { clock, timers, sweep, net: new SystemNet(), random: new SystemRandom(), log };
  const patient: Partial<PortLimits> = { handshake: HOUR, unproven: 1e6, unprovenPerAddress: 1e6 };
  const port = new ClusterPort(world, plant === undefined ? {} : patient);
  const authority = await makeAuthority(SET, world);
  const { certificate, key } = await issueServer(authority, world);
  port.serve({
    ...SET,
    authority: authority.certificate,
    certificate,
    key,
    table: serviceTable([
      serveUnary<Peer, { text: string }, { text: string }>(ping, async (sent) => sent),
    ]),
    greet: async ({ protocol }) => ({ clusterId: "a", protocol, version: "" }),
    revoked: [],
  });
  const address = await port.listen({ host: "127.0.0.1", port: 0 });
  const member = await issueMember(authority, "good", world);
  const set = { ...SET, ...member, authority: authority.certificate };
  const link = new CarriedLink(new TlsCarrier(world, address, set), { ...SET, id: "good" });
  const wrong: string[] = [];
  const quiet: number[] = [];
  const loud: number[] = [];
  const memory: number[] = [];
  let most = 0;
  let grown = 0; // from the second quarter to the last
  let strangers: ChildProcess | null = null;
  try {
    await link.open({ clusterId: "b", version: "" });
    const pingOnce = async (times: number[]) => {
      const began = performance.now();
      await link.call(ping, { text: "x" });
      times.push(performance.now() - began);
      await pause(BETWEEN_MS);
    };
    for (let i = 0; i < QUIET_PINGS; i++) await pingOnce(quiet);
    say(`without strangers a ping takes ${show(quiet)}`);
    // The first of them warm up: code, buffers, the collector's own idea of how much there is.
    await each(strangersFrom({ port: address.port, host: hostOf(SET), n: Math.ceil(n / 10) }), () =>
      pingOnce([]),
    );
    strangers = strangersFrom({ port: address.port, host: hostOf(SET), n });
    await each(strangers, async () => {
      most = Math.max(most, port.unproven);
      memory.push(process.memoryUsage().rss);
      await pingOnce(loud);
    });
    const quarter = Math.ceil(memory.length / 4);
    grown = middle(memory.slice(-quarter)) - middle(memory.slice(quarter, 2 * quarter));
    say(`memory in tenths: ${tenths(memory)} MB`);
    // Who has a certificate comes in among them, too.
    const second = new CarriedLink(new TlsCarrier(world, address, set), { ...SET, id: "good" });
    await second.open({ clusterId: "c", version: "" });
    await second.close();
  } catch (error) {
    wrong.push(errorText(error));
  } finally {
    strangers?.kill("SIGKILL");
    await link.close();
    await port.close(0n);
  }
  const longest = Math.max(0, ...loud);
  const usual = middle(quiet) * SLOWER + SPARE_MS;
  if (most > PLACES) wrong.push(`strangers held ${most} places`);
  if (grown > GROWTH) wrong.push(`memory grew by ${(grown / 1e6).toFixed(0)} MB`);
  if (middle(loud) > usual)
    wrong.push(`half of the pings took ${middle(loud).toFixed(0)} ms or more`);
  if (longest > LONGEST_MS) wrong.push(`a ping took ${longest.toFixed(0)} ms`);
  const figure =
    `${n} strangers, ${most} places at most, memory changed by ${(grown / 1e6).toFixed(1)} MB, ` +
    `pings ${show(loud)} (before: ${show(quiet)}), ${wrong.length} wrong`;
  return resultOf(figure, wrong);
}

function strangersFrom(options: StrangersOptions): ChildProcess {
  return fork(STRANGERS, [JSON.stringify(options)], {
    execArgv: ["--no-warnings", ...FIND_OWN_MODULES],
  });
}

/** Again and again until the process has come to its end. */
async function each(child: ChildProcess, step: () => Promise<void>): Promise<void> {
  let isOver = false;
  void once(child, "exit").then(() => (isOver = true));
  while (!isOver) await step();
}

function middle(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function tenths(all: readonly number[]): string {
  const at = (i: number) => ((all[Math.floor((all.length * i) / 10)] ?? 0) / 1e6).toFixed(0);
  return Array.from({ length: 10 }, (_, i) => at(i)).join(", ");
}

function show(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${(sorted.at(-1) ?? 0).toFixed(1)} ms`;
}
