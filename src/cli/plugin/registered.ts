// `holdfast plugin list`, `info` and `deregister`.

import type { JsonValue } from "@holdfast/shared/json/json";
import * as plugins from "@holdfast/client/api/plugins";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { sizeText } from "../terminal/size.ts";
import type { View } from "../terminal/output.ts";
import { NAME_ARGUMENT, PLUGIN_TYPES, TYPE_ARGUMENT, VERSION_FLAG } from "./arguments.ts";

const NOT_FOUND = 3;

export const pluginList = command({
  name: "plugin list",
  summary: "List plugins, built in and registered",
  description:
    "Without -detailed: names by type, as mounts call them. Exit code 3 when there is none of the type.",
  examples: ["holdfast plugin list", "holdfast plugin list -detailed secret"],
  flags: { detailed: flag.switch("Each version, and the sums of what is registered") },
  args: { type: argument.optional("Only those of this type", { choices: PLUGIN_TYPES }) },
  async run({ client, out }, { detailed, type }) {
    const { data } = await plugins.readPluginCatalog(client.inRoot());
    const all = data.detailed.filter((one) => type === undefined || one.type === type);
    if (all.length === 0 && out.forPeople) {
      out.hint("No plugins found.");
      return NOT_FOUND;
    }
    if (detailed) {
      const rows = all.map((one): (JsonValue | undefined)[] => [
        one.type,
        one.name,
        one.version || "none",
        one.builtin ? "built in" : (one.sha256 ?? "").slice(0, 12),
        one.oci_image === undefined ? "" : `${one.oci_image} (${one.runtime ?? "usual runtime"})`,
      ]);
      const hasImages = rows.some((row) => row[4] !== "");
      const columns = ["Type", "Name", "Version", "SHA-256", ...(hasImages ? ["Image"] : [])];
      const cells = rows.map((row) => row.slice(0, columns.length));
      await out.show(all, { columns, rows: cells, whole: ["Name", "Version"] });
    } else {
      // As new mounts get them: the last counts.
      const builtIn = all.filter((one) => one.builtin);
      const plain = all.filter((one) => !one.builtin && one.version === "");
      const chosen = [...all, ...builtIn, ...plain];
      const names = new Map(chosen.map((one) => [`${one.type} ${one.name}`, one]));
      const rows = [...names.values()].map((one) => [
        one.type,
        one.name,
        one.builtin ? "built in" : "registered",
      ]);
      await out.show(all, { columns: ["Type", "Name", "Origin"], rows });
    }
    return all.length === 0 ? NOT_FOUND : 0;
  },
});

export const pluginInfo = command({
  name: "plugin info",
  summary: "Show a plugin, what uses it and what runs of it",
  description:
    "Its environment is shown to nobody. Processes are those of the cluster that answers. Needs `read` and `sudo` on " +
    "sys/plugins/catalog/TYPE/NAME.",
  examples: [
    "holdfast plugin info secret totp",
    "holdfast plugin info -version v1.2.0 secret totp",
  ],
  flags: VERSION_FLAG,
  args: { type: TYPE_ARGUMENT, name: NAME_ARGUMENT },
  async run({ client, out }, { version, type, name }) {
    const input = { type, name, ...(version === undefined ? {} : { version }) };
    const { data } = await plugins.readPlugin(client.inRoot(), input);
    const { mounts = [], processes = [] } = data;
    const pairs = [
      ["Name", data.name],
      ["Version", data.version || "none"],
      ["Reports", data.reported_version],
      [
        "Origin",
        data.builtin ? "built in" : data.declared === true ? "configuration" : "registered",
      ],
      ["Command", data.command],
      ["Arguments", data.args.join(" ")],
      ["SHA-256", data.sha256],
      ["Image", data.oci_image],
      ["Runtime", data.runtime],
      ["Network", data.network],
      ["Mounts", mounts.map(({ path }) => path).join(" ") || "none"],
    ].filter(([, value]) => value !== undefined && value !== "") as [string, string][];
    const parts: View[] = [{ pairs }];
    if (processes.length > 0) {
      const rows = processes.map((one) => [
        one.state,
        one.pid ?? "",
        one.memory_bytes === null ? "" : sizeText(one.memory_bytes),
        one.users,
        one.restarts,
        one.runner ?? "",
        one.last_cause ?? "",
      ]);
      const columns = ["Process", "PID", "Memory", "Users", "Restarts", "Run By", "Last Cause"];
      parts.push({ columns, rows });
    }
    await out.show(data, { parts });
  },
});

export const pluginDeregister = command({
  name: "plugin deregister",
  summary: "Remove a plugin from the catalog",
  description:
    "What runs of it goes on until its process ends or the server is unsealed again. Its file stays where it is. On a terminal it asks " +
    "first where something uses it. Needs `delete` and `sudo` on sys/plugins/catalog/TYPE/NAME.",
  examples: ["holdfast plugin deregister -version v1.2.0 secret totp"],
  flags: { ...VERSION_FLAG, yes: flag.switch("Do not ask") },
  args: { type: TYPE_ARGUMENT, name: NAME_ARGUMENT },
  async run({ client, out, prompt }, { version, yes, type, name }) {
    const root = client.inRoot();
    const input = { type, name, ...(version === undefined ? {} : { version }) };
    const which = `${type} ${name}${version === undefined ? "" : ` ${version}`}`;
    if (!yes && prompt.interactive) {
      const { data } = await plugins.readPlugin(root, input);
      const paths = (data.mounts ?? []).map(({ path }) => path);
      // What runs of it was perhaps begun when something else was pinned, and is started by another one the next time.
      const isRunning = (data.processes ?? []).some(({ users }) => users > 0);
      const isMeant = version !== undefined || data.version === "";
      if (isMeant && (paths.length > 0 || isRunning)) {
        const where = paths.length > 0 ? `is in use at ${paths.join(", ")}` : "runs here";
        const sure = await prompt.confirm(`${which} ${where}. Remove it?`);
        if (!sure) {
          out.hint("Nothing was removed.");
          return 1;
        }
      }
    }
    await plugins.deletePlugin(root, input);
    out.done(`Success! There is no ${which} in the catalog.`);
    return 0;
  },
});
