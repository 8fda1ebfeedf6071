// What the figures were measured on.

import { hash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly directory: string;
  readonly fileSystem: string;
  /** Runnable processes over the last minute, before we began: others distort what we measure. */
  readonly loadBefore: number;
}

const CALIBRATIONS = 40;
const CALIBRATE_EVERY = 100; // ms
const QUIET_SHARE = 1.15;
const TMPFS = 0x0102_1994;
const RAMFS = 0x8584_58f6;

export function machineOf(directory: string): Machine {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    directory,
    fileSystem: fileSystemOf(directory),
    loadBefore: loadavg()[0] ?? 0,
  };
}

export function showMachine(machine: Machine): string {
  return [
    `CPU         ${machine.cores} × ${machine.cpu}, ${machine.memoryGiB} GiB of memory`,
    `System      ${machine.system}, Node ${machine.node}`,
    `Directory   ${machine.directory} (${machine.fileSystem})`,
    `Load        ${machine.loadBefore.toFixed(2)} before the first row`,
    "",
  ].join("\n");
}

/** In memory a sync costs nothing, so commits there say nothing about durable ones. */
export function isInMemory(directory: string): boolean {
  const { type } = statfsSync(directory);
  return type === TMPFS || type === RAMFS;
}

/**
 * A fixed piece of hashing, in ms, best of three. On shared machines the processor itself is faster
 * or slower from minute to minute: figures compare only where this one is alike.
 */
export function referenceMillis(): number {
  const block = Buffer.alloc(256, 1);
  const once = () => {
    const began = performance.now();
    for (let i = 0; i < 20_000; i++) hash("sha256", block, "buffer");
    return performance.now() - began;
  };
  return Math.min(once(), once(), once());
}

/**
 * What the same piece of work may take for the machine to count as quiet: a little more than its best,
 * of some seconds now or of an earlier run. Others may be busy for longer than we look.
 */
export async function quietMillis(cache: string): Promise<number> {
  const file = join(cache, "quiet-ms");
  let best = existsSync(file) ? Number(readFileSync(file, "utf8")) || Infinity : Infinity;
  for (let i = 0; i < CALIBRATIONS; i++) {
    best = Math.min(best, referenceMillis());
    await pause(CALIBRATE_EVERY);
  }
  mkdirSync(cache, { recursive: true });
  writeFileSync(file, `${best}\n`);
  return best * QUIET_SHARE;
}

function fileSystemOf(directory: string): string {
  const real = `${realpathSync(directory)}/`;
  const number = `type 0x${statfsSync(directory).type.toString(16)}`;
  if (process.platform !== "linux") return number;
  // Mount point and, after a lone dash, type and device; the longest mount point is ours.
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n").slice(0, -1);
  let found = { at: "", name: number };
  for (const line of mounts) {
    const fields = line.split(" ");
    const at = (fields[4] ?? "").replace(/\/?$/, "/");
    const dash = fields.indexOf("-");
    if (!real.startsWith(at) || at.length < found.at.length) continue;
    found = { at, name: `${fields[dash + 1]} on ${fields[dash + 2]}` };
  }
  return found.name;
}
