// `holdfast audit hash`

import { Secret } from "../../base/secret.ts";
import { restOfPath } from "../../client/request-path.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { UsageError } from "../usage-error.ts";

const MAX_INPUT = 2 ** 20;

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
    const target = `sys/audit-hash/${restOfPath(path)}`;
    const answer = await client.request("POST", target, { body: { input: value.reveal() } });
    await showAnswer(out, answer, "There is no hash.");
  },
});

async function read(
  { prompt, files, out }: Context,
  given: string | undefined,
): Promise<Secret<string>> {
  if (given === "-") return new Secret((await prompt.whole(MAX_INPUT)).replace(/\r?\n$/, ""));
  if (given?.startsWith("@")) {
    return new Secret(files.text(given.slice(1), MAX_INPUT).replace(/\r?\n$/, ""));
  }
  if (given !== undefined) {
    out.warn("a value on the command line stays in the shell's history; leave it out to be asked");
    return new Secret(given);
  }
  const typed = await prompt.secret("Value");
  if (typed === null) throw new UsageError("no value was given");
  return typed;
}
