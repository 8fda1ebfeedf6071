// What the endpoints of this engine share on the wire.

import type { InputOf } from "@holdfast/shared/endpoint/field";
import { pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { unsupportedPath } from "../failures.ts";

// Letters, digits and _ at both ends; inside also - . and @.
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.@-]*[A-Za-z0-9_])?$/;
const MAX_NAME = 512;

export const nameField = wire.path("name").string("Name of the role; its case matters.");

/** Refuses what no route has. */
export function checkName(name: string): string {
  if (name.length > MAX_NAME || !NAME.test(name)) throw unsupportedPath();
  return name;
}

// --- lists: all names, or a page of them ---

const PAGE = 1000;
const MAX_PAGE = 10_000;

export const listing = {
  ...pageFields(MAX_PAGE, "Only what comes after this."),
  limit: wire
    .query("limit")
    .integer("How many at most; all unless given.", { min: 1, max: MAX_PAGE })
    .optional(),
};

/** A list that was cut without being asked for would look like the whole. */
export async function listed(
  { after, limit }: InputOf<typeof listing>,
  names: (page: { readonly after?: string; readonly limit: number }) => Promise<string[]>,
): Promise<string[]> {
  const pageFrom = (from: string | undefined, max: number) =>
    names({ limit: max, ...(from === undefined ? {} : { after: from }) });
  if (limit !== undefined) return pageFrom(after, limit);
  const all: string[] = [];
  for (let page: string[], from = after; ; from = page.at(-1)) {
    page = await pageFrom(from, PAGE);
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
