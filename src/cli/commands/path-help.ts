// `holdfast path-help`

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readTyped } from "./any-path.ts";

export const pathHelp = command({
  name: "path-help",
  summary: "Explain a path of the API, as the server documents it",
  examples: ["holdfast path-help sys/unseal"],
  flags: {},
  args: { path: argument.required("Path, with or without /v1/ in front") },
  async run({ client, out }, { path }) {
    const { body, data } = await readTyped(client, path.replace(/\/+$/, ""), { help: 1 });
    const help = textIn(data) ?? textIn(body);
    if (help === undefined) await out.record(data);
    else await out.show(body, { text: help });
  },
});

function textIn(value: JsonValue | undefined): string | undefined {
  const { help }: JsonObject = isObject(value) ? value : {};
  return typeof help === "string" ? help : undefined;
}
