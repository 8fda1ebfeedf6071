// `holdfast patch`

import { typedPath } from "../../client/request-path.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readData } from "../data-arguments.ts";
import { UsageError } from "../usage-error.ts";
import { WRAP_FLAG } from "../wrap-flag.ts";

export const patch = command({
  name: "patch",
  summary: "Change part of what is at a path",
  description:
    "A JSON merge patch: members that are named change, null (in JSON on standard input) takes one " +
    "away, all others stay. Values are given as for write.",
  examples: ["holdfast patch sys/namespaces/team - < change.json"],
  flags: WRAP_FLAG,
  args: {
    path: argument.required("Path, with or without /v1/ in front"),
    data: argument.rest("name=value, name=@file, name=-, or - for JSON on standard input"),
  },
  async run({ client, out, files, prompt }, { path, data, wrapTtl }) {
    const target = typedPath(path);
    const body = await readData(data, { files, prompt, out });
    if (body === null) throw new UsageError("there is no data", "give name=value, or - for JSON");
    const answer = await client.request("PATCH", target, { body, wrapTtl });
    await showAnswer(out, answer, `Success! Data patched at: ${path}`);
  },
});
