// `holdfast policy read`

import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { KIND_FLAG, NAME_HELP, POLICY_CALLS } from "../policy-kinds.ts";
import { shown } from "../terminal/value.ts";

export const policyRead = command({
  name: "policy read",
  summary: "Print a policy",
  description:
    "Its document goes to standard output, as it was written, so that it can be kept in a file; what " +
    "else is known of it goes to standard error. -format json gives everything in one.",
  examples: [
    "holdfast policy read readonly > readonly.hcl",
    "holdfast policy read -field version readonly",
    "holdfast policy read -type egp office-hours",
  ],
  flags: { ...KIND_FLAG },
  args: { name: argument.required(NAME_HELP, { words: "policies" }) },
  async run({ client, out }, { type, name }) {
    const { data } = await POLICY_CALLS[type].read(client, { name });
    const { policy, enforcement_level, paths, version, expiration } = data;
    if (!out.forPeople) return out.record(data);
    const facts = [
      ["version", version],
      ["level", enforcement_level],
      ["paths", paths?.map(shown).join(", ")],
      ["ends", expiration],
    ] as const;
    const told = facts.filter(([, value]) => value !== undefined && value !== null);
    if (told.length > 0)
      out.hint(told.map(([what, value]) => `${what} ${shown(value)}`).join("; "));
    if (policy === "") out.hint("It has no document.");
    out.text(typeof policy === "string" ? policy : "");
  },
});
