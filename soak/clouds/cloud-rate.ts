// A provider that takes a few calls in a second and no more, while a thousand leases of users there are to
// be revoked: all of them are, none is given up, and the leases of another mount do not wait for them.

import { join } from "node:path";
import { quantile } from "../../bench/measure.ts";
import { at } from "../../tests/support/http-client.ts";
import { imbalance } from "./cloud-accounts.ts";
import { CloudSite, USER_ROLE } from "./cloud-site.ts";
import { leasesBeside, MAX_BESIDE_MS } from "./cloud-throttle.ts";
import { discard, scratch } from "../child.ts";
import { type Result, resultOf } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface CloudRateOptions {
  readonly n: number;
  /** Calls over the rate are refused for good, so that leases are given up. */
  readonly plant?: "refusing";
  readonly say: (line: string) => void;
}

const CLIENTS = 8;
const PATH = `clouda/creds/${USER_ROLE}`;
const PER_SECOND = 20; // what a mount must be able to give
const CALLS_EACH = 20; // more than it takes to remove a user
const MIN_MS = 5 * 60_000; // and what is waited for after a refusal
const PLANTED_MS = 20_000;
const SAYS_EVERY_MS = 60_000;

export async function cloudRate(options: CloudRateOptions): Promise<Result> {
  const directory = scratch("cloud-rate-outside");
  const figures = [`${options.n} leases`];
  const wrong: string[] = [];
  let site: CloudSite | null = null;
  try {
    const counting = { journal: join(directory, "outside") };
    site = await CloudSite.open("cloud-rate", { counting });
    wrong.push(...(await revokeAll(options, site, figures)));
  } catch (error) {
    wrong.push(`${errorText(error)}\n${site?.lastLog ?? ""}`);
  } finally {
    await site?.close();
    discard(directory);
  }
  return resultOf(figures.join(", "), wrong);
}

async function revokeAll(
  { n, plant, say }: CloudRateOptions,
  site: CloudSite,
  figures: string[],
): Promise<string[]> {
  const { api } = site;
  const { control } = site.a;
  await api.expect([204], "POST", "sys/mounts/beside", { body: { type: "counting" } });
  await api.expect([204], "POST", "beside/roles/r", { body: { ttl: 86_400 } });
  await issueAll(site, n);
  say(`${n} leases are issued; from now on the provider takes ${PER_SECOND} calls in a second`);
  control.forgetCalls();
  if (plant === undefined) control.throttle({ perSecond: PER_SECOND });
  else
    control.fault({ kind: "error", action: "*", times: null, status: 403, code: "AccessDenied" });
  const began = performance.now();
  const body = { sync: false };
  await api.expect([202], "POST", "sys/leases/revoke-prefix/clouda", { body });
  const done = new AbortController();
  const beside = leasesBeside(site, done.signal);
  let next = SAYS_EVERY_MS;
  const left = async () => {
    const count = (await site.leases(PATH)).length;
    if (performance.now() - began > next) {
      next += SAYS_EVERY_MS;
      say(`${count} are left`);
    }
    return count === 0 ? null : `${count} of ${n} leases are left`;
  };
  const longest = MIN_MS + (n * CALLS_EACH * 1000) / PER_SECOND;
  try {
    await site.until(left, plant === undefined ? longest : PLANTED_MS);
  } finally {
    done.abort();
    await beside.catch(() => {}); // also where the rest fails: no request may outlive the server
  }
  const seconds = (performance.now() - began) / 1000;
  const taken = await beside;
  const calls = control.calls();
  const granted = calls.filter(({ outcome }) => outcome !== "Throttling").length;
  const slowest = Math.max(...taken);
  figures.push(
    `revoked in ${seconds.toFixed(0)} s by ${granted} calls (${(granted / seconds).toFixed(1)}/s) and ${calls.length - granted} throttled ones`,
    `beside: ${taken.length} leases, p50 ${quantile(taken, 0.5).toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms`,
  );
  const wrong: string[] = [];
  if (slowest > MAX_BESIDE_MS) wrong.push(`another mount's lease took ${slowest.toFixed(0)} ms`);
  const stuck = await api.expect([200], "GET", "sys/leases?type=irrevocable");
  const stuckCount = Number(at(stuck, "data", "lease_count"));
  if (stuckCount !== 0) wrong.push(`${stuckCount} leases were given up`);
  control.calm();
  const unbalanced = await imbalance(site);
  if (unbalanced !== null) wrong.push(unbalanced);
  return wrong;
}

async function issueAll(site: CloudSite, n: number): Promise<void> {
  let issued = 0;
  const client = async () => {
    while (issued++ < n) await site.api.expect([200], "GET", PATH);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
