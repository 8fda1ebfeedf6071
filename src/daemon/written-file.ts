// Whether a file that the configuration names could be written here. Nothing is made.

import { dirname } from "node:path";
import { handOver } from "../base/forbidden.ts";
import type { Fs } from "@holdfast/shared/world";
import type { Host } from "./host.ts";

/** Null when it can be. What may not even be looked at throws, and says why. */
export function writingProblem(path: string, host: Host, fs: Fs): string | null {
  const named = dirname(path);
  const directory = host.realPath(named);
  const place = fs.info(directory);
  const make = `make it, owned by the user that the server runs as: mkdir -p ${named}`;
  if (place === null) return `${path}: the directory ${named} does not exist; ${make}`;
  if (place.kind !== "directory") return `${path}: ${named} is not a directory`;
  const there = fs.info(path);
  if (there === null) {
    if (host.canWrite(directory)) return null;
    return `${path}: no file can be made in ${named} by the user that the server runs as; ${handOver(named)}`;
  }
  if (there.kind !== "file") return `${path}: it is not a regular file, and links are not followed`;
  if (host.canWrite(path)) return null;
  return `${path}: the user that the server runs as may not write to it; ${handOver(path)}`;
}
