// Clusters as processes for the experiments with replication: as tests start them, and ended when the experiment is.

import { join } from "node:path";
import type { TestContext } from "node:test";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";
import type { ApiTargetOptions } from "../api/api-target.ts";

const TARGET = join(import.meta.dirname, "..", "api", "api-target.ts");

export async function withProcesses<T>(work: (t: TestContext) => Promise<T>): Promise<T> {
  const last: (() => void | Promise<void>)[] = [];
  const t = { after: (call: () => void) => void last.push(call) } as unknown as TestContext;
  try {
    return await work(t);
  } finally {
    for (const call of last.toReversed()) await call();
  }
}

/** The server with a planted bug. */
export function plantedProgram(plant: NonNullable<ApiTargetOptions["plant"]>): readonly string[] {
  const options: ApiTargetOptions = { plant };
  return [process.execPath, "--no-warnings", ...FIND_OWN_MODULES, TARGET, JSON.stringify(options)];
}
