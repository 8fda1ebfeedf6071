// `holdfast replication status`

import * as replication from "@holdfast/client/api/replication";
import { command } from "../command.ts";
import { flag } from "../line/flag.ts";
import { historyView } from "./history-view.ts";
import { statusView } from "./status-view.ts";

// Apart from 1, for probes: the server answers, and does not replicate as it should.
const TROUBLED = 2;

export const replicationStatus = command({
  name: "replication status",
  summary: "Show what this cluster is among others, how far behind, and what to do",
  description:
    "Needs no token, also on a secondary; a management token is told addresses and versions besides. Exit code 0 when all is well, or this cluster is on its own; 2 when a secondary does " +
    "not stream, is away or has not come yet, when nobody follows this primary, or when this primary is fenced because another cluster was promoted; 1 when the server " +
    "cannot be reached. Behind is in entries of the log, and the time since what is there was new.",
  examples: [
    "holdfast replication status",
    "holdfast replication status -history",
    "holdfast replication status -format=json",
  ],
  flags: { history: flag.switch("With how far behind it was in the last hour") },
  args: {},
  async run({ openly, out, clock }, { history }) {
    const input = history ? { history } : {};
    const { data } = await replication.readDrStatus(openly.inRoot(), input);
    const { view, troubled, advice } = statusView(data, clock.now());
    await out.show(data, history ? { parts: [view, historyView(data)] } : view);
    if (out.forPeople) for (const line of advice) out.hint(line);
    return troubled ? TROUBLED : 0;
  },
});
