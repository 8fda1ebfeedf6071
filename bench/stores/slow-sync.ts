// Reads while the disk is slow to sync: the writer waits in its own thread, so a get must not.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { shimEnv } from "../../soak/disk/shim.ts";
import { ask } from "../processes.ts";
import { type Context, type Figures, NotMeasured, type Row } from "../row.ts";
import type { SlowSyncInput, SlowSyncFigures } from "./slow-sync-process.ts";
import { errorText } from "../../tests/support/error-text.ts";

const SYNC_MICROS = 5000;
const WRITERS = 64;

/** The environment in which syncs of that directory take 5 ms. */
function slowDisk(directory: string): Record<string, string> {
  try {
    return shimEnv({ directory, syncDelayMicros: SYNC_MICROS });
  } catch (error) {
    const compiler = spawnSync("cc", ["--version"]).error === undefined;
    if (process.platform === "linux" && compiler) throw error;
    throw new NotMeasured(errorText(error), { cause: error });
  }
}

async function measure(context: Context): Promise<Figures> {
  const inputFor = (name: string): SlowSyncInput => {
    const directory = join(context.directory, name);
    mkdirSync(directory, { mode: 0o700 });
    const size = context.quick
      ? { entries: 200, millis: 50, rounds: 1 }
      : { entries: 10_000, millis: 1500, rounds: 5 };
    return { directory, writers: WRITERS, ...size };
  };
  const slowInput = inputFor("slow");
  const env = slowDisk(slowInput.directory);
  const slow = await ask<SlowSyncFigures>("stores/slow-sync-process.ts", slowInput, { env });
  const fast = await ask<SlowSyncFigures>("stores/slow-sync-process.ts", inputFor("fast"));
  const figure = (what: string, unit: string, samples: readonly number[]) => {
    return { what, unit, samples };
  };
  return {
    samples: slow.busy.callP99,
    also: [
      figure("longest get", "µs", slow.busy.maxCall),
      figure("get p99 without writers", "µs", slow.quiet.callP99),
      figure("turn and get p99, slow syncs, 64 writers", "µs", slow.busy.answerP99),
      figure("turn and get p99, usual syncs, 64 writers", "µs", fast.busy.answerP99),
      figure("turn and get p99, without writers", "µs", slow.quiet.answerP99),
      figure("commits meanwhile", "/s", slow.commitsPerSecond),
    ],
  };
}

export const slowSyncRows: readonly Row[] = [
  {
    name: "slow-sync/get",
    what: "get p99 while syncs take 5 ms and 64 write",
    unit: "µs",
    budget: { atMost: 1000 },
    run: measure,
  },
];
