// `holdfast policy delete`

import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import {
  isPolicy,
  KIND_FLAG,
  NAME_HELP,
  nounOf,
  POLICY_CALLS,
  POLICY_KINDS,
  type PolicyKind,
} from "../policy-kinds.ts";
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
  async run(context, { type, yes, name: names }) {
    const { client, out, prompt } = context;
    if (names.length === 0 || names.includes(""))
      throw new UsageError(`NAME is missing: ${NAME_HELP}`);
    if (!yes && prompt.interactive) {
      const what = names.length === 1 ? names[0] : `${names.length} policies`;
      if (!(await prompt.confirm(`Delete ${nounOf(type)} ${what}?`))) {
        out.hint("Nothing was deleted.");
        return 1;
      }
    }
    let code = 0;
    for (const name of new Set(names)) {
      // The server deletes what is not there without a word.
      if ((await isPolicy(client, type, name)) === false) {
        await tellAbsent(context, type, name);
        code = NOT_THERE;
        continue;
      }
      await POLICY_CALLS[type].delete(client, { name });
      out.done(`Success! ${nounOf(type)} deleted: ${name}`);
    }
    return code;
  },
});

const NOT_THERE = 3;

async function tellAbsent({ client, out }: Context, kind: PolicyKind, name: string): Promise<void> {
  let meant = "";
  for (const other of POLICY_KINDS) {
    if (other === kind || (await isPolicy(client, other, name)) !== true) continue;
    meant += `; there is an ${nounOf(other)} of that name: give -type ${other}`;
  }
  out.warn(`there is no ${nounOf(kind)} ${name}: nothing was deleted${meant}`);
}
