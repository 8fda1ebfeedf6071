// Very many leases that end within the same second: all of them are revoked, each once, while reads are
// answered as ever and memory stays bounded.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { requestBytes } from "../bench/api/api-caller.ts";
import { residentBytesOf } from "../bench/api/api-usage.ts";
import { LoadConnection } from "../bench/load/load-connection.ts";
import { quantile } from "../bench/measure.ts";
import { pacedLoad } from "../bench/load/paced-load.ts";
import type { Api } from "./api/api-server.ts";
import { OutsideJournal } from "./engines/engine-ledger.ts";
import { type FreshServer, withFreshServer } from "./fresh-server.ts";
import { type Result, resultOf } from "./result.ts";

export interface LeaseStormOptions {
  readonly n: number;
  readonly plant?: "blocking";
  readonly say: (line: string) => void;
}

const MOUNTS = 8;
const CLIENTS = 48;
const PROBE = 1000; // leases, to learn how many can be issued in a second
const HEADROOM = 1.7; // others use the machine as well
const MIN_WINDOW_S = 10;
const QUIET_MS = 2000;
const MAX_P99_MS = 100;
// Beyond that before: 4,096 claimed leases, the pages that revocation touches, and garbage between.
const MAX_GROWTH_MIB = 128;
const LONGEST_MS = 15 * 60_000;
const MIB = 2 ** 20;

export async function leaseStorm(options: LeaseStormOptions): Promise<Result> {
  const { plant } = options;
  const figures: string[] = [];
  const target = (directory: string) => ({
    counting: { journal: join(directory, "outside"), ...(plant === undefined ? {} : { plant }) },
  });
  const wrong = await withFreshServer("lease-storm", target, (server, directory) =>
    storm(options, server, new OutsideJournal(join(directory, "outside")), figures),
  );
  return resultOf([`${options.n} leases`, ...figures].join(", "), wrong);
}

async function storm(
  { n, say }: LeaseStormOptions,
  server: FreshServer,
  journal: OutsideJournal,
  figures: string[],
): Promise<string[]> {
  const { api, url, pid } = server;
  const wrong: string[] = [];
  await prepare(api);
  const rate = await issueAll(server, PROBE, () => "probe");
  const window = Math.max(MIN_WINDOW_S, Math.ceil((n / rate) * HEADROOM) + 2);
  say(`${rate.toFixed(0)} leases issued in a second; all shall end in ${window} s`);
  await rolesUpTo(api, window);
  const end = Date.now() + (window + 1) * 1000;
  await issueAll(server, n, () => {
    const seconds = Math.floor((end - Date.now()) / 1000);
    if (seconds < 1)
      throw new Error("issuing took longer than the leases live; try a quiet machine");
    return `of-${Math.min(seconds, window)}`;
  });
  const living = journal.objects.size - PROBE;
  if (living !== n) wrong.push(`${living} of ${n} leases were alive when the last was issued`);
  const read = requestBytes({ url, headers: tokenOf(api) }, "GET", "kv/data/secret");
  const quiet = await pacedLoad(new URL(url), read, pause(QUIET_MS));
  await pause(Math.max(0, end - 1000 - Date.now()));

  const before = residentBytesOf(pid);
  let peak = before;
  const began = performance.now();
  const waitedBefore = waitedMillis(pid);
  const over = (async () => {
    while (journal.objects.size > PROBE) {
      if (performance.now() - began > LONGEST_MS) throw new Error("leases are left");
      peak = Math.max(peak, residentBytesOf(pid));
      await pause(100);
    }
  })();
  const [latencies] = await Promise.all([pacedLoad(new URL(url), read, over), over]);
  const seconds = (performance.now() - began) / 1000;

  const waited = (waitedMillis(pid) - waitedBefore) / (seconds * 10);
  const p99 = quantile(latencies, 0.99);
  const growth = (peak - before) / MIB;
  const before99 = quantile(quiet, 0.99).toFixed(1);
  figures.push(
    `revoked in ${seconds.toFixed(1)} s (${(n / seconds).toFixed(0)}/s)`,
    `${latencies.length} reads meanwhile: p50 ${quantile(latencies, 0.5).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${before99} ms before), slowest ${Math.max(...latencies).toFixed(0)} ms`,
    `server without a processor ${waited.toFixed(0)} % of the time`, // others use the machine
    `memory ${(before / MIB).toFixed(0)} MiB before, ${growth.toFixed(0)} MiB more at most`,
  );
  if (p99 > MAX_P99_MS) wrong.push(`reads took ${p99.toFixed(0)} ms at p99`);
  if (growth > MAX_GROWTH_MIB) wrong.push(`the server grew by ${growth.toFixed(0)} MiB`);
  const revoked = journal.events.filter(({ cause }) => cause === "revoke").length;
  if (revoked !== n) wrong.push(`${revoked} revocations of ${n} leases reached the outside`);
  const undone = journal.events.filter(({ cause }) => cause === "undo").length;
  if (undone > 0) wrong.push(`${undone} objects were undone`);
  await untilForgotten(api);
  return wrong;
}

