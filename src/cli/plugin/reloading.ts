// `holdfast plugin reload` and `reload-status`.

import * as plugins from "@holdfast/client/api/plugins";
import type { JsonObject } from "@holdfast/shared/json/json";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { longTime } from "../terminal/relative-time.ts";
import { PLUGIN_TYPES } from "./arguments.ts";

const FAILED = 1;

interface Reloaded {
  readonly path: string;
  readonly error: string;
}

export const pluginReload = command({
  name: "plugin reload",
  summary: "Start anew whatever runs a plugin",
  description:
    "By the plugin's name, or by the paths of mounts from the root namespace on. It waits until each was tried: what cannot be started anew " +
    "goes on as it was. With -scope global every cluster with the same data does it, and the answer comes at once. Needs `update` on " +
    "sys/plugins/reload/backend.",
  examples: [
    "holdfast plugin reload totp",
    "holdfast plugin reload -mounts totp/,team/totp/",
    "holdfast plugin reload -scope global totp",
  ],
  flags: {
    type: flag.oneOf(PLUGIN_TYPES, "Only what runs it as this kind"),
    mounts: flag.string("Paths of mounts, with commas between, in place of a name", "PATHS"),
    scope: flag.oneOf(["global"], "In every cluster that shares the data"),
  },
  args: { name: argument.optional("Name of the plugin") },
  async run(context, { type, mounts, scope, name }) {
    if ((name === undefined) === (mounts === undefined)) {
      throw new UsageError("either a name or -mounts is needed", "holdfast plugin reload NAME");
    }
    const { client, out } = context;
    const where = scope === undefined ? {} : { scope };
    const root = client.inRoot();
    const { data } =
      name === undefined
        ? await plugins.reloadPluginMounts(root, { mounts: (mounts ?? "").split(","), ...where })
        : await plugins.reloadPlugin(root, { type: type ?? "unknown", name, ...where });
    if (scope !== undefined) {
      await out.show(data as JsonObject, { pairs: [["Reload", data.reload_id]] });
      out.hint(`How it stands: \`holdfast plugin reload-status ${data.reload_id}\``);
      return 0;
    }
    return await showMounts(context, data, data.mounts ?? []);
  },
});

export const pluginReloadStatus = command({
  name: "plugin reload-status",
  summary: "Show what became of a reload in the cluster that answers",
  description: "Each cluster is asked for itself. Remembered for a day.",
  examples: ["holdfast plugin reload-status 5b9c…"],
  flags: {},
  args: { id: argument.required("Id that the reload was answered with") },
  async run(context, { id }) {
    const { client, out, clock } = context;
    const { data } = await plugins.readPluginReload(client.inRoot(), { reload_id: id });
    const results = Object.entries(data.results);
    if (results.length === 0 && out.forPeople) {
      out.hint("It was ordered, and was not done here yet.");
      return 0;
    }
    if (!out.forPeople) {
      await out.show(data, { text: "" });
      return 0;
    }
    let code = 0;
    for (const [node, { timestamp, mounts }] of results) {
      out.hint(`${node}: ${longTime(timestamp, clock.now())}`);
      code = Math.max(code, await showMounts(context, data, mounts));
    }
    return code;
  },
});

async function showMounts(
  { out }: Context,
  data: object,
  mounts: readonly Reloaded[],
): Promise<number> {
  const rows = mounts.map(({ path, error }) => [path, error === "" ? "reloaded" : error]);
  if (rows.length === 0 && out.forPeople) out.hint("Nothing runs it.");
  else await out.show(data as JsonObject, { columns: ["Mount", "Result"], rows });
  return mounts.some(({ error }) => error !== "") ? FAILED : 0;
}
