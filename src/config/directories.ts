// Which directory may lie in which. A file that one part of the server writes at a caller's wish must
// never land where another part reads: an audit file inside the store, say, or inside plugins.

import { isAbsolute, relative, sep } from "node:path";
import type { Config } from "./config.ts";

/** What operators put there is run: who may own it, its own settings say. */
export const PLUGINS = "plugin_directory";

export interface Area {
  /** The setting that names it. */
  readonly setting: string;
  readonly path: string;
}

/** Directories that must be apart from each other. */
export function areasOf({
  directories,
  audit,
  snapshotRoots,
}: Pick<Config, "directories" | "audit" | "snapshotRoots">): Area[] {
  const { store, server, plugins } = directories;
  return [
    ...(store === null ? [] : [{ setting: "the store", path: store }]),
    { setting: "the server's own files", path: server },
    ...(plugins === null ? [] : [{ setting: PLUGINS, path: plugins }]),
    ...snapshotRoots.map((path) => ({ setting: "snapshot_roots", path })),
    ...audit.fileRoots.map((path) => ({ setting: "audit_file_roots", path })),
  ];
}

/** Files that the server writes, which may lie in none of the areas but the last kind. */
export function writtenFiles(config: Pick<Config, "audit" | "log" | "pidFile">): Area[] {
  const devices = config.audit.devices.flatMap(({ type, path, options }) => {
    const file = options.get("file_path");
    const real = type === "file" && file !== undefined && isAbsolute(file);
    return real ? [{ setting: `audit "${type}" "${path}"`, path: file }] : [];
  });
  return [...devices, ...ownFiles(config)];
}

/** Those that are no audit device's. */
export function ownFiles({ log, pidFile }: Pick<Config, "log" | "pidFile">): Area[] {
  return [
    ...(log.file === null ? [] : [{ setting: "log_file", path: log.file }]),
    ...(pidFile === null ? [] : [{ setting: "pid_file", path: pidFile }]),
  ];
}

/** What lies in what it must not, in words. Paths are compared as they are given: resolve links first. */
export function overlaps(areas: readonly Area[], files: readonly Area[]): string[] {
  const found: string[] = [];
  areas.forEach((one, at) => {
    for (const other of areas.slice(at + 1)) {
      // The same root given twice is harmless.
      if (one.setting === other.setting && one.path === other.path) continue;
      if (isInside(one.path, other.path) || isInside(other.path, one.path)) {
        found.push(`${show(one)} and ${show(other)} must be apart, neither inside the other`);
      }
    }
  });
  for (const file of files) {
    for (const area of areas) {
      const audit = area.setting === "audit_file_roots" && file.setting.startsWith("audit ");
      if (!audit && isInside(file.path, area.path)) {
        found.push(`${show(file)} must not be inside ${show(area)}`);
      }
    }
  }
  return found;
}

/** The same, or somewhere below. */
function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function show({ setting, path }: Area): string {
  return `${setting} (${path})`;
}
