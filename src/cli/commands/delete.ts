// `holdfast delete`

import { typedPath } from "../../client/request-path.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readQuery } from "../data-arguments.ts";

export const remove = command({
  name: "delete",
  summary: "Delete what is at a path",
  examples: ["holdfast delete sys/namespaces/team"],
  flags: {},
  args: {
    path: argument.required("Path, with or without /v1/ in front"),
    parameters: argument.rest("name=value pairs for the query"),
  },
  async run({ client, out, files, prompt }, { path, parameters }) {
    const query = await readQuery(parameters, { files, prompt, out });
    const answer = await client.request("DELETE", typedPath(path), { query });
    const going = answer.status === 202;
    const done = `Success! Data deleted (if it existed) at: ${path}`;
    await showAnswer(
      out,
      answer,
      going ? `The deletion of ${path} goes on in the background.` : done,
    );
  },
});
