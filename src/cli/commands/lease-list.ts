// `holdfast lease list`

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import { restOfPath } from "@holdfast/client/request-path";
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
      const { data } = await client.request("GET", "sys/leases", {
        query: { type: "irrevocable", limit },
      });
      const leases = isObject(data) && Array.isArray(data["leases"]) ? data["leases"] : [];
      if (leases.length === 0) out.hint("No irrevocable leases found.");
      if (leases.length === 0 && out.forPeople) return 3;
      const rows = leases.map((one) => {
        const { lease_id, mount_id, error } = isObject(one) ? one : {};
        return [lease_id, mount_id, error];
      });
      await out.show(leases, { columns: ["Lease", "Mount", "Error"], rows, whole: ["Lease"] });
      return leases.length === 0 ? 3 : 0;
    }
    const folder = /^\/*$/.test(prefix) ? "" : restOfPath(prefix);
    const data = await listing(client, folder, { after, limit });
    const keys = isObject(data) && Array.isArray(data["keys"]) ? data["keys"] : [];
    if (keys.length === 0) out.hint(`No leases found${prefix === "" ? "" : ` below ${prefix}`}.`);
    if (keys.length === 0 && out.forPeople) return 3;
    await out.show(keys, { columns: ["Keys"], rows: keys.map((key) => [key]) }, data);
    return keys.length === 0 ? 3 : 0;
  },
});

async function listing(
  client: Client,
  folder: string,
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<JsonValue | undefined> {
  const path = folder === "" ? "sys/leases/lookup" : `sys/leases/lookup/${folder}`;
  try {
    return (await client.request("LIST", path, { query })).data;
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    if (error instanceof ApiError && error.status === 404 && error.errors.length === 0) return {};
    throw error;
  }
}
