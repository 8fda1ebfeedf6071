// `holdfast list`

import { isObject } from "../../base/json.ts";
import { typedPath } from "../../client/request-path.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readQuery } from "../data-arguments.ts";
import { WRAP_FLAG } from "../wrap-flag.ts";

export const list = command({
  name: "list",
  summary: "List names below a path",
  description: "Folders end in a slash. Nothing there: exit code 3.",
  examples: ["holdfast list sys/namespaces", "holdfast list -format json sys/namespaces"],
  flags: WRAP_FLAG,
  args: {
    path: argument.required("Path, with or without /v1/ in front"),
    parameters: argument.rest("name=value pairs for the query"),
  },
  async run({ client, out, files, prompt }, { path, parameters, wrapTtl }) {
    const query = await readQuery(parameters, { files, prompt, out });
    const target = typedPath(path.replace(/\/+$/, ""));
    const answer = await client.request("LIST", target, { query, wrapTtl });
    if (wrapTtl !== undefined) return showAnswer(out, answer, "There is nothing to show.");
    const { data } = answer;
    const keys = isObject(data) && Array.isArray(data["keys"]) ? data["keys"] : [];
    await out.show(keys, { columns: ["Keys"], rows: keys.map((key) => [key]) }, data);
  },
});
