// `holdfast namespace list`, `lookup`, `create`, `patch` and `delete`.

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import * as namespaces from "@holdfast/client/api/namespaces";
import type { Client } from "@holdfast/client/client";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

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

export const namespaceLookup = command({
  name: "namespace lookup",
  summary: "Show a namespace",
  examples: ["holdfast namespace lookup team"],
  flags: {},
  args: { path: argument.required("Path below the present namespace", { words: "namespaces" }) },
  async run({ client, out }, { path }) {
    const { data } = await namespaces.readNamespace(client, { path });
    await out.record(data);
  },
});

export const namespaceCreate = command({
  name: "namespace create",
  summary: "Create a namespace",
  examples: [
    "holdfast namespace create team",
    "holdfast namespace create -custom-metadata owner=anna team",
  ],
  flags: { customMetadata: flag.pair("A note on the namespace").repeated() },
  args: { path: argument.required("Path below the present namespace", { words: "namespaces" }) },
  async run({ client, out }, { customMetadata, path }) {
    const { data } = await namespaces.writeNamespace(client, {
      path,
      // Left out when there is none: writing a namespace that exists would take its notes away.
      ...(customMetadata.length === 0
        ? {}
        : { custom_metadata: Object.fromEntries(customMetadata) }),
    });
    await out.record(data);
  },
});

export const namespacePatch = command({
  name: "namespace patch",
  summary: "Change the notes on a namespace",
  examples: [
    "holdfast namespace patch -custom-metadata owner=ben team",
    "holdfast namespace patch -remove-custom-metadata owner team",
  ],
  flags: {
    customMetadata: flag.pair("A note to set").repeated(),
    removeCustomMetadata: flag.string("Name of a note to remove", "NAME").repeated(),
  },
  args: { path: argument.required("Path below the present namespace", { words: "namespaces" }) },
  async run({ client, out }, { customMetadata, removeCustomMetadata, path }) {
    const removed = removeCustomMetadata.map((name) => [name, null] as const);
    if (customMetadata.length + removed.length === 0) {
      throw new UsageError("there is nothing to change", "give -custom-metadata NAME=VALUE");
    }
    const { data } = await namespaces.patchNamespace(client, {
      path,
      custom_metadata: Object.fromEntries([...customMetadata, ...removed]),
    });
    await out.record(data);
  },
});

export const namespaceDelete = command({
  name: "namespace delete",
  summary: "Delete a namespace and everything in it",
  description: "Refused while it has namespaces below it. On a terminal it asks first.",
  examples: ["holdfast namespace delete team", "holdfast namespace delete -yes team"],
  flags: { yes: flag.switch("Do not ask") },
  args: { path: argument.required("Path below the present namespace", { words: "namespaces" }) },
  async run({ client, out, prompt }, { yes, path }) {
    const trimmed = path.replace(/^\/+|\/+$/g, "");
    if (!yes && prompt.interactive) {
      const sure = await prompt.confirm(`Delete namespace ${trimmed}/ and everything in it?`);
      if (!sure) {
        out.hint("Nothing was deleted.");
        return 1;
      }
    }
    const { status } = await namespaces.deleteNamespace(client, { path: trimmed });
    // What is there is removed in the background; "done" at once is for what was not.
    if (status !== 202) {
      const next = "`holdfast namespace list` shows what is there; check -namespace too";
      const message = `there is no namespace ${trimmed}/ below this one`;
      throw new AdvisedFailure("not-found", "namespace-absent", message, next);
    }
    out.done(`Success! Deleted the namespace: ${trimmed}/ (its content goes in the background)`);
    return 0;
  },
});
