// Providers that throttle every other call while hundreds of leases are to be revoked: all of them are,
// none is given up, and the leases of another mount are revoked as if nothing were the matter.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { quantile } from "../../bench/measure.ts";
import { at } from "../../tests/support/http-client.ts";
import { imbalance } from "./cloud-accounts.ts";
import { APP_ROLE, CloudSite, USER_ROLE } from "./cloud-site.ts";
import { discard, scratch } from "../child.ts";
import { type Result, resultOf } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface CloudThrottleOptions {
  readonly n: number;
  /** Throttling is answered as a refusal of another kind, so that leases are given up. */
  readonly plant?: "refusing";
  readonly say: (line: string) => void;
}

const CLIENTS = 8;
const PATHS = [`clouda/creds/${USER_ROLE}`, `cloudb/creds/${APP_ROLE}`];
const RETRY_AFTER_S = 1;
const LONGEST_MS = 60 * 60_000; // with one at a time, as it comes to when half is throttled
const PLANTED_MS = 20_000;
export const MAX_BESIDE_MS = 5000; // whoever stands beside a throttled mount is still answered
const PACE_MS = 250;

export async function cloudThrottle(options: CloudThrottleOptions): Promise<Result> {
  const directory = scratch("cloud-throttle-outside");
  const figures = [`${options.n} leases`];
  const wrong: string[] = [];
  let site: CloudSite | null = null;
  try {
    const counting = { journal: join(directory, "outside") };
    site = await CloudSite.open("cloud-throttle", { counting });
    wrong.push(...(await storm(options, site, figures)));
  } catch (error) {
    wrong.push(`${errorText(error)}\n${site?.lastLog ?? ""}`);
  } finally {
    await site?.close();
    discard(directory);
  }
  return resultOf(figures.join(", "), wrong);
}

async function storm(
  { n, plant, say }: CloudThrottleOptions,
  site: CloudSite,
  figures: string[],
): Promise<string[]> {
  const { api } = site;
  await api.expect([204], "POST", "sys/mounts/beside", { body: { type: "counting" } });
  await api.expect([204], "POST", "beside/roles/r", { body: { ttl: 86_400 } });
  await issueAll(site, n);
  say(`${n} leases are issued; from now on every other call is throttled`);
  throttle(site, plant === undefined);
  const before = { a: site.a.control.calls().length, b: site.b.control.calls().length };
  const began = performance.now();
  for (const mount of ["clouda", "cloudb"]) {
    await api.expect([202], "POST", `sys/leases/revoke-prefix/${mount}`, { body: { sync: false } });
  }
  const done = new AbortController();
  const beside = leasesBeside(site, done.signal);
  const left = async () => {
    let count = 0;
    for (const path of PATHS) count += (await site.leases(path)).length;
    return count === 0 ? null : `${count} of ${n} leases are left`;
  };
  try {
    await site.until(left, plant === undefined ? LONGEST_MS : PLANTED_MS);
  } finally {
    done.abort();
    await beside.catch(() => {}); // also where the rest fails: no request may outlive the server
  }
  const seconds = (performance.now() - began) / 1000;
  const taken = await beside;
  const calls = site.a.control.calls().slice(before.a);
  const throttled =
    calls.filter(({ outcome }) => outcome === "Throttling").length +
    site.b.control
      .calls()
      .slice(before.b)
      .filter(({ status }) => status === 429).length;
  const total = calls.length + site.b.control.calls().length - before.b;
  figures.push(
    `revoked in ${seconds.toFixed(0)} s by ${total} calls, ${throttled} of them throttled`,
    `beside: ${taken.length} leases, p50 ${quantile(taken, 0.5).toFixed(0)} ms, slowest ${Math.max(...taken).toFixed(0)} ms`,
  );
  const wrong: string[] = [];
  const slowest = Math.max(...taken);
  if (slowest > MAX_BESIDE_MS) wrong.push(`another mount's lease took ${slowest.toFixed(0)} ms`);
  const stuck = await api.expect([200], "GET", "sys/leases?type=irrevocable");
  const count = Number(at(stuck, "data", "lease_count"));
  if (count !== 0) wrong.push(`${count} leases were given up`);
  site.a.control.calm();
  site.b.control.clearFaults();
  const unbalanced = await imbalance(site);
  if (unbalanced !== null) wrong.push(unbalanced);
  return wrong;
}

async function issueAll(site: CloudSite, n: number): Promise<void> {
  let issued = 0;
  const client = async () => {
    while (issued < n) {
      await site.api.expect([200], "GET", PATHS[issued++ % PATHS.length] ?? "");
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

function throttle({ a, b }: CloudSite, honest: boolean): void {
  if (honest) {
    a.control.throttle({ fraction: 0.5, retryAfter: RETRY_AFTER_S });
    const effect = { kind: "throttle" as const, retryAfter: RETRY_AFTER_S };
    // Together a little more than half, and never the same call of every attempt.
    for (const every of [3, 5, 7]) b.control.fault({ action: "*", every, times: 0, effect });
    return;
  }
  const refusal = { status: 403, code: "AccessDenied" };
  a.control.fault({ kind: "error", action: "*", times: null, ...refusal });
  b.control.fault({ action: "*", times: 0, effect: { kind: "refuse", ...refusal } });
}

/** Milliseconds from the request to the end of each lease of the other mount, one after the other. */
export async function leasesBeside({ api }: CloudSite, done: AbortSignal): Promise<number[]> {
  const taken: number[] = [];
  while (!done.aborted) {
    const began = performance.now();
    const lease_id = at(await api.expect([200], "GET", "beside/creds/r"), "lease_id");
    const body = { lease_id, sync: true };
    await api.expect([204], "POST", "sys/leases/revoke", { body });
    taken.push(performance.now() - began);
    await pause(PACE_MS);
  }
  return taken;
}
