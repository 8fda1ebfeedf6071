// `holdfast operator seal`

import { command } from "../command.ts";

export const operatorSeal = command({
  name: "operator seal",
  summary: "Close the server: its keys leave memory",
  description: "Nothing but its state can be read until it is unsealed with key shares again.",
  examples: ["holdfast operator seal"],
  flags: {},
  args: {},
  async run({ client, out }) {
    await client.request("POST", "sys/seal");
    out.done("Success! The server is sealed.");
  },
});