async function prepare(api: Api): Promise<void> {
  await api.expect([204], "POST", "sys/mounts/kv", { body: { type: "kv" } });
  await api.expect([200], "POST", "kv/data/secret", { body: { data: { password: "p" } } });
  for (let mount = 0; mount < MOUNTS; mount++) {
    await api.expect([204], "POST", `sys/mounts/m${mount}`, { body: { type: "counting" } });
    await api.expect([204], "POST", `m${mount}/roles/probe`, { body: { ttl: 86_400 } });
  }
}

async function rolesUpTo(api: Api, max: number): Promise<void> {
  for (let mount = 0; mount < MOUNTS; mount++) {
    const roles = Array.from({ length: max }, (_, i) => i + 1);
    while (roles.length > 0) {
      await Promise.all(
        roles
          .splice(0, CLIENTS)
          .map((ttl) => api.expect([204], "POST", `m${mount}/roles/of-${ttl}`, { body: { ttl } })),
      );
    }
  }
}

/** Gives how many in a second. */
async function issueAll({ api, url }: FreshServer, n: number, role: () => string): Promise<number> {
  let issued = 0;
  const began = performance.now();
  const client = async () => {
    let connection = await LoadConnection.open(new URL(url));
    try {
      while (issued < n) {
        const path = `m${issued++ % MOUNTS}/creds/${role()}`;
        const request = requestBytes({ url, headers: tokenOf(api) }, "GET", path);
        const { status, closes } = await connection.exchange(request);
        if (status !== 200) throw new Error(`${path} was answered ${status}`);
        if (!closes) continue;
        connection.close();
        connection = await LoadConnection.open(new URL(url));
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return (n * 1000) / (performance.now() - began);
}

/** The objects are gone; their leases are as soon as that is written. */
async function untilForgotten(api: Api): Promise<void> {
  const limit = performance.now() + 10_000;
  for (;;) {
    const { text } = await api.expect([200], "GET", "sys/metrics?format=prometheus");
    const left = Number(/^holdfast_leases(?:\{[^}]*\})? (\d+)$/m.exec(text)?.[1]) - PROBE;
    if (left === 0) return;
    if (performance.now() > limit) throw new Error(`${left} leases are left without an object`);
    await pause(50);
  }
}

/** How long the main thread was ready to run and did not; 0 where the system does not tell. */
function waitedMillis(pid: number): number {
  const path = `/proc/${pid}/schedstat`;
  if (!existsSync(path)) return 0;
  return Number(readFileSync(path, "latin1").split(" ")[1]) / 1e6;
}

function tokenOf({ token }: Api): Record<string, string> {
  return { "X-Service-Token": token ?? "" };
}
