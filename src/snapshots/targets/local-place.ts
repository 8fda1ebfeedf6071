// Where local snapshots may lie: below one of the roots that the server's own file names, on a way without links,
// in a directory that nobody else may write to.

import { isAbsolute, join, normalize, relative, sep } from "node:path";
import type { HeldDirectory, SnapshotFiles } from "@holdfast/shared/world";
import { directoryRefused } from "./failures.ts";

export interface SnapshotPlaces {
  /** The first is ours to make. */
  readonly roots: readonly string[];
  /** Data, the server's own files, audit files. */
  readonly forbidden: readonly string[];
}

/** Held open, and judged as what is held. Throws a Failure that says what would be accepted. */
export async function holdPlace(
  files: SnapshotFiles,
  { roots, forbidden }: SnapshotPlaces,
  pathPrefix: string,
): Promise<HeldDirectory> {
  const path = checkedPath(pathPrefix);
  const [first] = roots;
  if (first !== undefined && belowOf(first, path) !== null) await files.makeDirectory(first);
  const held = await files.hold(path);
  if (held === null) {
    // Whoever made it would only then be told that it must lie elsewhere.
    if (!(await mayLieBelow(files, roots, path))) throw outsideRoots(roots);
    throw directoryRefused(`must be a directory that is there: make ${path} with mode 0700`);
  }
  try {
    await judge(files, { roots, forbidden }, path, held);
    return held;
  } catch (error) {
    await held.close();
    throw error;
  }
}

/** In its one form, without a slash at the end. */
function checkedPath(pathPrefix: string): string {
  const path = pathPrefix.length > 1 ? pathPrefix.replace(/\/+$/, "") : pathPrefix;
  if (!isAbsolute(path)) throw directoryRefused("must be an absolute path");
  if (normalize(path) !== path || /\p{Cc}/u.test(path)) {
    throw directoryRefused("must be a path without . or .. or // in it");
  }
  return path;
}

async function judge(
  files: SnapshotFiles,
  { roots, forbidden }: SnapshotPlaces,
  path: string,
  { facts }: HeldDirectory,
): Promise<void> {
  for (const place of forbidden) {
    const refused = await files.look(place);
    // By what the directories are, not by what they are called.
    if (refused !== null && facts.identities.includes(refused.identities[0] ?? "")) {
      throw directoryRefused("must not lie among the server's data, its own files or audit files");
    }
  }
  if (!(await isBelow(files, roots, path, facts.path))) {
    throw outsideRoots(roots);
  }
  if (!facts.ours || (facts.mode & 0o022) !== 0) {
    throw directoryRefused(
      `must belong to the server's user and be writable by nobody else: chmod 0700 ${path}`,
    );
  }
}

function outsideRoots(roots: readonly string[]): Error {
  const listed = roots.join(", ");
  return directoryRefused(
    `must lie below one of the directories of snapshot_roots (${listed}), with no link on the way`,
  );
}

/** By its name, for what is not there. */
async function mayLieBelow(
  files: SnapshotFiles,
  roots: readonly string[],
  path: string,
): Promise<boolean> {
  for (const root of roots) {
    const real = (await files.look(root))?.path ?? root;
    if (belowOf(root, path) !== null || belowOf(real, path) !== null) return true;
  }
  return false;
}

async function isBelow(
  files: SnapshotFiles,
  roots: readonly string[],
  path: string,
  real: string,
): Promise<boolean> {
  for (const root of roots) {
    const found = await files.look(root);
    if (found === null) continue;
    for (const spelled of [root, found.path]) {
      const rest = belowOf(spelled, path);
      if (rest !== null && join(found.path, rest) === real) return true;
    }
  }
  return false;
}

/** What comes behind the root; empty for the root itself, null for what is not below it. */
function belowOf(root: string, path: string): string | null {
  const rest = relative(root, path);
  const outside = rest === ".." || rest.startsWith(`..${sep}`) || isAbsolute(rest);
  return outside ? null : rest;
}
