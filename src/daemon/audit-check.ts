// Whether the audit devices of the configuration could be opened here: the server unseals only when one of
// them can, and nobody should learn that at night with the last share in hand. Nothing is made.

import { dirname } from "node:path";
import { readOptions } from "../audit/options.ts";
import { describe } from "../base/failure.ts";
import type { Fs } from "../base/world.ts";
import type { Config } from "../config/config.ts";
import type { Host } from "./host.ts";

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
  const directory = host.realPath(dirname(path));
  const place = fs.info(directory);
  const make = `make it, owned by the user that the server runs as: mkdir -p ${dirname(path)}`;
  if (place === null) return `${path}: the directory ${dirname(path)} does not exist; ${make}`;
  if (place.kind !== "directory") return `${path}: ${dirname(path)} is not a directory`;
  const there = fs.info(path);
  if (there === null) {
    return host.canWrite(directory)
      ? null
      : `${path}: no file can be made in ${dirname(path)} by the user that the server runs as`;
  }
  if (there.kind !== "file") return `${path}: it is not a regular file, and links are not followed`;
  if (!there.ours) return `${path}: the file belongs to another user`;
  return null;
}
