// Pages of lists that show more of each policy than its name: bounded by what is read for them, since
// a document may have a quarter of a megabyte.

import type { Names } from "./policy-rows.ts";

const MOST = 4 * 1024 * 1024; // characters of text

interface OpenedPage<T> {
  readonly keys: readonly string[];
  readonly shown: Readonly<Record<string, T>>;
  readonly next: string | null;
}

/** With what `show` makes of each, until enough was read. Folders have nothing to show. */
export function openPage<R extends { readonly text: string }, T>(
  { names, next }: Names,
  open: (name: string) => R | null,
  show: (record: R, name: string) => T,
): OpenedPage<T> {
  const keys: string[] = [];
  const shown: [string, T][] = [];
  const page = (following: string | null) => {
    return { keys, shown: Object.fromEntries(shown), next: following };
  };
  let read = 0;
  for (const name of names) {
    const record = name.endsWith("/") ? null : open(name);
    read += record?.text.length ?? 0;
    if (read > MOST && keys.length > 0) return page(keys.at(-1) ?? null);
    keys.push(name);
    if (record !== null) shown.push([name, show(record, name)]);
  }
  return page(next);
}

/** What the answer to a list says of the page that follows. */
export function more(next: string | null): { readonly warnings: readonly string[] } {
  return { warnings: next === null ? [] : [`there are more; go on with after=${next}`] };
}
