// Snapshots made by a configuration, saved, and sent to a cloud, on a disk that fails, is cut off or fills up, by a
// process that may be killed at every step.

import { type Result, resultOf } from "../result.ts";
import { fullDisk } from "./full-disk.ts";
import { localRuns } from "./local-runs.ts";
import { uploads } from "./uploads.ts";

export interface SnapshotsOptions {
  /** Of power cuts. */
  readonly images: number;
  /** Every n-th call only is the last before a kill, or fails. Default 1: all of them. */
  readonly stride?: number;
  readonly seed: number;
  /** Each part with a bug of its own, which it must find. */
  readonly plant?: "one-each";
  readonly say: (line: string) => void;
}

export async function snapshots(options: SnapshotsOptions): Promise<Result> {
  const { images, stride = 1, seed, say } = options;
  const planted = options.plant !== undefined;
  const results = [
    await fullDisk({ planted }),
    // A moment of an upload costs as much as ten of the others.
    await uploads({ stride: Math.ceil(stride / 10), seed, planted, say }),
    await localRuns({ images, stride, seed, planted, say }),
  ];
  const figure = results.map((result) => result.figure).join("; ");
  if (!planted)
    return resultOf(
      figure,
      results.flatMap(({ detail }) => detail ?? []),
    );
  const missed = results.filter(({ ok }) => ok).map((result) => `not caught: ${result.figure}`);
  return missed.length > 0
    ? { ok: true, figure, detail: missed.join("\n") }
    : { ok: false, figure, detail: "each part has caught its bug" };
}
