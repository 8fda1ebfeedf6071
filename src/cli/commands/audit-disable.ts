// `holdfast audit disable`

import * as audit from "@holdfast/client/api/audit";
import { argument } from "../argument.ts";
import { command } from "../command.ts";

export const auditDisable = command({
  name: "audit disable",
  summary: "Disable an audit device",
  description: "Its records stay where they are, but its hashes can no longer be computed.",
  examples: ["holdfast audit disable file"],
  flags: {},
  args: { path: argument.required("Path as in `holdfast audit list`") },
  async run({ client, out }, { path }) {
    const trimmed = path.replace(/^\/+|\/+$/g, "");
    await audit.disableAuditDevice(client, { path: trimmed });
    out.done(`Success! Disabled audit device (if it was enabled) at: ${trimmed}/`);
  },
});
