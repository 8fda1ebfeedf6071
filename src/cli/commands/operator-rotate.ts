// `holdfast operator rotate`

import * as seal from "@holdfast/client/api/seal";
import { command } from "../command.ts";
import { keyStatusView } from "../key-status-view.ts";

export const operatorRotate = command({
  name: "operator rotate",
  summary: "Start a new encryption key for what is written from now on",
  description: "Older data stays readable under its older key. Shares do not change.",
  examples: ["holdfast operator rotate"],
  flags: {},
  args: {},
  async run({ client, out }) {
    await seal.rotate(client);
    const { data } = await seal.keyStatus(client);
    out.done("Success! A new encryption key is in use.");
    await out.show(data, keyStatusView(data));
  },
});
