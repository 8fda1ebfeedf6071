// `holdfast audit enable`

import * as audit from "@holdfast/client/api/audit";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readData } from "../data-arguments.ts";
import { flag } from "../flag.ts";

export const auditEnable = command({
  name: "audit enable",
  summary: "Enable an audit device",
  description:
    "With at least one device, a request runs only after one of them has recorded it. Enable two: " +
    "one that fails then stops nothing. Options are name=value, such as file_path, address, facility.",
  examples: [
    "holdfast audit enable file file_path=/var/lib/holdfast/audit/requests.log",
    "holdfast audit enable -path backup socket address=127.0.0.1:9090 socket_type=tcp",
  ],
  flags: {
    path: flag.string("Where it is listed (its type)", "PATH"),
    description: flag.string("What it is for"),
    local: flag.switch("Not on replicas"),
    skipTest: flag.switch("Do not write a test record first"),
  },
  args: {
    type: argument.required("file, socket or syslog"),
    options: argument.rest("name=value options of the device"),
  },
  async run({ client, out, files, prompt }, input) {
    const { type, description, local, skipTest } = input;
    const path = (input.path ?? type).replace(/^\/+|\/+$/g, "");
    const options = (await readData(input.options, { files, prompt, out })) ?? {};
    await audit.enableAuditDevice(client, {
      path,
      type,
      options,
      ...(description === undefined ? {} : { description }),
      ...(local ? { local } : {}),
      ...(skipTest ? { skip_test: true } : {}),
    });
    out.done(`Success! Enabled the ${type} audit device at: ${path}/`);
  },
});
