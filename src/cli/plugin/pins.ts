// `holdfast plugin pin`, `unpin` and `pins`.

import * as plugins from "@holdfast/client/api/plugins";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { NAME_ARGUMENT, TYPE_ARGUMENT } from "./arguments.ts";

const args = { type: TYPE_ARGUMENT, name: NAME_ARGUMENT };

export const pluginPins = command({
  name: "plugin pins",
  summary: "List the plugins of which one version is pinned",
  description: "Exit code 3 when there is none.",
  examples: ["holdfast plugin pins"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { data } = await plugins.listPinnedPlugins(client.inRoot());
    const pins = data.pinned_versions;
    if (pins.length === 0 && out.forPeople) out.hint("Nothing is pinned.");
    else {
      const rows = pins.map(({ type, name, version }) => [type, name, version]);
      await out.show(pins, { columns: ["Type", "Name", "Version"], rows });
    }
    return pins.length === 0 ? 3 : 0;
  },
});

export const pluginPin = command({
  name: "plugin pin",
  summary: "Pin a version of a plugin for whatever uses it",
  description:
    "It counts for what is started or reloaded from then on. Needs `update` on sys/plugins/pins/TYPE/NAME.",
  examples: ["holdfast plugin pin secret totp v1.2.0"],
  flags: {},
  args: { ...args, version: argument.required("A registered version") },
  async run({ client, out }, { type, name, version }) {
    await plugins.pinPlugin(client.inRoot(), { type, name, version });
    out.done(`Success! Pinned ${type} ${name} to ${version}.`);
    out.hint(`What runs gets it with: \`holdfast plugin reload -type ${type} ${name}\``);
  },
});

export const pluginUnpin = command({
  name: "plugin unpin",
  summary: "Take the pin of a plugin away",
  examples: ["holdfast plugin unpin secret totp"],
  flags: {},
  args,
  async run({ client, out }, { type, name }) {
    await plugins.unpinPlugin(client.inRoot(), { type, name });
    out.done(`Success! No version of ${type} ${name} is pinned.`);
  },
});
