// `holdfast namespace lookup`

import * as namespaces from "@holdfast/client/api/namespaces";
import { argument } from "../argument.ts";
import { command } from "../command.ts";

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
