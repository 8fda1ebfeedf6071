// Reads back the files of one device, the rotated ones first, and follows their chain. In slices: a
// trail may have gigabytes, and requests go on meanwhile.

import { dirname, join } from "node:path";
import { concat, text } from "@holdfast/shared/bytes";
import type { AppendFiles, Timers } from "@holdfast/shared/world";
import type { ChainHead } from "../signed/audit-line.ts";
import type { Device } from "./device.ts";
import { rotatedFiles } from "./devices/rotated-files.ts";
import { notChained } from "./failures.ts";
import { ChainVerifier, type Verdict } from "./records/verify.ts";

const SLICE = 256 * 1024; // bytes: some 300 records, one or two milliseconds
const NEWLINE = 0x0a;
const TRIES = 3; // when files are rotated while they are read

export interface TrailVerdict extends Verdict {
  readonly files: readonly string[];
  /** The file that has the problem. */
  readonly file: string | null;
}

export async function verifyTrail(
  device: Device,
  files: AppendFiles,
  timers: Timers,
): Promise<TrailVerdict> {
  const { file } = device;
  if (file === null) throw notChained(device.record.path);
  const directory = dirname(file.path);
  const list = async () => rotatedFiles(file.path, await files.names(directory));
  for (let left = TRIES; ; left--) {
    const rotated = await list();
    const upTo = file.source.head;
    const paths = [...rotated.map((name) => join(directory, name)), file.path];
    const verdict = await verifyFiles(paths, device, upTo, files, timers);
    if (left <= 1 || (await list()).length === rotated.length) return verdict;
  }
}

async function verifyFiles(
  paths: readonly string[],
  device: Device,
  upTo: ChainHead | null,
  files: AppendFiles,
  timers: Timers,
): Promise<TrailVerdict> {
  const verifier = new ChainVerifier(device.chainHmac, { upTo });
  for (const path of paths) {
    await readLines(path, files, timers, (line) => verifier.take(line));
    if (path !== paths.at(-1) && !verifier.endFile()) break;
  }
  const verdict = verifier.end();
  const file = verdict.problem === null ? null : (paths[verifier.problemFile] ?? null);
  return { ...verdict, files: paths, file };
}

/** Up to the size that the file has now. A last line without its end is being written. */
async function readLines(
  path: string,
  files: AppendFiles,
  timers: Timers,
  take: (line: string) => boolean,
): Promise<void> {
  const file = await files.look(path);
  if (file === null) return;
  try {
    let rest: Uint8Array = new Uint8Array(0);
    for (let at = 0; at < file.size; at += SLICE) {
      const slice = await file.read(at, Math.min(SLICE, file.size - at));
      const bytes = rest.length === 0 ? slice : concat(rest, slice);
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        if (!take(text(bytes.subarray(start, end)))) return;
        start = end + 1;
      }
      rest = bytes.subarray(start);
      await timers.turn();
    }
  } finally {
    await file.close();
  }
}
