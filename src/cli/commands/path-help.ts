// `holdfast path-help`

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { typedPath } from "@holdfast/client/request-path";
import { argument } from "../argument.ts";
import { command } from "../command.ts";

export const pathHelp = command({
  name: "path-help",
  summary: "Explain a path of the API, as the server documents it",
  examples: ["holdfast path-help sys/unseal"],
  flags: {},
  args: { path: argument.required("Path, with or without /v1/ in front") },
  async run({ client, out }, { path }) {
    const target = typedPath(path.replace(/\/+$/, ""));
    const { body, data } = await client.request("GET", target, { query: { help: 1 } });
    const help = textIn(data) ?? textIn(body);
    if (help === undefined) await out.record(data);
    else await out.show(body, { text: help });
  },
});

function textIn(value: JsonValue | undefined): string | undefined {
  const { help }: JsonObject = isObject(value) ? value : {};
  return typeof help === "string" ? help : undefined;
}
