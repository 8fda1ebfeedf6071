// The directories of a server on this host: apart from each other once links are resolved, ours, and
// closed to others. Checked at every start: a link can be laid while the server is down.

import { dirname } from "node:path";
import { describe } from "@holdfast/shared/failure";
import { handOver } from "../base/forbidden.ts";
import type { FileInfo, Fs } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";
import { type Area, areasOf, overlaps, PLUGINS, writtenFiles } from "../config/directories.ts";
import type { Host } from "./host.ts";

const OTHERS_WRITE = 0o022;

/** What is wrong, in words, also with making what is not there yet. */
export function directoryProblems(config: Config, host: Host, fs: Fs): string[] {
  const { data, store } = config.directories;
  const making = [data, ...(store === null ? [] : [store])].flatMap(
    (path) => makingProblem(path, host, fs) ?? [],
  );
  return [...new Set([...placeProblems(config, host, fs), ...making])];
}

/** A directory that is not there yet is no problem. */
function placeProblems(config: Config, host: Host, fs: Fs): string[] {
  const real = (area: Area): Area => ({ ...area, path: host.realPath(area.path) });
  const areas = areasOf(config).map(real);
  const apart = overlaps(areas, writtenFiles(config).map(real));
  const loose = [
    { setting: "data_dir", path: host.realPath(config.directories.data) },
    ...areas,
  ].flatMap(({ setting, path }) => {
    const looked = look(path, fs);
    if ("problem" in looked) return [`${setting}: ${looked.problem}`];
    const { info } = looked;
    if (info === null) return [];
    if (info.kind !== "directory") return [`${setting}: ${path} is not a directory`];
    if (!info.ours && setting !== PLUGINS)
      return [`${setting}: ${path} belongs to another user; ${handOver(path)}`];
    if ((info.mode & OTHERS_WRITE) === 0) return [];
    return [`${setting}: ${path} can be written by others; close it with: chmod go-w ${path}`];
  });
  return [...apart, ...new Set(loose)];
}

/** Why the directory cannot be used or made; null when it can. */
function makingProblem(path: string, host: Host, fs: Fs): string | null {
  const nearest = nearestThere(path, host, fs);
  if ("problem" in nearest) return nearest.problem;
  const { at } = nearest;
  if (host.canWrite(at)) return null;
  const mended = `${handOver(at)}; on a disk that is read-only here, mount it otherwise, or name it in ReadWritePaths=`;
  return `${at} cannot be written by the user that the server runs as; ${mended}`;
}

/** The directory itself, or the first above it that is there: all below that is made at the start. */
export function nearestThere(
  path: string,
  host: Host,
  fs: Fs,
): { readonly at: string } | { readonly problem: string } {
  let at = host.realPath(path);
  for (;;) {
    const looked = look(at, fs);
    if ("problem" in looked) return looked;
    if (looked.info !== null || dirname(at) === at) return { at };
    at = dirname(at);
  }
}

/** A directory that may not be entered is a problem to tell, like any other. */
function look(
  path: string,
  fs: Fs,
): { readonly info: FileInfo | null } | { readonly problem: string } {
  try {
    return { info: fs.info(path) };
  } catch (error) {
    return { problem: describe(error) };
  }
}
