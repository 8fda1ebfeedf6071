// Lists that are told in pages: the two fields that ask for one, and how the answer says that there is more. One
// form for all of them, since clients read it: `kv list` goes on by itself.

import { type Reply, reply } from "./reply.ts";
import { wire } from "./wire.ts";

export interface Page {
  readonly after: string | undefined;
  readonly limit: number;
}

/** `after` and `limit`; a page has `max` at most, and as many where nothing is said. */
export function pageFields(max: number, after = "Only those after this name.") {
  return { after: wire.query("after").string(after).optional(), limit: limitField(max) };
}

export function limitField(max: number) {
  return wire.query("limit").integer("How many at most.", { min: 1, max }).default(max);
}

/** How an answer says that a list goes on. */
export const MORE = /^there are more; go on with after=(.+)$/s;

/** What an answer says of the page that follows `last`; null where none does. */
export function more(
  last: string | number | null,
  field: "after" | "before" = "after",
): { readonly warnings: readonly string[] } {
  return { warnings: last === null ? [] : [`there are more; go on with ${field}=${last}`] };
}

/** A page of names. `read` is called for one more than it has: so it is known whether there are more. */
export async function namesPage(
  { after, limit }: Page,
  read: (page: { readonly after?: string; readonly limit: number }) => Names | Promise<Names>,
): Promise<Reply<{ readonly keys: Names }>> {
  const found = await read({ limit: limit + 1, ...(after === undefined ? {} : { after }) });
  const { page, last } = cut(found, limit);
  return reply({ keys: page }, more(last));
}

type Names = readonly string[];

/** Of a list that was read with one more than the page has: the page, and its last if there are more. */
export function cut<T>(
  found: readonly T[],
  limit: number,
): { readonly page: readonly T[]; readonly last: T | null } {
  if (found.length <= limit) return { page: found, last: null };
  const page = found.slice(0, limit);
  return { page, last: page.at(-1) ?? null };
}
