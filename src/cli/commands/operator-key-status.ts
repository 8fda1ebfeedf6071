// `holdfast operator key-status`

import { command } from "../command.ts";
import { keyStatusView } from "../key-status-view.ts";

export const operatorKeyStatus = command({
  name: "operator key-status",
  summary: "Show the encryption key in use: term, age, number of encryptions",
  examples: ["holdfast operator key-status"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { data } = await client.inRoot().request("GET", "sys/key-status");
    await out.show(data, keyStatusView(data));
  },
});
