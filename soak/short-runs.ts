// `npm run soak -- ci`: every experiment in a short form. Each run is a process of its own, and three go side by
// side on two cores, since they wait for disks and for clocks half of the time. Those that measure how long others
// wait come after that, alone.
//
// Each form is also run with its planted bug: here, half of them in each run, by its seed; or by the test beside the
// experiment, which then does just that and looks at what was said of it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { FIND_OWN_MODULES } from "../scripts/quick-start.ts";

type Options = readonly string[];

interface Short {
  readonly green: Options;
  /** With the planted bug; "tested": NAME.process.test.ts does it. Left out where there is none. */
  readonly red?: Options | "tested";
  /** Measures time, so nothing runs beside it. What a planted bug costs is seen beside others too. */
  readonly alone?: true;
}

/** The longest first, so that no lane ends long after the others. */
export const SHORT: Readonly<Record<string, Short>> = {
  "cloud-crash": { green: ["--stride", "97"], red: "tested" },
  snapshots: {
    green: ["--images", "2", "--stride", "797"],
    red: ["--images", "20"],
  },
  exchange: {
    green: ["--images", "2", "--stride", "997"],
    red: ["--images", "40"],
  },
  "api-kill9": { green: ["--cycles", "4"], red: "tested" },
  "set-failover": {
    green: ["--rounds", "2", "--clients", "8"],
    red: ["--rounds", "2", "--clients", "8"],
  },
  failover: {
    green: ["--rounds", "2", "--clients", "8"],
    red: ["--rounds", "1", "--clients", "8"],
  },
  "database-crash": { green: ["--stride", "5"], red: "tested" },
  "region-credentials": { green: ["--n", "4"], red: ["--n", "3"] },
  // Waits for leases nearly all of the time, and knows what holds up its process.
  "region-clocks": { green: ["--n", "5", "--rounds", "50"], red: ["--n", "3", "--rounds", "5"] },
  "on-secondary": {
    green: ["--only", "acl-policies,acl-tokens-update,kv-data,kv-places,leases-api"],
    red: "tested",
  },
  "filter-changes": { green: ["--n", "15"], red: ["--n", "400"] },
  fsyncfail: { green: ["--stride", "61"], red: ["--stride", "12"] },
  powerloss: { green: ["--images", "25"], red: ["--images", "60"] },
  kill9: { green: ["--cycles", "8"], red: "tested" },
  "cloud-throttle": { green: ["--n", "8"], red: ["--n", "4"] },
  "cloud-rate": { green: ["--n", "24"], red: ["--n", "8"] },
  bitflip: { green: ["--images", "30"], red: "tested" },
  "engine-kill9": { green: ["--rounds", "7"], red: "tested" },
  "plugin-kill9": { green: ["--rounds", "5"], red: ["--rounds", "12"] },
  "static-catchup": { green: ["--n", "20"], red: "tested" },
  "api-powerloss": { green: ["--images", "8"], red: ["--images", "20"] },
  "one-time": { green: ["--rounds", "10", "--cycles", "3"], red: "tested" },
  plugins: {
    green: ["--n", "1", "--only", "swaps,leftovers,floods"],
    red: ["--n", "2", "--only", "swaps,leftovers,starts,mounts"],
  },
  unwraps: { green: ["--rounds", "20"], red: "tested" },
  // One seed: what another one finds is found by the long form, and mended there.
  fuzz: { green: ["--count", "10000", "--seed", "818135077"] },
  waiters: { green: ["--n", "1000"], red: "tested", alone: true },
  hostile: { green: ["--quick"], red: ["--quick"], alone: true },
  slow: { green: ["--quick"], red: ["--quick"], alone: true },
  "cluster-port": { green: ["--n", "3000"], red: ["--n", "1000"], alone: true },
  "replication-port": { green: ["--n", "2000"], alone: true },
  regions: { green: ["--rounds", "1", "--n", "6"], red: "tested", alone: true },
  "login-flood": {
    green: ["--n", "200", "--rounds", "5"],
    red: ["--n", "200", "--rounds", "5"],
    alone: true,
  },
};

const LANES = 3;

export async function shortRuns(seed: number): Promise<boolean> {
  const runs = Object.entries(SHORT).flatMap(([name, { green, red, alone = false }], i) => [
    { alone, options: [name, ...green] },
    ...(red === undefined || red === "tested" || (seed + i) % 2 === 0
      ? []
      : [{ alone: false, options: [name, ...red, "--plant"] }]),
  ]);
  const results: boolean[] = [];
  const lane = async (waiting: typeof runs) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      results.push(await run(next.options, seed));
    }
  };
  const together = runs.filter(({ alone }) => !alone);
  await Promise.all(Array.from({ length: LANES }, () => lane(together)));
  await lane(runs.filter(({ alone }) => alone));
  return results.every(Boolean);
}

/** Its text is shown when it has ended: two at once would write into each other's lines. */
async function run(options: Options, seed: number): Promise<boolean> {
  const seeded = UNSEEDED.has(options[0] ?? "") ? [] : ["--seed", String(seed)];
  const program = join(import.meta.dirname, "run.ts");
  const child = spawn(process.execPath, [...FIND_OWN_MODULES, program, ...options, ...seeded], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (piece: Buffer) => output.push(piece));
  }
  const [code] = (await once(child, "close")) as [number | null];
  for (const piece of output) process.stdout.write(piece);
  return code === 0;
}

/** Those that draw nothing. */
const UNSEEDED = new Set([
  "fsyncfail",
  "cloud-crash",
  "cloud-throttle",
  "cloud-rate",
  "database-crash",
  "plugins",
  "unwraps",
  "slow",
  "login-flood",
  "cluster-port",
  "replication-port",
  "on-secondary",
  "regions",
  "region-clocks",
]);
