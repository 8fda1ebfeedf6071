// `holdfast lease list`

import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import * as leases from "@holdfast/client/api/leases";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { UsageError } from "../usage-error.ts";

export const leaseList = command({
  name: "lease list",
  summary: "List leases below a path, or those that could not be revoked",
  description:
    "One level at a time: folders end in a slash, the last part of an id does not. -irrevocable shows " +
    "whole ids, each with the reason why its secret could not be ended; the server tries them daily.",
  examples: [
    "holdfast lease list clouda/creds/ci",
    "holdfast lease list -irrevocable",
    "holdfast lease list -irrevocable -field lease_id",
  ],
  flags: {
    irrevocable: flag.switch("Those that could not be revoked, in all mounts"),
    after: flag.string("Only those after this one", "KEY"),
    limit: flag.integer("How many at most", { min: 1 }),
  },
  args: { prefix: argument.optional("Path that the ids begin with", { words: "paths" }) },
  async run({ client, out }, { irrevocable, prefix = "", after, limit }) {
    if (irrevocable) {
      if (prefix !== "" || after !== undefined) {
        throw new UsageError("-irrevocable shows all of them: it takes neither PREFIX nor -after");
      }
      const { data } = await leases.readLeases(client, {
        type: "irrevocable",
        limit: limit === undefined ? undefined : String(limit),
      });
      const found = data.leases;
      if (found.length === 0) out.hint("No irrevocable leases found.");
      if (found.length === 0 && out.forPeople) return 3;
      const rows = found.map(({ lease_id, mount_id, error }) => [lease_id, mount_id, error]);
      await out.show(found, { columns: ["Lease", "Mount", "Error"], rows, whole: ["Lease"] });
      return found.length === 0 ? 3 : 0;
    }
    const folder = /^\/*$/.test(prefix) ? "" : prefix;
    const data = await listing(client, folder, { after, limit });
    const keys = data?.keys ?? [];
    if (keys.length === 0) out.hint(`No leases found${prefix === "" ? "" : ` below ${prefix}`}.`);
    if (keys.length === 0 && out.forPeople) return 3;
    await out.show(keys, { columns: ["Keys"], rows: keys.map((key) => [key]) }, data ?? {});
    return keys.length === 0 ? 3 : 0;
  },
});

/** Null for an empty list. */
async function listing(
  client: Client,
  folder: string,
  page: leases.ListLeasesInput,
): Promise<leases.ListLeasesAnswer | null> {
  try {
    const { data } =
      folder === ""
        ? await leases.listLeases(client, page)
        : await leases.listLeasesBelow(client, { prefix: folder, ...page });
    return data;
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    if (error instanceof ApiError && error.status === 404 && error.errors.length === 0) return null;
    throw error;
  }
}
