// Names in a folder, a page of them: looked for some at a time, since folders among them cost a look each.

import { type Pace, Stretches } from "@holdfast/shared/sliced";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";

const BATCH = 500;

export interface NamesPage {
  readonly after: string | undefined;
  readonly limit: number;
}

export interface Names {
  readonly names: string[];
  /** The last of them, if there are more. */
  readonly next: string | null;
}

/** `prefix` is that of keys in storage. */
export async function namesIn(
  { storage, pace }: { readonly storage: EngineStorage; readonly pace: Pace },
  prefix: string,
  { after: first, limit }: NamesPage,
): Promise<Names> {
  const stretches = new Stretches(pace);
  const names: string[] = [];
  for (let after = first; ;) {
    const ask = Math.min(limit + 1 - names.length, BATCH);
    const found = await storage.list(
      prefix,
      after === undefined ? { limit: ask } : { after, limit: ask },
    );
    names.push(...found);
    if (names.length > limit) {
      names.pop();
      return { names, next: names.at(-1) ?? null };
    }
    if (found.length < ask) return { names, next: null };
    after = found.at(-1);
    if (stretches.over) await stretches.next();
  }
}
