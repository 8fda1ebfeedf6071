// Whether the audit devices of the configuration could be opened here: the server unseals only when one of
// them can, and nobody should learn that at night with the last share in hand. Nothing is made.

import { readOptions } from "../../audit/options.ts";
import { describe } from "@holdfast/shared/failure";
import { handOver } from "../../base/forbidden.ts";
import type { Fs } from "@holdfast/shared/world";
import type { Config } from "../../config/config.ts";
import type { Host } from "../host.ts";
import { writingProblem } from "../written-file.ts";

export interface CheckedDevice {
  readonly device: string;
  readonly problem: string | null;
}

export function checkAuditDevices({ audit }: Config, host: Host, fs: Fs): CheckedDevice[] {
  return audit.devices.map(({ path, type, options }) => {
    const device = `audit device ${path}/`;
    try {
      const { target } = readOptions(type, Object.fromEntries(options), audit);
      const file = target.type === "file" ? target.path : null;
      return { device, problem: file === null ? null : fileProblem(file, host, fs) };
    } catch (error) {
      return { device, problem: describe(error) };
    }
  });
}

/** That it lies in no directory of the server's own is checked with the directories. */
function fileProblem(path: string, host: Host, fs: Fs): string | null {
  const problem = writingProblem(path, host, fs);
  if (problem !== null) return problem;
  return fs.info(path)?.ours === false
    ? `${path}: the file belongs to another user; ${handOver(path)}`
    : null;
}
