// Programs of the bench in processes of their own: same runtime, one JSON argument in, one message
// out. What they print goes to standard error.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const LONGEST_MS = 20 * 60_000;

export interface ProcessOptions {
  /** Laid over our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Options of the runtime, besides our own. */
  readonly runtime?: readonly string[];
}

/** Runs `bench/<program>` to its end. Throws when it ends without an answer, or after 20 minutes. */
export async function ask<Answer>(
  program: string,
  input: object,
  options: ProcessOptions = {},
): Promise<Answer> {
  const path = join(import.meta.dirname, program);
  const runtime = [...process.execArgv, ...(options.runtime ?? [])];
  const child = spawn(process.execPath, [...runtime, path, JSON.stringify(input)], {
    stdio: ["ignore", 2, 2, "ipc"],
    env: { ...process.env, ...options.env },
    timeout: LONGEST_MS,
    killSignal: "SIGKILL",
  });
  let answer: unknown;
  child.on("message", (message) => (answer = message));
  // Messages may still be on their way when the process has ended; none is after "disconnect".
  const [[code, signal]] = await Promise.all([once(child, "exit"), once(child, "disconnect")]);
  if (code !== 0 || answer === undefined) {
    throw new Error(`${program} ended without an answer (${signal ?? `status ${code}`})`);
  }
  return answer as Answer; // made by `answer()` of a program in this folder
}

/** In the program: runs the work, sends what it returns, ends. It ends early with its parent. */
export async function answer<Input>(work: (input: Input) => Promise<object>): Promise<void> {
  process.once("disconnect", () => process.exit(1));
  const result = await work(JSON.parse(process.argv[2] ?? "{}") as Input);
  process.send?.(result, () => {
    process.removeAllListeners("disconnect");
    process.exit(0);
  });
}
