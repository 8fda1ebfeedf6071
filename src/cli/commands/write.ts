// `holdfast write`

import { typedPath } from "../../client/request-path.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readData } from "../data-arguments.ts";
import { flag } from "../flag.ts";
import { UsageError } from "../usage-error.ts";
import { WRAP_FLAG } from "../wrap-flag.ts";

export const write = command({
  name: "write",
  summary: "Write data to any path",
  description:
    "Values are sent as text. A value that begins with @ is read from the file named after it, the " +
    "value - from standard input; \\@ and \\- stand for the characters themselves. - alone takes the " +
    "whole body as a JSON object from standard input. A name given twice becomes a list.",
  examples: [
    "holdfast write sys/audit-hash/file input=@secret.txt",
    "holdfast write sys/namespaces/team - < team.json",
    "holdfast write -force sys/rotate",
  ],
  flags: { force: flag.switch("Write without data"), ...WRAP_FLAG },
  args: {
    path: argument.required("Path, with or without /v1/ in front"),
    data: argument.rest("name=value, name=@file, name=-, or - for JSON on standard input"),
  },
  async run({ client, out, files, prompt }, { force, path, data, wrapTtl }) {
    const target = typedPath(path);
    const body = await readData(data, { files, prompt, out });
    if (body === null && !force) {
      throw new UsageError("there is no data", "give name=value, or -force to write without any");
    }
    const answer = await client.request("POST", target, {
      ...(body === null ? {} : { body }),
      wrapTtl,
    });
    await showAnswer(out, answer, `Success! Data written to: ${path}`);
  },
});
