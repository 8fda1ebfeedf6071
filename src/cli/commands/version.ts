// `holdfast version`

import { command } from "../command.ts";
import { VERSION } from "../../system/version.ts";

export const version = command({
  name: "version",
  summary: "Show the version of this program",
  description: "Asks no server; `holdfast status` and `holdfast doctor` tell the server's.",
  examples: ["holdfast version"],
  flags: {},
  args: {},
  async run({ out }) {
    await out.show({ version: VERSION }, { text: `Holdfast ${VERSION}` });
  },
});
