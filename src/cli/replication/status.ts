// `holdfast replication status`

import * as replication from "@holdfast/client/api/replication";
import { command } from "../command.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { historyView } from "./history-view.ts";
import { CALLS, KINDS } from "./kinds.ts";
import { bothView, statusView } from "./status-view.ts";
import { topologyView } from "./topology-view.ts";

// Apart from 1, for probes: the server answers, and does not replicate as it should.
const TROUBLED = 2;

export const replicationStatus = command({
  name: "replication status",
  summary: "Show what this cluster is among others, how far behind, and what to do",
  description:
    "Of both kinds of replication, or with -kind of one. Needs no token, also on a secondary; a management token is told addresses and versions besides. Exit code 0 when all is well, or this cluster is on its own; 2 when a secondary does " +
    "not stream, is away or has not come yet, when nobody follows this primary, where a primary or a disaster-recovery secondary has no cluster port, or when this primary is fenced because another cluster was promoted; 1 when the server " +
    "cannot be reached. Behind is in entries of the log, and the time since what is there was new. For programs the answer has dr and performance, or with -kind the fields of that one. " +
    "With -topology the whole set is drawn instead, as far as this cluster knows it or was told: who is primary of what, who follows and stands in for whom, how far behind, what filters withhold and what is " +
    "not reached; the exit code is 2 as well when that is the case anywhere in it, and the answer has topology besides.",
  examples: [
    "holdfast replication status",
    "holdfast replication status -history",
    "holdfast replication status -topology",
    "holdfast replication status -kind performance -format=json",
  ],
  flags: {
    kind: flag.oneOf(KINDS, "Of disaster recovery, or of performance replication, alone"),
    history: flag.switch("With how far behind it was in the last hour"),
    topology: flag.switch("The whole set in one picture"),
  },
  args: {},
  async run({ openly, out, clock }, { kind, history, topology }) {
    const client = openly.inRoot();
    if (topology) {
      if (kind !== undefined || history)
        throw new UsageError(
          "-topology is of both kinds and of now: it goes without -kind and -history",
        );
      const { data } = await replication.readReplicationStatus(client, { topology });
      const own = bothView(data, clock.now());
      const { text, troubled, advice } = topologyView(data.topology);
      await out.show(data, { text });
      if (out.forPeople) for (const line of [...own.advice, ...advice]) out.hint(line);
      return own.troubled || troubled ? TROUBLED : 0;
    }
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
