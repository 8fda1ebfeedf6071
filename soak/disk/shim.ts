// The preload library as the harness sees it: builds it on demand, makes the environment of a child
// that runs under it, and reads back what it counted and fired. What it writes as a trace is
// trace.ts; what each variable means is at the top of shim/shim.c.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

export type FaultKind = "sync" | "write" | "truncate" | "rename" | "open" | "unlink";
export type FaultOutcome = "EIO" | "ENOSPC" | "EDQUOT" | "short";

export interface Fault {
  readonly kind: FaultKind;
  /** 1 = the first call of this kind that the process makes in the directory. */
  readonly nth: number;
  /** `short` (writes only): half of the bytes are written, the next write fails with ENOSPC. */
  readonly outcome: FaultOutcome;
  /** Later calls of this kind fail too. Default false. */
  readonly sticky?: boolean;
}

export interface ShimOptions {
  /** The watched directory; it must exist. Everything outside it passes untouched. */
  readonly directory: string;
  /** Trace every change to this file, appending. Default: no trace. */
  readonly trace?: string;
  readonly fail?: Fault;
  /** A line for each fault that happened: see `readFired`. Default: none kept. */
  readonly fired?: string;
  /** How often each kind was called: see `readCounts`. Default: not kept. */
  readonly count?: string;
  /** Default 0. The delay holds up only the thread that syncs. */
  readonly syncDelayMicros?: number;
}

export interface Fired {
  /** Wall time in milliseconds since 1970: to compare with when the child stopped. */
  readonly at: number;
  readonly kind: FaultKind;
  readonly nth: number;
  readonly outcome: FaultOutcome;
  readonly call: string;
  readonly path: string;
}

export const FAULT_KINDS = [
  "sync",
  "write",
  "truncate",
  "rename",
  "open",
  "unlink",
] as const satisfies readonly FaultKind[];

/** The status a child ends with when the shim itself gives up; standard error says why. */
export const SHIM_GAVE_UP = 97;

const SOURCES = ["shim.h", "shim.c", "calls.c"];

/** The path of the built library; compiles it when its source has changed since. */
export function buildShim(): string {
  if (process.platform !== "linux") {
    throw new Error(`the preload library needs Linux and glibc, this is ${process.platform}`);
  }
  const folder = join(import.meta.dirname, "..", "shim");
  const hash = createHash("sha256");
  for (const name of SOURCES) hash.update(readFileSync(join(folder, name)));
  const cache = join(import.meta.dirname, "..", "..", ".cache");
  const library = join(cache, `shim-${hash.digest("hex").slice(0, 16)}.so`);
  if (existsSync(library)) return library;

  mkdirSync(cache, { recursive: true });
  const unfinished = `${library}.${process.pid}`; // two runs may build at once; the rename decides
  const sources = SOURCES.filter((name) => name.endsWith(".c")).map((name) => join(folder, name));
  const flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror"];
  try {
    execFileSync("cc", [...flags, "-o", unfinished, ...sources], { stdio: "pipe" });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      const hint = "install gcc: apt-get install gcc libc6-dev";
      throw new Error(`the preload library needs a C compiler (${hint})`, { cause: error });
    }
    throw new Error("the preload library does not compile", { cause: error });
  }
  renameSync(unfinished, library);
  return library;
}

/** Variables to lay over the environment of a child: `{ ...process.env, ...shimEnv({ … }) }`. */
export function shimEnv(options: ShimOptions): Record<string, string> {
  const directory = realpathSync(options.directory); // the shim compares by the letter
  const output = (path: string): string => {
    const real = join(realpathSync(dirname(resolve(path))), resolve(path).split(sep).at(-1) ?? "");
    if (`${real}${sep}`.startsWith(`${directory}${sep}`)) {
      throw new Error(`${path} must lie outside the watched directory ${directory}`);
    }
    return real;
  };
  const env: Record<string, string> = {
    LD_PRELOAD: [buildShim(), process.env["LD_PRELOAD"] ?? ""].filter(Boolean).join(" "),
    HF_SHIM_DIR: directory,
    // File operations that libuv hands to io_uring never pass through libc.
    UV_USE_IO_URING: "0",
  };
  if (options.trace !== undefined) env["HF_SHIM_TRACE"] = output(options.trace);
  if (options.fired !== undefined) env["HF_SHIM_FIRED"] = output(options.fired);
  if (options.count !== undefined) env["HF_SHIM_COUNT"] = output(options.count);
  if (options.syncDelayMicros !== undefined) {
    env["HF_SHIM_SYNC_DELAY_US"] = String(options.syncDelayMicros);
  }
  if (options.fail !== undefined) {
    const { kind, nth, outcome, sticky = false } = options.fail;
    env["HF_SHIM_FAIL"] = `${kind}:${nth}:${outcome}`;
    if (sticky) env["HF_SHIM_FAIL_STICKY"] = "1";
  }
  return env;
}

/** How many calls of each kind the child made: the range of `nth`. All 0 when it made none. */
export function readCounts(file: string): Record<FaultKind, number> {
  const counts = { sync: 0, write: 0, truncate: 0, rename: 0, open: 0, unlink: 0 };
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (text === "") return counts;
  const parsed: unknown = JSON.parse(text);
  for (const kind of FAULT_KINDS) {
    const value = Object.getOwnPropertyDescriptor(Object(parsed), kind)?.value;
    if (typeof value !== "number") throw new Error(`${file} has no count of ${kind}`);
    counts[kind] = value;
  }
  return counts;
}

/** The faults that happened, in order. A sticky one is listed once, a short write twice. */
export function readFired(file: string): Fired[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const match = /^(\d+) ([a-z]+) (\d+) (EIO|ENOSPC|EDQUOT|short) ([a-z]+) (.*)$/.exec(line);
    const kind = FAULT_KINDS.find((known) => known === match?.[2]);
    const outcome = OUTCOMES.find((known) => known === match?.[4]);
    if (match === null || kind === undefined || outcome === undefined) {
      throw new Error(`not a line of fired faults: ${line}`);
    }
    const [, at, , nth, , call = "", path = ""] = match;
    return { at: Number(at), kind, nth: Number(nth), outcome, call, path };
  });
}

const OUTCOMES = ["EIO", "ENOSPC", "EDQUOT", "short"] as const satisfies readonly FaultOutcome[];
