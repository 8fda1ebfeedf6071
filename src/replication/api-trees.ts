// The endpoints that check and mend the trees, on a secondary with an operation token and elsewhere with a right; and what
// only this cluster had written before another one was promoted.

import { type Access, access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { showTime } from "@holdfast/shared/text/time";
import type { ReplicationKind } from "../cluster/names.ts";
import { noSuchTail } from "./failures.ts";
import type { Replication } from "./replication.ts";
import type { TreeWork } from "./tree-work.ts";

const endpoint = endpointsOf<TreeWork>();
const listing = endpointsOf<DivergentOf>();

const KINDS: readonly ReplicationKind[] = ["dr", "performance"];

/** Of each kind of replication. */
export type DivergentOf = Readonly<Record<ReplicationKind, Pick<Replication, "divergent">>>;

const MAX_ENTRIES = 1000;

const check = (name: string, path: string, who: Access) =>
  endpoint({
    name,
    method: "POST",
    path,
    summary: "Check whether everything stored still adds up",
    description:
      "On a primary what is damaged is healed from a secondary that is connected, and on a secondary from its primary; the " +
      "report tells what was found before.",
    access: who,
    belongs: "local",
    rootOnly: true,
    input: {
      deep: wire.param("deep").boolean("Hash every stored value again as well").default(false),
    },
    output: out.object({
      merkle_corruption_report: out.anyObject("What does not add up, by tree, page and subpage"),
    }),
    handler: async (trees, { deep }) => {
      const { report, warnings } = await trees.check(deep);
      return reply({ merkle_corruption_report: report }, { warnings });
    },
  });

const reindex = (name: string, path: string, who: Access) =>
  endpoint({
    name,
    method: "POST",
    path,
    summary: "Make the trees anew from what is stored",
    description:
      "Goes on after the answer; the status shows it. It believes what is stored: what is damaged or gone is first healed " +
      "from another cluster, and where none has it this is refused, unless force is set.",
    access: who,
    belongs: "local",
    rootOnly: true,
    input: {
      diff: wire.param("diff").boolean("Log every key whose leaf was wrong").default(false),
      force: wire.param("force").boolean("Also where records would be lost").default(false),
      skipFlush: wire
        .param("skip_flush")
        .boolean("Known from other servers; there is no flush to skip")
        .default(false),
    },
    output: out.nothing,
    handler: async (trees, { diff, force, skipFlush }) => {
      await trees.reindex({ diff, force });
      const flush = skipFlush ? ["there is no flush here that could be skipped"] : [];
      return reply(undefined, { warnings: ["the trees are being made anew", ...flush] });
    },
  });

export const treesApi = [
  check(
    "checkDrSecondary",
    "/sys/replication/dr/secondary/merkle-check",
    access.drOperation("merkle-check"),
  ),
  reindex(
    "reindexDrSecondary",
    "/sys/replication/dr/secondary/reindex",
    access.drOperation("reindex"),
  ),
  check("checkReplication", "/sys/replication/merkle-check", access.capability),
  reindex("reindexReplication", "/sys/replication/reindex", access.sudo),
];

export const divergentApi = [
  listing({
    name: "listDivergent",
    method: "GET",
    path: "/sys/replication/divergent",
    summary: "Show which entries only this cluster had, and gave up for another primary",
    description:
      "They are kept for thirty days, and never merged. A performance primary gives up what is shared of its entries; what is " +
      "its own stays.",
    access: access.sudoOr("read"),
    rootOnly: true,
    input: {},
    output: out.object({
      tails: out.list(
        out.object({
          id: out.string("Name of the tail"),
          kind: out.string("Kind of replication: dr or performance"),
          entries: out.integer("How many entries it has"),
          fork: out.integer("Last index in common"),
          head: out.integer("Last index that was given up"),
          epoch: out.integer("Epoch of the log"),
          given_up: out.time("When"),
        }),
        "Each time that entries were given up",
      ),
    }),
    handler: (kinds) => ({
      tails: KINDS.flatMap((kind) =>
        kinds[kind].divergent.tails().map(({ id, fork, head, epoch, since, count }) => ({
          id,
          kind,
          entries: count,
          fork: Number(fork),
          head: Number(head),
          epoch,
          given_up: showTime(since),
        })),
      ),
    }),
  }),

  listing({
    name: "readDivergent",
    method: "GET",
    path: "/sys/replication/divergent/:id",
    summary: "Show what the entries of such a tail have changed",
    access: access.sudoOr("read"),
    rootOnly: true,
    input: {
      id: wire.path("id").string("Name of the tail"),
      after: wire
        .query("after")
        .integer("Only entries after this index", { min: 0, max: Number.MAX_SAFE_INTEGER })
        .default(0),
    },
    output: out.object({
      more: out.boolean("Whether there are more after the last of them"),
      entries: out.list(
        out.object({
          index: out.integer("Index"),
          time: out.time("When it was written"),
          changed: out.list(out.string("Key"), "What it has put"),
          deleted: out.list(out.string("Key"), "What it has deleted"),
        }),
        `The first ${MAX_ENTRIES} of them, in order`,
      ),
    }),
    handler: (kinds, { id, after }) => {
      const all = KINDS.map((kind) => kinds[kind].divergent);
      const divergent = all.find((one) => one.tails().some((tail) => tail.id === id));
      const tail = divergent?.tails().find((one) => one.id === id);
      if (divergent === undefined || tail === undefined) throw noSuchTail();
      const found = [...divergent.entries(id, { after: BigInt(after), max: MAX_ENTRIES })];
      const entries = found.map(({ index, time, keys }) => ({
        index: Number(index),
        time: showTime(time),
        changed: keys.filter(({ deleted }) => !deleted).map(({ key }) => key),
        deleted: keys.filter(({ deleted }) => deleted).map(({ key }) => key),
      }));
      return { entries, more: (found.at(-1)?.index ?? tail.head) < tail.head };
    },
  }),
];
