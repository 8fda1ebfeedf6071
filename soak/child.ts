// Starting the target process and hearing what it says, line by line.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, existsSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TargetOptions } from "./target.ts";
import { FIND_OWN_MODULES } from "../scripts/quick-start.ts";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly errors: string;
  /** Wall time of the end, in ms since 1970. */
  readonly at: number;
}

export interface Target {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

export function startTarget(
  options: TargetOptions,
  onLine: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Target {
  const program = new URL("./target.ts", import.meta.url).pathname;
  const child = spawn(
    process.execPath,
    ["--no-warnings", ...FIND_OWN_MODULES, program, JSON.stringify(options)],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    },
  );
  let rest = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (errors.length < 64 * 1024) errors += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    // "close" comes after the last byte of the pipes: no acknowledgement is missed.
    child.on("close", (code, signal) => resolve({ code, signal, errors, at: Date.now() }));
  });
  return { process: child, ended };
}

/** A fresh directory, removed by the caller. `fast` prefers memory: for images, not for syncs. */
export function scratch(name: string, fast = false): string {
  const base = fast && roomIn("/dev/shm") ? "/dev/shm" : tmpdir();
  return mkdtempSync(join(base, `holdfast-${name}-`));
}

export function discard(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

function roomIn(path: string): boolean {
  if (!existsSync(path)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize > 1024 ** 3;
}
