// All keys below a folder, in order, save those in folders that the caller may not list: whoever walks
// sees what it could have seen by listing folder after folder, and no more.

import type { EngineStorage } from "../../../plugin-sdk/storage.ts";
import * as failures from "./failures.ts";

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

export async function walk(storage: EngineStorage, options: Walk): Promise<Walked> {
  const { root, folder, limit, signal } = options;
  const paths: string[] = [];
  let after = options.after === undefined ? undefined : root + options.after;
  if (!(await options.mayList(folder))) return { paths, next: null };
  for (;;) {
    if (signal.aborted) throw failures.callerGone();
    const page = after === undefined ? { limit: BATCH } : { limit: BATCH, after };
    const keys = await storage.keys(root + folder, page);
    let closed: string | null = null;
    for (const key of keys) {
      const path = key.slice(root.length);
      closed = await firstClosed(path, options);
      if (closed !== null) break;
      if (paths.length === limit) return { paths, next: paths.at(-1) ?? null };
      paths.push(path);
      after = key;
    }
    if (closed !== null) after = root + closed + HIGHEST; // past all of it
    else if (keys.length < BATCH) return { paths, next: null };
  }
}

/** The outermost folder on the way to a path that may not be listed; null where all may. */
async function firstClosed(path: string, { folder, mayList }: Walk): Promise<string | null> {
  for (let at = path.indexOf("/", folder.length); at >= 0; at = path.indexOf("/", at + 1)) {
    const inner = path.slice(0, at + 1);
    if (!(await mayList(inner))) return inner;
  }
  return null;
}
