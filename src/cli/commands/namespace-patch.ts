// `holdfast namespace patch`

import * as namespaces from "@holdfast/client/api/namespaces";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { UsageError } from "../usage-error.ts";

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
