// What another process uses: processor time and memory, as the system counts them.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const TICK_MICROS = 10_000; // USER_HZ is 100 on every Linux that Node runs on

/** Of all threads since the start, in steps of 10 ms; null where the system does not tell. */
export function processorMicrosOf(pid: number): number | null {
  if (process.platform !== "linux") return null;
  // The second field is the program's name in brackets and may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return (user + system) * TICK_MICROS;
}

export function residentBytesOf(pid: number): number {
  const text =
    process.platform === "linux"
      ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]
      : spawnSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "latin1" }).stdout.trim();
  const kib = Number(text);
  if (!(kib > 0)) throw new Error(`the system does not tell the memory of process ${pid}`);
  return kib * 1024;
}
