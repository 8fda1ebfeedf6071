// The endpoints of pins: one version of a plugin for whatever uses it.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { PLUGIN_TYPES } from "../ports.ts";
import type { Pins } from "./pins.ts";

const endpoint = endpointsOf<Pins>();

const type = wire.path("type").oneOf(PLUGIN_TYPES, "Kind of plugin");
const name = wire.path("name").string("Name of the plugin");

const pinned = out.object({
  name: out.string("Name of the plugin"),
  type: out.oneOf(PLUGIN_TYPES, "Kind of plugin"),
  version: out.string("Version that all that use it have"),
});

export const pluginPinsApi = [
  endpoint({
    name: "listPinnedPlugins",
    method: "GET",
    path: "/sys/plugins/pins",
    summary: "List plugins of which one version is pinned",
    access: access.capability,
    rootOnly: true,
    input: {},
    output: out.object({ pinned_versions: out.list(pinned, "By type and name") }),
    handler: ({ catalog }) => ({ pinned_versions: catalog.pins() }),
  }),

  endpoint({
    name: "readPluginPin",
    method: "GET",
    path: "/sys/plugins/pins/:type/:name",
    summary: "Read which version of a plugin is pinned",
    access: access.capability,
    rootOnly: true,
    input: { type, name },
    output: pinned,
    handler: (pins, input) => pins.read(input.type, input.name),
  }),

  endpoint({
    name: "pinPlugin",
    method: "POST",
    path: "/sys/plugins/pins/:type/:name",
    summary: "Pin a version of a plugin for whatever uses it",
    description:
      "Of what runs, what is reloaded or started after that. A pinned version is not deleted.",
    access: access.capability,
    belongs: "shared",
    rootOnly: true,
    input: {
      type,
      name,
      version: wire.body("version").string("A registered version", { max: 128 }).default(""),
    },
    output: out.nothing,
    async handler(pins, input) {
      const warnings = await pins.pin(input.type, input.name, input.version);
      return reply(undefined, { warnings });
    },
  }),

  endpoint({
    name: "unpinPlugin",
    method: "DELETE",
    path: "/sys/plugins/pins/:type/:name",
    summary: "Take the pin of a plugin away",
    access: access.capability,
    belongs: "shared",
    rootOnly: true,
    input: { type, name },
    output: out.nothing,
    async handler({ catalog }, input) {
      await catalog.unpin(input.type, input.name);
      return undefined;
    },
  }),
];
