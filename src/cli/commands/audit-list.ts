// `holdfast audit list`

import { isObject } from "@holdfast/shared/json/json";
import { command } from "../command.ts";
import { flag } from "../flag.ts";

export const auditList = command({
  name: "audit list",
  summary: "List audit devices",
  examples: ["holdfast audit list -detailed"],
  flags: { detailed: flag.switch("Show options too") },
  args: {},
  async run({ client, out }, { detailed }) {
    const { data } = await client.request("GET", "sys/audit");
    const devices = isObject(data) ? Object.entries(data) : [];
    if (devices.length === 0) out.hint("No audit device is enabled: requests are not recorded.");
    const rows = devices.map(([path, device]) => {
      const { type, healthy, description, local, options } = isObject(device) ? device : {};
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
    if (devices.length > 0 || !out.forPeople) await out.show(data ?? {}, { columns, rows });
    return devices.length === 0 ? 3 : 0;
  },
});
