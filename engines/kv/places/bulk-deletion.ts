// Deletes the newest versions of many secrets, some in each transaction: what an engine takes in one
// commit is bounded. Doing it again after a crash does the rest.

import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import * as failures from "../failures.ts";
import type { Versioned } from "../versioned.ts";

export const MAX_DELETED = 1000;
const BATCH = 50;

/** Gives how many were deleted. */
export async function deleteAll(
  { storage, versioned }: { readonly storage: EngineStorage; readonly versioned: Versioned },
  paths: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  for (let at = 0; at < paths.length; at += BATCH) {
    if (signal.aborted) throw failures.callerGone();
    const some = paths.slice(at, at + BATCH);
    deleted += await storage.write(
      (tx) => some.filter((path) => versioned.deleteIn(tx, path, null)).length,
      { deletion: true },
    );
  }
  return deleted;
}
