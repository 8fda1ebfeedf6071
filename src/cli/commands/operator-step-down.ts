// `holdfast operator step-down`

import * as seal from "@holdfast/client/api/seal";
import { AdvisedFailure } from "../advised-failure.ts";
import { command } from "../command.ts";

export const operatorStepDown = command({
  name: "operator step-down",
  summary: "Let another node of the cluster become the active one",
  examples: ["holdfast operator step-down"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { data } = await seal.leader(client.inRoot());
    if (data.ha_enabled === false) {
      throw new AdvisedFailure(
        "unavailable",
        "single-node",
        "this server is a single node: there is no other to give way to",
        "`holdfast operator seal` closes it, if that is what you mean",
      );
    }
    await seal.stepDown(client);
    out.done("Success! The active node gives way.");
  },
});
