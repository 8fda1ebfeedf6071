// `holdfast replication status`

import * as replication from "@holdfast/client/api/replication";
import { command } from "../command.ts";
import { flag } from "../line/flag.ts";
import { historyView } from "./history-view.ts";
import { CALLS, KINDS } from "./kinds.ts";
import { bothView, statusView } from "./status-view.ts";

// Apart from 1, for probes: the server answers, and does not replicate as it should.
const TROUBLED = 2;

export const replicationStatus = command({
  name: "replication status",
  summary: "Show what this cluster is among others, how far behind, and what to do",
  description:
    "Of both kinds of replication, or with -kind of one. Needs no token, also on a secondary; a management token is told addresses and versions besides. Exit code 0 when all is well, or this cluster is on its own; 2 when a secondary does " +
    "not stream, is away or has not come yet, when nobody follows this primary, or when this primary is fenced because another cluster was promoted; 1 when the server " +
    "cannot be reached. Behind is in entries of the log, and the time since what is there was new. For programs the answer has dr and performance, or with -kind the fields of that one.",
  examples: [
    "holdfast replication status",
    "holdfast replication status -history",
    "holdfast replication status -kind performance -format=json",
  ],
  flags: {
    kind: flag.oneOf(KINDS, "Of disaster recovery, or of performance replication, alone"),
    history: flag.switch("With how far behind it was in the last hour"),
  },
  args: {},
  async run({ openly, out, clock }, { kind, history }) {
    const client = openly.inRoot();
    const input = history ? { history } : {};
    const now = clock.now();
    if (kind === undefined) {
      const { data } = await replication.readReplicationStatus(client, input);
      const more = history ? historyView : undefined;
      const found = bothView(data, now, (status) => (more === undefined ? [] : [more(status)]));
      await out.show(data, found.view);
      if (out.forPeople) for (const line of found.advice) out.hint(line);
      return found.troubled ? TROUBLED : 0;
    }
    const { data } = await CALLS[kind].status(client, input);
    const { view, troubled, advice } = statusView(data, now, kind);
    await out.show(data, history ? { parts: [view, historyView(data)] } : view);
    if (out.forPeople) for (const line of advice) out.hint(line);
    return troubled ? TROUBLED : 0;
  },
});
