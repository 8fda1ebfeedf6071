// The endpoints of drills.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { showTime } from "@holdfast/shared/text/time";
import { showPlan } from "./drill-plan.ts";
import { DRILL_RESULTS, type EndedDrill, MAX_DRILLS } from "./drill-state.ts";
import type { Drills, DrillStatus } from "./drills.ts";

const endpoint = endpointsOf<Drills>();

const BASE = "/sys/storage/raft/snapshot-auto";

const name = wire.path("name").string("Name of the configuration");

const status = {
  drill: out.string("When drills are made: off, a count of snapshots, or a time"),
  state: out.oneOf(
    ["waiting", "running", "disabled"],
    "What is done; disabled: this node makes no drills",
  ),
  next_drill: out.nullable(
    out.time("When the next one starts; null: with a snapshot that is to come, or never"),
  ),
  last_proven: out.nullable(out.time("When a snapshot of this configuration was last proven")),
  running: out.nullable(
    out.object({
      url: out.string("Where the snapshot lies that is read"),
      size: out.integer("Its bytes"),
      bytes: out.integer("Those that were read so far"),
    }),
  ),
};

const ended = out.object({
  start: out.time("Start"),
  end: out.time("End"),
  result: out.oneOf(
    DRILL_RESULTS,
    "proven: it restores; failed: it does not; not-made: the store did not give it; interrupted: the server stopped",
  ),
  url: out.string("Where the snapshot lies; empty where none was found"),
  size: out.integer("Its bytes"),
  problems: out.list(out.string("What is wrong"), "Nothing where it was proven"),
  snapshot: out.nullable(
    out.object({
      id: out.string("Its id"),
      index: out.integer("Index of the last write in it"),
      created: out.time("When it was made"),
      sha256: out.string("Its SHA-256 in hex"),
      entries: out.integer("Entries that it has"),
      opened_entries: out.integer("Sealed entries that opened"),
      data_keys: out.integer("Data keys in its keyring"),
    }),
  ),
  report: out.nullable(
    out.string("Id of the signed report, as sys/evidence has it; null where nothing was found out"),
  ),
});

export const drillsApi = [
  endpoint({
    name: "drillSnapshot",
    method: "POST",
    path: `${BASE}/drill/:name`,
    summary: "Prove now that the newest automated snapshot restores",
    description:
      "Reads it back from where it is stored, opens every entry in it, and checks sums, trees, index and counts; what " +
      "was found is signed. Answers when it has ended, whatever was found; after a minute with 202, and it goes on. " +
      "One that is under way is waited for; of all configurations there is one at a time.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    later: true,
    input: { name },
    output: out.object({ ...status, last: out.nullable(ended) }),
    async handler(drills, input, context) {
      const isOver = await drills.run(input.name, context.signal, (host) =>
        context.note({ target_host: host }),
      );
      const found = drills.status(input.name);
      const [last] = found.drills;
      const data = { ...statusOf(found), last: last === undefined ? null : endedOf(last) };
      return isOver ? data : reply(data, { status: 202 });
    },
  }),

  endpoint({
    name: "readSnapshotDrills",
    method: "GET",
    path: `${BASE}/drills/:name`,
    summary: "Read the last drills of automated snapshots",
    access: access.capability,
    rootOnly: true,
    input: { name },
    output: out.object({
      ...status,
      drills: out.list(ended, `Newest first, at most ${MAX_DRILLS}`),
    }),
    handler: (drills, input) => {
      const found = drills.status(input.name);
      return { ...statusOf(found), drills: found.drills.map(endedOf) };
    },
  }),
];

function statusOf({ config, state, next, lastProven, progress }: DrillStatus) {
  return {
    drill: showPlan(config.drill),
    state,
    next_drill: timeOf(next),
    last_proven: timeOf(lastProven),
    running: progress,
  };
}

function endedOf({ start, end, archive, ...drill }: EndedDrill) {
  return {
    start: showTime(BigInt(start)),
    end: showTime(BigInt(end)),
    result: drill.result,
    url: drill.url,
    size: drill.size,
    problems: drill.problems,
    snapshot:
      archive === null
        ? null
        : {
            id: archive.id,
            index: archive.index,
            created: archive.created,
            sha256: archive.sha256,
            entries: archive.entries,
            opened_entries: archive.opened,
            data_keys: archive.dataKeys,
          },
    report: drill.report,
  };
}

function timeOf(at: string | null): string | null {
  return at === null ? null : showTime(BigInt(at));
}
