// `holdfast lease renew`

import { showDuration } from "@holdfast/shared/text/duration";
import * as leases from "@holdfast/client/api/leases";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { LEASE_HELP } from "../lease-view.ts";

export const leaseRenew = command({
  name: "lease renew",
  summary: "Let a lease last longer",
  description:
    "The time counts from now, not from the present end, and the server may grant less: what it " +
    "granted is shown.",
  examples: ["holdfast lease renew -increment 1h clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f"],
  flags: { increment: flag.duration("How long from now on (as at first)") },
  args: { lease: argument.required(LEASE_HELP) },
  async run({ client, out }, { lease, increment }) {
    const answer = await leases.renewLease(client, {
      lease_id: lease,
      ...(increment === undefined ? {} : { increment: showDuration(increment) }),
    });
    await showAnswer(out, answer, `Success! Renewed the lease: ${lease}`);
  },
});
