// `holdfast replication filter set`, `show` and `delete`: what a performance secondary is not sent.

import * as replication from "@holdfast/client/api/replication";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

const ID = argument.required("Name of the secondary, or id of its cluster");
const ON_PRIMARY = "On the primary of performance replication.";

export const replicationFilterSet = command({
  name: "replication filter set",
  summary: "Say which mounts and namespaces a performance secondary is sent",
  description:
    `${ON_PRIMARY} -deny withholds what is named, and -allow everything else. Paths are written from root, with their namespace: kv/, auth/people/, team-a/kv/; ` +
    "a namespace stands for all that is in it, also what is made later. Nothing withheld is sent from then on, and what the secondary has of it goes there, its " +
    "leases first. Set it before the secondary joins, and nothing of it was ever there. Needs `update` on sys/replication/performance/primary/paths-filter/ID.",
  examples: [
    "holdfast replication filter set -deny eu-data/,team-eu/ region-b",
    "holdfast replication filter set -allow kv/ region-b",
  ],
  flags: {
    deny: flag.string("What is not sent, with commas between", "PATHS"),
    allow: flag.string("What alone is sent, with commas between; empty for nothing", "PATHS"),
  },
  args: { id: ID },
  async run({ client, out }, { deny, allow, id }) {
    if ((deny === undefined) === (allow === undefined)) {
      throw new UsageError(
        "either -deny or -allow is needed",
        "-deny eu-data/ withholds one mount",
      );
    }
    const mode = deny === undefined ? "allow" : "deny";
    const paths = (deny ?? allow ?? "").split(",").flatMap((path) => path.trim() || []);
    await replication.writePathsFilter(client.inRoot(), { id, mode, paths });
    const comes =
      mode === "deny" ? "what is named is withheld" : "what is named is sent, and nothing else";
    out.done(`Success! The filter of ${id} is set (${mode}): ${comes}.`);
    out.hint(`What that comes to: \`holdfast replication filter show ${id}\``);
  },
});

export const replicationFilterShow = command({
  name: "replication filter show",
  summary: "Show the filter of a performance secondary, and what it comes to",
  description: `${ON_PRIMARY} Needs \`read\` on sys/replication/performance/primary/paths-filter/ID and dynamic-filter/ID.`,
  examples: ["holdfast replication filter show region-b"],
  flags: {},
  args: { id: ID },
  async run({ client, out }, { id }) {
    const { data: filter } = await replication.readPathsFilter(client.inRoot(), { id });
    const { data: now } = await replication.readPrimaryDynamicFilter(client.inRoot(), { id });
    const withheld = [...now.dynamic_filtered_namespaces, ...now.dynamic_filtered_mounts];
    const lines = [
      `Mode      ${filter.mode}`,
      `Paths     ${filter.paths.join(", ") || "none"}`,
      "",
      withheld.length === 0 ? "Nothing is withheld now." : "Withheld now:",
      ...withheld.map((path) => `  ${path}`),
    ];
    await out.show({ ...filter, ...now }, { text: lines.join("\n") });
  },
});

export const replicationFilterDelete = command({
  name: "replication filter delete",
  summary: "Send a performance secondary everything that is shared",
  description: `${ON_PRIMARY} What was withheld comes back, and nothing else is copied. Needs \`delete\` on sys/replication/performance/primary/paths-filter/ID.`,
  examples: ["holdfast replication filter delete region-b"],
  flags: {},
  args: { id: ID },
  async run({ client, out }, { id }) {
    await replication.deletePathsFilter(client.inRoot(), { id });
    out.done(`Success! ${id} has no filter.`);
  },
});
