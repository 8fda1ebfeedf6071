// `holdfast namespace delete`

import { restOfPath } from "../../client/request-path.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";

export const namespaceDelete = command({
  name: "namespace delete",
  summary: "Delete a namespace and everything in it",
  description: "Refused while it has namespaces below it. On a terminal it asks first.",
  examples: ["holdfast namespace delete team", "holdfast namespace delete -yes team"],
  flags: { yes: flag.switch("Do not ask") },
  args: { path: argument.required("Path below the present namespace") },
  async run({ client, out, prompt }, { yes, path }) {
    const trimmed = path.replace(/^\/+|\/+$/g, "");
    if (!yes && prompt.interactive) {
      const sure = await prompt.confirm(`Delete namespace ${trimmed}/ and everything in it?`);
      if (!sure) {
        out.hint("Nothing was deleted.");
        return 1;
      }
    }
    const { status } = await client.request("DELETE", `sys/namespaces/${restOfPath(trimmed)}`);
    const going = status === 202 ? " Its content is removed in the background." : "";
    out.done(`Success! Namespace deleted: ${trimmed}/.${going}`);
    return 0;
  },
});
