// Pages of lists that show more of each policy than its name: bounded by what is read for them, since
// a document may have a quarter of a megabyte.

import type { Sliced } from "@holdfast/shared/sliced";
import type { Names } from "./policy-rows.ts";

/** What one page may cost. */
export interface PageBounds {
  readonly characters: number;
  readonly documents: number;
}

/** Where the answer holds the documents, which it is written and recorded with. */
export const PAGE_BOUNDS: PageBounds = { characters: 256 * 1024, documents: 1_000 };
/** Where they are only looked at. */
export const LOOKED_AT: PageBounds = { characters: 4 * 1024 * 1024, documents: 10_000 };

interface OpenedPage<T> {
  readonly keys: readonly string[];
  readonly documents: Readonly<Record<string, T>>;
  readonly next: string | null;
}

/** With what `show` makes of each, until enough was read. Folders have nothing to show. */
export function* openPage<R extends { readonly text: string }, T>(
  { names, next }: Names,
  open: (name: string) => R | null,
  show: (record: R, name: string) => T,
  bounds: PageBounds,
): Sliced<OpenedPage<T>> {
  const keys: string[] = [];
  const documents: [string, T][] = [];
  const page = (following: string | null) => {
    return { keys, documents: Object.fromEntries(documents), next: following };
  };
  let read = 0;
  for (const name of names) {
    yield;
    const record = name.endsWith("/") ? null : open(name);
    read += record?.text.length ?? 0;
    const full = read > bounds.characters || documents.length >= bounds.documents;
    if (full && keys.length > 0) return page(keys.at(-1) ?? null);
    keys.push(name);
    if (record !== null) documents.push([name, show(record, name)]);
  }
  return page(next);
}
