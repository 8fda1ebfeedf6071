// `holdfast namespace delete`

import * as namespaces from "@holdfast/client/api/namespaces";
import { AdvisedFailure } from "../advised-failure.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";

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
