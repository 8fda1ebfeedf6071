// Where an audit file may lie. Whoever may make devices over the API must not be able to place a
// file of the server's among its data or its programs, by whatever path leads there.

import { basename, dirname, join } from "node:path";
import type { AppendFiles, DirectoryFacts } from "@holdfast/shared/world";
import { fileForbidden, fileRefused } from "./failures.ts";

export interface FilePlaces {
  /** Directories below which devices made over the API may write. The first is ours to make. */
  readonly roots: readonly string[];
  /** Data, programs, plugins, snapshots: never, for devices of the configuration file as well. */
  readonly forbidden: readonly string[];
}

/** Looked up anew for each opening: directories come and go. */
export async function judge(
  files: AppendFiles,
  { roots, forbidden }: FilePlaces,
  declared: boolean,
): Promise<(directory: DirectoryFacts) => void> {
  const refused = await identities(files, forbidden);
  const accepted = await identities(files, roots);
  return (directory) => {
    // Compared by what the directories are, not by what they are called: links and bind mounts.
    if (directory.identities.some((identity) => refused.includes(identity))) {
      throw declared ? fileForbidden() : fileRefused();
    }
    if (declared) return;
    const inside = directory.identities.some((identity) => accepted.includes(identity));
    const onlyOurs = directory.ours && (directory.mode & 0o022) === 0;
    if (!inside || !onlyOurs) throw fileRefused();
  };
}

/** The same for two paths to one file, by whatever links and spellings. */
export async function identityOf(files: AppendFiles, path: string): Promise<string> {
  const directory = await files.directory(dirname(path));
  return join(directory?.identities[0] ?? dirname(path), basename(path));
}

async function identities(files: AppendFiles, paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => files.directory(path)));
  return found.flatMap((facts) => facts?.identities.slice(0, 1) ?? []);
}
