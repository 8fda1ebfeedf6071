// Search by name and custom metadata. It looks at a bounded number of secrets, whatever it finds, and
// tells of those that the caller may read: of the others not even how a cursor over them looks. What
// has no version yet is read at its metadata alone: a read of data answers as if nothing were there.

import { type Pace, Stretches } from "@holdfast/shared/sliced";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import type { Cursors } from "./cursor.ts";
import * as failures from "../failures.ts";
import { SECRETS } from "../rows.ts";
import type { CustomMetadata } from "../secret.ts";
import { customMetadataCodec, hasVersionsCodec } from "../secret-codec.ts";
import type { Way } from "../secret-path.ts";

/** Secrets looked at for one answer: some 10 ms, or a second where their notes are long. */
export const MAX_LOOKED_AT = 1000;
const BATCH = 100;

export interface Search {
  /** Without case. */
  readonly words: string;
  /** With a slash at the end, or empty. */
  readonly folder: string;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly mayRead: (way: Way, path: string) => Promise<boolean>;
  readonly signal: AbortSignal;
}

export interface SearchResult {
  readonly paths: readonly string[];
  /** Null at the end. */
  readonly next: string | null;
}

export async function search(
  world: { readonly storage: EngineStorage; readonly pace: Pace; readonly cursors: Cursors },
  options: Search,
): Promise<SearchResult> {
  const { storage, pace, cursors } = world;
  const { words, folder, limit, cursor, mayRead, signal } = options;
  const stretches = new Stretches(pace);
  const paths: string[] = [];
  const isReadable = async (key: string, path: string) => {
    const hasVersions = await storage.get(key, hasVersionsCodec);
    return hasVersions !== null && (await mayRead(hasVersions ? "data" : "metadata", path));
  };
  let after = cursor === undefined ? undefined : cursors.open(cursor);
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += BATCH) {
    if (signal.aborted) throw failures.callerGone();
    const page = after === undefined ? { limit: BATCH } : { limit: BATCH, after: SECRETS + after };
    const keys = await storage.keys(SECRETS + folder, page);
    for (const key of keys) {
      if (stretches.over) await stretches.next();
      const path = key.slice(SECRETS.length);
      if (paths.length === limit) return { paths, next: cursors.seal(after ?? "") };
      after = path;
      // One by one: notes may have forty kilobytes.
      const found =
        withoutCase(path).includes(words) ||
        notesMatch(words, await storage.get(key, customMetadataCodec));
      if (found && (await isReadable(key, path))) paths.push(path);
    }
    if (keys.length < BATCH) return { paths, next: null };
  }
  return { paths, next: after === undefined ? null : cursors.seal(after) };
}

/** What is compared, and so what rules and programs are told was looked for. */
export function withoutCase(text: string): string {
  return text.toLowerCase();
}

function notesMatch(words: string, metadata: CustomMetadata | null): boolean {
  if (metadata === null) return false;
  return Object.entries(metadata).some(
    ([name, value]) => withoutCase(name).includes(words) || withoutCase(value).includes(words),
  );
}
