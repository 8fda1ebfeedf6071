// `holdfast policy delete`

import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { KIND_FLAG, NAME_HELP, nounOf, policyPath } from "../policy-kinds.ts";
import { UsageError } from "../usage-error.ts";

export const policyDelete = command({
  name: "policy delete",
  summary: "Delete policies; it counts for the next request",
  description:
    "Tokens keep the name, which means nothing from then on. Without an RGP or EGP more is allowed " +
    "than before: a hard-mandatory one needs sudo. On a terminal it asks first.",
  examples: [
    "holdfast policy delete readonly",
    "holdfast policy delete -yes -type egp office-hours",
  ],
  flags: { ...KIND_FLAG, yes: flag.switch("Do not ask") },
  args: { name: argument.rest(`${NAME_HELP}; several are possible`, { words: "policies" }) },
  async run({ client, out, prompt }, { type, yes, name: names }) {
    if (names.length === 0 || names.includes(""))
      throw new UsageError(`NAME is missing: ${NAME_HELP}`);
    if (!yes && prompt.interactive) {
      const what = names.length === 1 ? names[0] : `${names.length} policies`;
      if (!(await prompt.confirm(`Delete ${nounOf(type)} ${what}?`))) {
        out.hint("Nothing was deleted.");
        return 1;
      }
    }
    for (const name of new Set(names)) {
      await client.request("DELETE", policyPath(type, name));
      out.done(`Success! ${nounOf(type)} deleted: ${name}`);
    }
    return 0;
  },
});
