// `holdfast namespace list`

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import * as namespaces from "@holdfast/client/api/namespaces";
import { command } from "../command.ts";
import { flag } from "../flag.ts";

export const namespaceList = command({
  name: "namespace list",
  summary: "List the namespaces directly below this one",
  examples: ["holdfast namespace list", "holdfast namespace list -namespace team"],
  flags: {
    after: flag.string("Only those after this name", "NAME"),
    limit: flag.integer("How many at most", { min: 1 }),
  },
  args: {},
  async run({ client, out }, { after, limit }) {
    const found = recordsOf(await listing(client, { after, limit }));
    if (found.length === 0) out.hint("No namespaces found.");
    if (found.length === 0 && out.forPeople) return 3;
    const rows = found.map(({ path, id, custom_metadata }) => [path, id, custom_metadata]);
    await out.show(found, { columns: ["Path", "ID", "Custom Metadata"], rows });
    return found.length === 0 ? 3 : 0;
  },
});

async function listing(
  client: Client,
  page: namespaces.ListNamespacesInput,
): Promise<namespaces.ListNamespacesAnswer> {
  try {
    return (await namespaces.listNamespaces(client, page)).data;
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    const empty = error instanceof ApiError && error.status === 404 && error.errors.length === 0;
    if (empty) return { keys: [] };
    throw error;
  }
}

function recordsOf({ keys, key_info = {} }: namespaces.ListNamespacesAnswer): JsonObject[] {
  return keys.map((key) => {
    const info = key_info[key];
    return { path: key, ...(isObject(info) ? info : {}) };
  });
}
