// `holdfast audit list`

import * as audit from "@holdfast/client/api/audit";
import { command } from "../command.ts";
import { flag } from "../flag.ts";

export const auditList = command({
  name: "audit list",
  summary: "List audit devices",
  examples: ["holdfast audit list -detailed"],
  flags: { detailed: flag.switch("Show options too") },
  args: {},
  async run({ client, out }, { detailed }) {
    const { data } = await audit.listAuditDevices(client);
    const devices = Object.entries(data);
    if (devices.length === 0) out.hint("No audit device is enabled: requests are not recorded.");
    const rows = devices.map(([path, device]) => {
      const { type, healthy, description, local, options } = device;
      const more = detailed ? [local, options] : [];
      return [path, type, healthy, description, ...more];
    });
    const columns = [
      "Path",
      "Type",
      "Healthy",
      "Description",
      ...(detailed ? ["Local", "Options"] : []),
    ];
    if (devices.length > 0 || !out.forPeople) await out.show(data, { columns, rows });
    return devices.length === 0 ? 3 : 0;
  },
});
