// `holdfast audit list`, `enable`, `disable` and `hash`.

import { Secret } from "@holdfast/shared/secret";
import { ApiError } from "@holdfast/client/api-error";
import * as audit from "@holdfast/client/api/audit";
import type { Client } from "@holdfast/client/client";
import { showAnswer } from "../answer-view.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { readData, readValue } from "../line/data-arguments.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

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
    local: flag.switch("Of this region alone, and of who stands in for it"),
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

export const auditDisable = command({
  name: "audit disable",
  summary: "Disable an audit device",
  description:
    "Its records stay where they are, but its hashes can no longer be computed. On a terminal it asks " +
    "first.",
  examples: ["holdfast audit disable file", "holdfast audit disable -yes file"],
  flags: { yes: flag.switch("Do not ask") },
  args: { path: argument.required("Path as in `holdfast audit list`") },
  async run({ client, out, prompt }, { path, yes }) {
    const trimmed = path.replace(/^\/+|\/+$/g, "");
    // What the configuration declares is refused, whatever the answer to a question would be.
    if (!yes && prompt.interactive && !(await isDeclared(client, trimmed))) {
      const question = `Disable the audit device at ${trimmed}/? Its hashes can no longer be computed then.`;
      if (!(await prompt.confirm(question))) {
        out.hint("Nothing was disabled.");
        return 1;
      }
    }
    await audit.disableAuditDevice(client, { path: trimmed });
    out.done(`Success! Disabled the audit device at: ${trimmed}/`);
    return 0;
  },
});

/** False too for whoever may not list them. */
async function isDeclared(client: Client, path: string): Promise<boolean> {
  try {
    const { data } = await audit.listAuditDevices(client);
    return data[`${path}/`]?.declared === true;
  } catch (error) {
    if (error instanceof ApiError && error.kind === "denied") return false;
    throw error;
  }
}

export const auditHash = command({
  name: "audit hash",
  summary: "Hash a value as an audit device does, to find it in its records",
  examples: ["holdfast audit hash file", "holdfast audit hash file - < token.txt"],
  flags: {},
  args: {
    path: argument.required("Path of the audit device"),
    input: argument.optional("@FILE, or - for standard input; without it you are asked"),
  },
  async run(context, { path, input }) {
    const value = await read(context, input);
    const { client, out } = context;
    const answer = await audit.hashForAudit(client, { path, input: value.reveal() });
    await showAnswer(out, answer, "There is no hash.");
  },
});

async function read(context: Context, value: string | undefined): Promise<Secret<string>> {
  const { prompt, out } = context;
  if (value === "-" || value?.startsWith("@")) {
    return new Secret(await readValue("the value", value, context));
  }
  if (value !== undefined) {
    out.warn("a value on the command line stays in the shell's history; leave it out to be asked");
    return new Secret(value);
  }
  const typed = await prompt.secret("Value", { exact: true });
  if (typed === null) throw new UsageError("no value was given");
  return typed;
}
