// `holdfast audit hash`

import { Secret } from "@holdfast/shared/secret";
import * as audit from "@holdfast/client/api/audit";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { readValue } from "../data-arguments.ts";
import { UsageError } from "../usage-error.ts";

export const auditHash = command({
  name: "audit hash",
  summary: "Hash a value as an audit device does, to find it in its records",
  examples: ["holdfast audit hash file", "holdfast audit hash file - < token.txt"],
  flags: {},
  args: {
    path: argument.required("Path of the audit device"),
    input: argument.optional("@FILE, or - for standard input; without it you are asked"),
  },
  async run(context, { path, input }) {
    const value = await read(context, input);
    const { client, out } = context;
    const answer = await audit.hashForAudit(client, { path, input: value.reveal() });
    await showAnswer(out, answer, "There is no hash.");
  },
});

async function read(context: Context, given: string | undefined): Promise<Secret<string>> {
  const { prompt, out } = context;
  if (given === "-" || given?.startsWith("@")) {
    return new Secret(await readValue("the value", given, context));
  }
  if (given !== undefined) {
    out.warn("a value on the command line stays in the shell's history; leave it out to be asked");
    return new Secret(given);
  }
  const typed = await prompt.secret("Value", { exact: true });
  if (typed === null) throw new UsageError("no value was given");
  return typed;
}
