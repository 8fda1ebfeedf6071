// `holdfast operator step-down`

import { command } from "../command.ts";

export const operatorStepDown = command({
  name: "operator step-down",
  summary: "Let another node of the cluster become the active one",
  examples: ["holdfast operator step-down"],
  flags: {},
  args: {},
  async run({ client, out }) {
    await client.request("POST", "sys/step-down");
    out.done("Success! The active node gives way.");
  },
});
