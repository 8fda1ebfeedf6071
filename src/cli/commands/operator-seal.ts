// `holdfast operator seal`

import * as seal from "@holdfast/client/api/seal";
import { sealStatus } from "../awaited-server.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";

export const operatorSeal = command({
  name: "operator seal",
  summary: "Close the server: its keys leave memory",
  description:
    "Nothing but its state can be read until it is unsealed with key shares again. On a terminal it " +
    "asks first.",
  examples: ["holdfast operator seal", "holdfast operator seal -yes"],
  flags: { yes: flag.switch("Do not ask") },
  args: {},
  async run({ client, out, prompt, settings }, { yes }) {
    if ((await sealStatus(client.inRoot())).sealed === true) {
      out.hint("The server is sealed already.");
      return 0;
    }
    if (!yes && prompt.interactive) {
      const { shown } = settings.address.value;
      const question = `Seal ${shown}? Nobody gets a secret until enough shares have opened it again.`;
      if (!(await prompt.confirm(question))) {
        out.hint("Nothing was sealed.");
        return 1;
      }
    }
    await seal.seal(client);
    out.done("Success! The server is sealed.");
    return 0;
  },
});
