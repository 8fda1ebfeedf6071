// Directories by what they are: device, inode, owner and rights of one that is open, and of those above it.

import type { Stats } from "node:fs";
import { type FileHandle, readlink, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { DirectoryFacts } from "@holdfast/shared/world";

/** The way to what lies inside an open directory, where the system has one. */
export function throughDescriptor(directory: FileHandle): string | null {
  return process.platform === "linux" ? `/proc/self/fd/${directory.fd}` : null;
}

export function realPathOf(directory: FileHandle, path: string): Promise<string> {
  const through = throughDescriptor(directory);
  return through === null ? realpath(path) : readlink(through);
}

export async function factsOf(stats: Stats, path: string): Promise<DirectoryFacts> {
  const identities = [identityOf(stats)];
  for (let at = dirname(path); ; at = dirname(at)) {
    identities.push(identityOf(await stat(at)));
    if (at === dirname(at)) break;
  }
  const ours = stats.uid === process.geteuid?.();
  return { path, identities, ours, mode: stats.mode & 0o7777 };
}

export function identityOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}
