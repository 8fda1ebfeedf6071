// `holdfast namespace create`

import * as namespaces from "@holdfast/client/api/namespaces";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";

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
