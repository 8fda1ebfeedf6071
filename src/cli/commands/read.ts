// `holdfast read`

import { typedPath } from "../../client/request-path.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readQuery } from "../data-arguments.ts";
import { WRAP_FLAG } from "../wrap-flag.ts";

export const read = command({
  name: "read",
  summary: "Read any path",
  examples: [
    "holdfast read sys/key-status",
    "holdfast read -field term sys/key-status",
    "holdfast read sys/metrics format=prometheus",
  ],
  flags: WRAP_FLAG,
  args: {
    path: argument.required("Path, with or without /v1/ in front"),
    parameters: argument.rest("name=value pairs for the query"),
  },
  async run({ client, out, files, prompt }, { path, parameters, wrapTtl }) {
    const query = await readQuery(parameters, { files, prompt, out });
    const answer = await client.request("GET", typedPath(path), { query, wrapTtl });
    await showAnswer(out, answer, "There is nothing to show.");
  },
});
