// `holdfast operator key-status`

import * as seal from "@holdfast/client/api/seal";
import { command } from "../command.ts";
import { keyStatusView } from "../key-status-view.ts";

export const operatorKeyStatus = command({
  name: "operator key-status",
  summary: "Show the encryption key in use: term, age, number of encryptions",
  examples: ["holdfast operator key-status"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { data } = await seal.keyStatus(client.inRoot());
    await out.show(data, keyStatusView(data));
  },
});
