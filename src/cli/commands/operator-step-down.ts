// `holdfast operator step-down`

import { isObject } from "@holdfast/shared/json/json";
import { AdvisedFailure } from "../advised-failure.ts";
import { command } from "../command.ts";

export const operatorStepDown = command({
  name: "operator step-down",
  summary: "Let another node of the cluster become the active one",
  examples: ["holdfast operator step-down"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { body } = await client.inRoot().request("GET", "sys/leader");
    if (isObject(body) && body["ha_enabled"] === false) {
      throw new AdvisedFailure(
        "unavailable",
        "single-node",
        "this server is a single node: there is no other to give way to",
        "`holdfast operator seal` closes it, if that is what you mean",
      );
    }
    await client.request("POST", "sys/step-down");
    out.done("Success! The active node gives way.");
  },
});
