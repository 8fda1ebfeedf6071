// Properties with random cases, tried many times as often as by `npm test`: those whose tests say how often by
// tests/support/often.ts. Each run draws other cases.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "./result.ts";

const ROOT = join(import.meta.dirname, "..");

export function filesWithProperties(): string[] {
  const found = globSync("{src,shared,engines,sim,tests}/**/*.test.ts", { cwd: ROOT });
  return found
    .filter((file) => /\/often\.ts"/.test(readFileSync(join(ROOT, file), "utf8")))
    .toSorted();
}

export async function properties({ times }: { readonly times: number }): Promise<Result> {
  const files = filesWithProperties();
  const child = spawn(process.execPath, [join(ROOT, "scripts", "test.ts"), ...files], {
    stdio: "inherit",
    env: { ...process.env, PROPERTY_TIMES: String(times) },
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { ok: code === 0, figure: `${files.length} files, ${times} times as often` };
}
