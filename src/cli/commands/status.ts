// `holdfast status`

import * as seal from "@holdfast/client/api/seal";
import { awaitedStatus, roleOf, sealStatus } from "../operator/seal-status.ts";
import { ON_UNINITIALISED } from "../advice/advice.ts";
import { command } from "../command.ts";
import { flag } from "../line/flag.ts";
import { sealView } from "../operator/seal-status.ts";

// Apart from 1, for probes: the server answers, and is not of use yet.
const SEALED = 2;

export const status = command({
  name: "status",
  summary: "Show whether the server is initialised, sealed and active",
  description:
    "Needs no token, and is about the node whatever the namespace. Exit code 0 when the server is unsealed, 2 when it is sealed or not " +
    "initialised (the state is printed either way), 1 when it cannot be reached. -alive makes 2 a 0, " +
    "for whoever restarts what does not answer: a sealed server waits for shares and is not broken. " +
    "-wait is for the moment after a start.",
  examples: [
    "holdfast status",
    "holdfast status -format json",
    "holdfast status -field sealed",
    "holdfast status -alive -wait 60s",
  ],
  flags: {
    alive: flag.switch("Exit code 0 whenever the server answers, also sealed or not initialised"),
    wait: flag.duration("Wait until it answers, in whatever state, for so long at most"),
  },
  args: {},
  withoutToken: true,
  async run(context, { alive, wait }) {
    const { out } = context;
    const client = context.client.inRoot();
    const status = await (wait === undefined
      ? sealStatus(client)
      : awaitedStatus(context, client, wait));
    const sealed = status.sealed === true;
    const leader = sealed ? {} : (await seal.leader(client)).data;
    const role = sealed ? null : await roleOf(client);
    const clusters = role === null ? {} : { replication_dr_mode: role };
    await out.show({ ...leader, ...clusters, ...status }, sealView(status, leader, role));
    if (status.initialized !== true) out.hint(`Next: ${ON_UNINITIALISED}`);
    else if (sealed) out.hint("Next: run `holdfast operator unseal`");
    else if (role === "secondary" && out.forPeople) {
      out.hint("It serves nobody until it is promoted: `holdfast replication status` says more");
    }
    return !alive && (sealed || status.initialized !== true) ? SEALED : 0;
  },
});
