// A file system that snapshots fill up, as small as such a thing can be: they stop while the store has room to go on,
// and when others fill the rest, reads and what revokes go on until there is room again.

import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { discard, scratch } from "../child.ts";
import type { Result } from "../result.ts";
import type { FullDiskTarget } from "./full-disk-target.ts";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";

const MIB = 1024 * 1024;
/** 128 stay free of snapshots. */
const SIZE = 200 * MIB;
/** In a space of its own, so that it is gone with the process. */
const MOUNTED = 'mount -t tmpfs -o "size=$1,mode=700" tmpfs "$2" && shift 2 && exec "$@"';

export async function fullDisk({ planted }: { readonly planted: boolean }): Promise<Result> {
  const directory = scratch("full-disk");
  try {
    const mounting = ["-rm", "sh", "-c", MOUNTED, "sh", String(SIZE), directory];
    const tried = spawnSync("unshare", [...mounting, "true"], { stdio: "ignore" });
    if (tried.status !== 0)
      return { ok: true, figure: "full disk not tried: nothing can be mounted here" };
    const target: FullDiskTarget = { directory, plant: planted };
    const program = join(import.meta.dirname, "full-disk-target.ts");
    const node = [
      process.execPath,
      "--no-warnings",
      ...FIND_OWN_MODULES,
      program,
      JSON.stringify(target),
    ];
    const child = spawn("unshare", [...mounting, ...node], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    if (code === 0) return { ok: true, figure: output.trim() };
    return { ok: false, figure: "full disk: bad", detail: `full disk: ${output}${errors}` };
  } finally {
    discard(directory);
  }
}
