// Search by name and custom metadata. It looks at a bounded number of secrets, whatever it finds, and
// tells of those that the caller may read: of the others not even how a cursor over them looks.

import type { Timers } from "../../base/world.ts";
import type { EngineStorage } from "../../../plugin-sdk/storage.ts";
import type { Cursors } from "./cursor.ts";
import * as failures from "./failures.ts";
import { SECRETS } from "./rows.ts";
import type { CustomMetadata } from "./secret.ts";
import { customMetadataCodec } from "./secret-codec.ts";

/** Secrets looked at for one answer: some 10 ms. */
export const MOST_LOOKED_AT = 1000;
const BATCH = 100;

export interface Search {
  readonly words: string;
  /** With a slash at the end, or empty. */
  readonly folder: string;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly mayRead: (path: string) => Promise<boolean>;
  readonly signal: AbortSignal;
}

export interface SearchResult {
  readonly paths: readonly string[];
  /** Null at the end. */
  readonly next: string | null;
}

export async function search(
  world: { readonly storage: EngineStorage; readonly timers: Timers; readonly cursors: Cursors },
  options: Search,
): Promise<SearchResult> {
  const { storage, timers, cursors } = world;
  const { folder, limit, cursor, mayRead, signal } = options;
  const words = options.words.toLowerCase();
  const paths: string[] = [];
  let after = cursor === undefined ? undefined : cursors.open(cursor);
  for (let looked = 0; looked < MOST_LOOKED_AT; looked += BATCH) {
    if (signal.aborted) throw failures.callerGone();
    const page = after === undefined ? { limit: BATCH } : { limit: BATCH, after: SECRETS + after };
    const found = await storage.records(SECRETS + folder, customMetadataCodec, page);
    for (const { key, value } of found) {
      const path = key.slice(SECRETS.length);
      if (paths.length === limit) return { paths, next: cursors.seal(after ?? "") };
      after = path;
      if (matches(words, path, value) && (await mayRead(path))) paths.push(path);
    }
    if (found.length < BATCH) return { paths, next: null };
    await timers.turn();
  }
  return { paths, next: after === undefined ? null : cursors.seal(after) };
}

function matches(words: string, path: string, metadata: CustomMetadata | null): boolean {
  if (path.toLowerCase().includes(words)) return true;
  if (metadata === null) return false;
  return Object.entries(metadata).some(
    ([name, value]) => name.toLowerCase().includes(words) || value.toLowerCase().includes(words),
  );
}
