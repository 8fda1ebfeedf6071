// `holdfast wrap`

import { MINUTE } from "@holdfast/shared/text/duration";
import * as wrapping from "@holdfast/client/api/wrapping";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readData } from "../data-arguments.ts";
import { flag } from "../flag.ts";
import { UsageError } from "../usage-error.ts";

export const wrap = command({
  name: "wrap",
  summary: "Hand over data by a token that unwraps it, once",
  description:
    "The server keeps the data; whoever has the token gets it with `holdfast unwrap`, once, within " +
    "the time given. Values are given as for write. To wrap what a read answers, give -wrap-ttl " +
    "to that command.",
  examples: [
    "holdfast wrap -ttl 10m password=@password.txt",
    "holdfast wrap -field wrapping_token - < secret.json",
    "holdfast kv get -wrap-ttl 10m secret/app",
  ],
  flags: { ttl: flag.duration("How long it can be unwrapped").default(5n * MINUTE, "5m") },
  args: { data: argument.rest("name=value, name=@file, name=-, or - for JSON on standard input") },
  async run({ client, out, files, prompt }, { ttl, data }) {
    const body = await readData(data, { files, prompt, out });
    if (body === null) throw new UsageError("there is no data", "give name=value, or - for JSON");
    const answer = await wrapping.wrapData(client.wrapping(ttl), { data: body });
    await showAnswer(out, answer, "There is nothing to show.");
  },
});
