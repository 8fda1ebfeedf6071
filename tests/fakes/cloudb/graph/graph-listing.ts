// A list as Graph gives it: in pages, each with a link to the next, and of the properties asked for.

import { nextLink, pageOf, selected } from "./odata.ts";
import type { CloudRequest, Members, Reply } from "../route.ts";

export function listed({ tenant, path, query }: CloudRequest, all: readonly Members[]): Reply {
  const { knownAs, pageSize } = tenant.settings;
  const { items, next } = pageOf(all, query, pageSize);
  const value = items.map((object) => selected(object, query.get("$select")));
  const more =
    next === null ? {} : { "@odata.nextLink": nextLink(knownAs.graph, path, query, next) };
  const context = `${knownAs.graph}/v1.0/$metadata#${path.split("/").at(-1)}`;
  return { status: 200, body: { "@odata.context": context, ...more, value } };
}
