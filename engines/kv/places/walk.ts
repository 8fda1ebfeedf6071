// All keys below a folder, in order, save those in folders that the caller may not list: whoever walks
// sees what it could have seen by listing folder after folder, and no more.

import { type Pace, Stretches } from "@holdfast/shared/sliced";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import * as failures from "../failures.ts";

const BATCH = 256;
/** Above every character that a path can have. */
const HIGHEST = "\u{10ffff}";

export interface Walk {
  /** What stands before the paths in keys of storage. */
  readonly root: string;
  /** With a slash at the end, or empty. */
  readonly folder: string;
  /** Of a folder as above, relative to the root. */
  readonly mayList: (folder: string) => Promise<boolean>;
  /** Only paths after this one. */
  readonly after: string | undefined;
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface Walked {
  /** Paths from the root. */
  readonly paths: readonly string[];
  /** The last of them, if there are more. */
  readonly next: string | null;
}

export async function walk(
  { storage, pace }: { readonly storage: EngineStorage; readonly pace: Pace },
  options: Walk,
): Promise<Walked> {
  const { root, folder, limit, signal } = options;
  const stretches = new Stretches(pace);
  const paths: string[] = [];
  let after = options.after === undefined ? undefined : root + options.after;
  if (!(await options.mayList(folder))) return { paths, next: null };
  let open = folder; // where the path before lies
  for (let ask = BATCH; ;) {
    if (signal.aborted) throw failures.callerGone();
    const page = after === undefined ? { limit: ask } : { limit: ask, after };
    const keys = await storage.keys(root + folder, page);
    const before = paths.length;
    let closed: string | null = null;
    for (const key of keys) {
      if (stretches.over) await stretches.next();
      const path = key.slice(root.length);
      while (!path.startsWith(open)) open = parentOf(open);
      closed = await firstClosed(path, open, options.mayList);
      if (closed !== null) break;
      open = path.slice(0, path.lastIndexOf("/") + 1);
      if (paths.length === limit) return { paths, next: paths.at(-1) ?? null };
      paths.push(path);
      after = key;
    }
    if (closed !== null) after = root + closed + HIGHEST; // past all of it
    else if (keys.length < ask) return { paths, next: null };
    // Among closed folders all but the first key of a look is in vain: ask for less then, so that the
    // cost grows with the folders and not with what lies in them.
    ask = Math.min(2 * (paths.length - before) + 1, BATCH);
  }
}

function parentOf(folder: string): string {
  return folder.slice(0, folder.lastIndexOf("/", folder.length - 2) + 1);
}

/** The outermost folder on the way from an open one to a path that may not be listed; null where all may. */
async function firstClosed(
  path: string,
  open: string,
  mayList: Walk["mayList"],
): Promise<string | null> {
  for (let at = path.indexOf("/", open.length); at >= 0; at = path.indexOf("/", at + 1)) {
    const inner = path.slice(0, at + 1);
    if (!(await mayList(inner))) return inner;
  }
  return null;
}
