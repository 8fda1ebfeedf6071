// `holdfast acl token delete`

import { ApiError } from "@holdfast/client/api-error";
import * as tokens from "@holdfast/client/api/tokens";
import { ACCESSOR_HELP, findAccessor } from "../accessors.ts";
import { AdvisedFailure } from "../advised-failure.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { UsageError } from "../usage-error.ts";

/** The API calls it invalid; for whoever runs a command it is "not found". */
function isAbsent(error: unknown): error is ApiError {
  return error instanceof ApiError && error.message.startsWith("Cannot delete nonexistent tokens");
}

function absent({ message }: ApiError): AdvisedFailure {
  const next =
    "it is deleted or expired, or never was: `holdfast acl token list` shows those there are";
  return new AdvisedFailure("not-found", "token-absent", message, next);
}

export const tokenDelete = command({
  name: "acl token delete",
  summary: "Delete tokens; they stop working at once",
  description: "On a terminal it asks first.",
  examples: [
    "holdfast acl token delete c8427da3-8cf6-48b2-beaf-9bb747302196",
    "holdfast acl token delete -yes c8427da3 b9382bb3",
  ],
  flags: { yes: flag.switch("Do not ask") },
  args: { accessor: argument.rest(`${ACCESSOR_HELP}; several are possible`) },
  async run({ client, out, prompt }, { yes, accessor: given }) {
    if (given.length === 0) throw new UsageError(`ACCESSOR is missing: ${ACCESSOR_HELP}`);
    // All of them before the first is deleted: a wrong one stops the whole command.
    const accessors: string[] = [];
    for (const one of given) accessors.push(await findAccessor(client, one));
    if (!yes && prompt.interactive) {
      const what = accessors.length === 1 ? `token ${accessors[0]}` : `${accessors.length} tokens`;
      if (!(await prompt.confirm(`Delete ${what}?`))) {
        out.hint("Nothing was deleted.");
        return 1;
      }
    }
    for (const accessor of new Set(accessors)) {
      await tokens.deleteToken(client, { accessor_id: accessor }).catch((error: unknown) => {
        throw isAbsent(error) ? absent(error) : error;
      });
      out.done(`Token ${accessor} successfully deleted`);
    }
    return 0;
  },
});
