// `holdfast lease lookup`

import * as leases from "@holdfast/client/api/leases";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { LEASE_HELP, leaseView } from "../lease-view.ts";

export const leaseLookup = command({
  name: "lease lookup",
  summary: "Show a lease: when it was issued, when it ends, what stopped its revocation",
  examples: [
    "holdfast lease lookup clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f",
    "holdfast lease lookup -field ttl clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f",
  ],
  flags: {},
  args: { lease: argument.required(LEASE_HELP) },
  async run({ client, out, clock }, { lease }) {
    const { data } = await leases.lookupLease(client, { lease_id: lease });
    await out.show(data, leaseView(data, clock.now()));
  },
});
