// `holdfast replication merkle-check` and `reindex`: whether what is stored adds up, and what mends it.

import * as replication from "@holdfast/client/api/replication";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { command, type Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import type { View } from "../terminal/output.ts";
import { DR_TOKEN_FLAG, DR_TOKEN_HELP, operationCall } from "./operation-secret.ts";
import { modeOf } from "./kinds.ts";
import { confirmed } from "./primary.ts";

// Apart from 1, for probes: the server answers, and what it has stored does not add up.
const DAMAGED = 2;
const MAX_PLACES = 8; // named in a row

export const replicationMerkleCheck = command({
  name: "replication merkle-check",
  summary: "Check whether everything that this cluster has stored still adds up",
  description:
    "Sums are made again from leaves, with -deep leaves from the stored values too, which reads all data. Work goes on meanwhile. Exit " +
    "code 0 when all adds up, 2 when not. Needs `update` on sys/replication/merkle-check. " +
    DR_TOKEN_HELP,
  examples: [
    "holdfast replication merkle-check",
    "holdfast replication merkle-check -deep -dr-token token.txt",
  ],
  flags: { deep: flag.switch("Hash every stored value again as well"), ...DR_TOKEN_FLAG },
  args: {},
  async run(context, { deep, drToken }) {
    const { out } = context;
    const { data } = await checked(context, deep, drToken);
    const { merkle_corruption_report: report } = data;
    await out.show(data, reportView(report));
    if (report["corrupted_root"] !== true) return 0;
    out.hint(
      "Next: on a secondary `holdfast replication recover -dr-token FILE` (without it on one of performance replication), which compares with the primary and mends; on a primary " +
        "`holdfast replication reindex`, which refuses to drop what a secondary may still have.",
    );
    return DAMAGED;
  },
});

async function checked(context: Context, deep: boolean, drToken: string | undefined) {
  if ((await modeOf(context, "dr")) !== "secondary") {
    return replication.checkReplication(context.client.inRoot(), { deep });
  }
  const { client, body } = await operationCall(context, drToken);
  return replication.checkDrSecondary(client, { deep, ...body });
}

export const replicationReindex = command({
  name: "replication reindex",
  summary: "Make the trees of this cluster anew from what is stored",
  description:
    "Goes on after the answer, beside everything else; `replication status` shows how far it is. Keys that have vanished lose their " +
    "leaves: where other clusters may have them it is refused, and -force drops them everywhere. On a terminal -force asks first. Needs " +
    "`update` and `sudo` on sys/replication/reindex. " +
    DR_TOKEN_HELP,
  examples: ["holdfast replication reindex", "holdfast replication reindex -diff"],
  flags: {
    diff: flag.switch("Name every key in the server's log whose leaf was wrong"),
    force: flag.switch("Also where keys would be dropped"),
    yes: flag.switch("Do not ask"),
    ...DR_TOKEN_FLAG,
  },
  args: {},
  async run(context, { diff, force, yes, drToken }) {
    const { out, client, settings } = context;
    const question = `Make the trees of ${settings.address.value.display} anew, and drop what has vanished there?`;
    if (force && !(await confirmed(context, yes, question, "Nothing was changed."))) return 1;
    if ((await modeOf(context, "dr")) === "secondary") {
      const call = await operationCall(context, drToken);
      await replication.reindexDrSecondary(call.client, { diff, force, ...call.body });
    } else await replication.reindexReplication(client.inRoot(), { diff, force });
    out.done("Success! A reindex has begun.");
    out.hint("Next: `holdfast replication status` shows how far it is");
    return 0;
  },
});

function reportView(report: JsonObject): View {
  const trees = isObject(report["corrupted_tree_map"]) ? report["corrupted_tree_map"] : {};
  const damaged = report["corrupted_keys_count"];
  return {
    parts: [
      {
        columns: ["Tree", "Adds Up", "Wrong Pages and Subpages"],
        rows: Object.values(trees)
          .filter((tree): tree is JsonObject => isObject(tree))
          .map((tree) => [
            tree["tree_type"],
            tree["corrupted_subtree_root"] === true ? "NO" : "yes",
            placesOf(tree["corrupted_index_tuples_map"]),
          ]),
      },
      {
        pairs: [
          ["All Adds Up", report["corrupted_root"] === true ? "NO" : "yes"],
          ...(damaged === undefined ? [] : [["Damaged Values", damaged] as const]),
          ["Checked", report["last_corruption_check_epoch"]],
        ],
      },
    ],
  };
}

function placesOf(map: JsonValue | undefined): string {
  if (!isObject(map)) return "none";
  const places = Object.entries(map).map(([page, found]) => {
    const subpages = isObject(found) && Array.isArray(found["subpages"]) ? found["subpages"] : [];
    return subpages.length === 0 ? page : `${page}: ${subpages.join(" ")}`;
  });
  const more = places.length > MAX_PLACES ? [`${places.length - MAX_PLACES} more`] : [];
  return [...places.slice(0, MAX_PLACES), ...more].join(", ");
}
