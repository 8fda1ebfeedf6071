// `holdfast namespace lookup`

import { restOfPath } from "@holdfast/client/request-path";
import { argument } from "../argument.ts";
import { command } from "../command.ts";

export const namespaceLookup = command({
  name: "namespace lookup",
  summary: "Show a namespace",
  examples: ["holdfast namespace lookup team"],
  flags: {},
  args: { path: argument.required("Path below the present namespace", { words: "namespaces" }) },
  async run({ client, out }, { path }) {
    const { data } = await client.request("GET", `sys/namespaces/${restOfPath(path)}`);
    await out.record(data);
  },
});
