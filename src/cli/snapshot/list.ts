// `holdfast snapshot list`: how automated snapshots go.

import { ApiError } from "@holdfast/client/api-error";
import * as snapshots from "@holdfast/client/api/snapshots";
import type { Client } from "@holdfast/client/client";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { shortTime } from "../terminal/relative-time.ts";
import { sizeText } from "../terminal/size.ts";
import { listDrills } from "./stored-drill.ts";

export const snapshotList = command({
  name: "snapshot list",
  summary:
    "List configurations of automated snapshots and how they go, or the attempts or drills of one",
  description:
    "With a name: its last attempts, newest first, or with -drills its last drills. Needs `list` with `sudo` on " +
    "sys/storage/raft/snapshot-auto/config and `read` on status/, history/ or drills/ beside it. Ends with 1 when the " +
    "last attempt of one of them, or the last drill, has failed.",
  examples: [
    "holdfast snapshot list",
    "holdfast snapshot list nightly",
    "holdfast snapshot list -drills nightly",
  ],
  flags: { drills: flag.switch("The drills of a configuration in place of its attempts") },
  args: { name: argument.optional("Of a configuration") },
  async run(context, { name, drills }) {
    const { client, out, clock } = context;
    if (drills && name === undefined) throw new UsageError("-drills needs the NAME of one");
    if (drills && name !== undefined) return listDrills(context, name);
    const now = clock.now();
    const size = (bytes: number) => (bytes === 0 ? "" : sizeText(bytes));
    if (name !== undefined) {
      const { attempts } = (await snapshots.readSnapshotHistory(client, { name })).data;
      if (attempts.length === 0) out.hint("There was no attempt yet.");
      if (attempts.length === 0 && out.forPeople) return 3;
      const rows = attempts.map((attempt) => [
        shortTime(attempt.start, now),
        size(attempt.size),
        attempt.error === "" ? attempt.url : attempt.error,
      ]);
      await out.show(attempts, { columns: ["Start", "Size", "Where, or what went wrong"], rows });
      return attempts.length === 0 ? 3 : attempts[0]?.error === "" ? 0 : 1;
    }
    const names = await namesOf(client);
    const found = await Promise.all(
      names.map(async (one) => ({
        name: one,
        ...(await snapshots.readSnapshotStatus(client, { name: one })).data,
      })),
    );
    if (found.length === 0) out.hint("There are no configurations of automated snapshots.");
    if (found.length === 0 && out.forPeople) return 3;
    const rows = found.map((status) => [
      status.name,
      status.state,
      shortTime(status.last_success, now),
      shortTime(status.last_proven, now),
      size(status.last_snapshot_size),
      status.stored_count,
      shortTime(status.next_snapshot_start, now),
      problemOf(status),
    ]);
    const columns = ["Name", "State", "Last Success", "Proven", "Size", "Stored", "Next", "Error"];
    await out.show(found, { columns, rows, whole: ["Name"] });
    if (found.length === 0) return 3;
    return found.some((status) => problemOf(status) !== "") ? 1 : 0;
  },
});

function problemOf(status: {
  readonly name: string;
  readonly last_snapshot_error: string;
  readonly last_drill_result: string | null;
}): string {
  const { name, last_snapshot_error: error, last_drill_result: drill } = status;
  if (error !== "" || drill !== "failed") return error;
  return `the last drill failed: \`holdfast snapshot list -drills ${name}\``;
}

async function namesOf(client: Client): Promise<readonly string[]> {
  try {
    return (await snapshots.listSnapshotConfigs(client)).data.keys;
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    if (error instanceof ApiError && error.status === 404 && error.errors.length === 0) return [];
    throw error;
  }
}
