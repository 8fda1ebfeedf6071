// `npm run soak -- ci`: every experiment in a short form, each also with its planted bug. Each run is a process
// of its own, and two go side by side, since they wait for disks and for clocks half of the time. Those that
// measure how long others wait come after that, alone.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

type Options = readonly string[];

interface Short {
  readonly green: Options;
  /** With the planted bug. */
  readonly red?: Options;
  /** Measures time, so nothing runs beside it. */
  readonly alone?: true;
}

/** The longest first, so that no lane ends long after the others. */
const SHORT: Readonly<Record<string, Short>> = {
  "cloud-crash": { green: ["--stride", "12"], red: ["--only", "issue"] },
  fsyncfail: { green: ["--stride", "19"], red: ["--stride", "12"] },
  powerloss: { green: ["--images", "150"], red: ["--images", "60"] },
  kill9: { green: ["--cycles", "25"], red: ["--cycles", "40"] },
  bitflip: { green: ["--images", "120"], red: ["--images", "120"] },
  "cloud-throttle": { green: ["--n", "8"], red: ["--n", "4"] },
  "cloud-rate": { green: ["--n", "24"], red: ["--n", "8"] },
  "engine-kill9": { green: ["--rounds", "10"], red: ["--rounds", "12"] },
  "api-kill9": { green: ["--cycles", "10"], red: ["--cycles", "8"] },
  "static-catchup": { green: ["--n", "20"], red: ["--n", "6"] },
  "api-powerloss": { green: ["--images", "12"], red: ["--images", "20"] },
  "one-time": { green: ["--rounds", "20", "--cycles", "4"], red: ["--cycles", "4"] },
  unwraps: { green: ["--rounds", "20"], red: ["--rounds", "3"] },
  fuzz: { green: ["--count", "40000"] },
  waiters: { green: ["--n", "1000"], red: ["--n", "100"], alone: true },
  hostile: { green: ["--quick"], red: ["--quick"], alone: true },
  slow: { green: ["--quick"], red: ["--quick"], alone: true },
  "login-flood": {
    green: ["--n", "200", "--rounds", "5"],
    red: ["--n", "200", "--rounds", "5"],
    alone: true,
  },
};

const LANES = 2;

export async function shortRuns(seed: number): Promise<boolean> {
  const runs = Object.entries(SHORT).flatMap(([name, { green, red, alone = false }]) => [
    { alone, options: [name, ...green] },
    ...(red === undefined ? [] : [{ alone, options: [name, ...red, "--plant"] }]),
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
  const child = spawn(process.execPath, [program, ...options, ...seeded], {
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
  "unwraps",
  "slow",
  "login-flood",
]);
