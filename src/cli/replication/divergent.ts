// `holdfast replication divergent list` and `export`: what only this cluster had written when another one was promoted.

import * as replication from "@holdfast/client/api/replication";
import type { Client } from "@holdfast/client/client";
import { counted } from "@holdfast/shared/text/counted";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { longTime } from "../terminal/relative-time.ts";
import { DR_TOKEN_FLAG, DR_TOKEN_HELP, operationToken } from "./operation-secret.ts";
import { modeOf, ON_SECONDARY } from "./kinds.ts";

const NOT_FOUND = 3;
const RIGHT = `Needs \`read\` and \`sudo\` on sys/replication/divergent. ${DR_TOKEN_HELP}`;

export const divergentList = command({
  name: "replication divergent list",
  summary: "List what only this cluster had written, and gave up for another primary",
  description:
    "Each is the end of a log that was cut off by a promotion elsewhere. It is kept for thirty days and never merged. Exit code 3 when " +
    `there is none. ${RIGHT}`,
  examples: ["holdfast replication divergent list"],
  flags: DR_TOKEN_FLAG,
  args: {},
  async run(context, { drToken }) {
    const { out, clock } = context;
    const { client, how } = await reader(context, drToken);
    const { data } = await replication.listDivergent(client);
    if (data.tails.length === 0 && out.forPeople) {
      out.hint("Nothing was given up here in the last thirty days.");
      return NOT_FOUND;
    }
    await out.show(data, {
      columns: ["Tail", "Kind", "Entries", "From", "To", "Given Up"],
      rows: data.tails.map(({ id, kind, entries, fork, head, given_up: since }) => [
        id,
        kind,
        entries,
        fork + 1,
        head,
        longTime(since, clock.now()),
      ]),
      whole: ["Tail"],
    });
    if (data.tails.length === 0) return NOT_FOUND;
    const [only, ...others] = data.tails;
    const tail = only !== undefined && others.length === 0 ? only.id : "TAIL";
    out.hint(
      `Next: \`holdfast replication divergent export${how} ${tail} > lost.jsonl\` says which keys ${others.length === 0 ? "it" : "each of them"} had changed. Nobody has to discard anything: after thirty days it goes by itself`,
    );
    return 0;
  },
});

export const divergentExport = command({
  name: "replication divergent export",
  summary: "Write out what the entries of such a tail have changed, one line of JSON each",
  description:
    "Index, time, and the keys that were put or deleted: what to look for where something is missed. Values are not shown; they lie " +
    `in the server, sealed. ${RIGHT}`,
  examples: ["holdfast replication divergent export 1-42-57 > lost.jsonl"],
  flags: DR_TOKEN_FLAG,
  args: {
    tail: argument.required("Name of the tail, as in `holdfast replication divergent list`"),
  },
  async run(context, { tail: id, drToken }) {
    const { out } = context;
    const { client } = await reader(context, drToken);
    let count = 0;
    for (let after: number | undefined; ;) {
      const { data } = await replication.readDivergent(client, {
        id,
        ...(after === undefined ? {} : { after }),
      });
      for (const entry of data.entries) out.text(`${JSON.stringify(entry)}\n`);
      count += data.entries.length;
      after = data.entries.at(-1)?.index;
      if (after === undefined || !data.more) break;
      context.progress(`reading entries: ${count}`);
    }
    context.quiet();
    out.hint(`Exported ${counted(count, "entry", "entries")}.`);
  },
});

/** What is read has no body that a token could stand in. */
async function reader(
  context: Context,
  drToken: string | undefined,
): Promise<{ readonly client: Client; readonly how: string }> {
  if ((await modeOf(context, "dr")) !== "secondary") {
    return { client: context.client.inRoot(), how: "" };
  }
  const token = await operationToken(context, drToken);
  return { client: context.anonymous.inRoot().withToken(token), how: ON_SECONDARY.dr };
}
