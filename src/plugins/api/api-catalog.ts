// The endpoints of the plugin catalog.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type Output, type OutputOf } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { PLUGIN_TYPES, type PluginType } from "../ports.ts";
import { idOf, type PluginCatalog, type CatalogItem } from "./plugin-catalog.ts";

const endpoint = endpointsOf<PluginCatalog>();

const type = wire.path("type").oneOf(PLUGIN_TYPES, "What kind of plugin it is");
const name = wire.path("name").string("Name of the plugin");
const version = (help: string) => wire.param("version").string(help, { max: 128 }).default("");

const SUPPORTED = "supported";
const STATUS = out.optional(out.oneOf([SUPPORTED], "Of what is built in: whether it will go"));
const IMAGE = out.optional(out.string("Image that it is run from"));
const RUNTIME = out.optional(out.string("Plugin runtime that runs the image"));

const listedPlugin = out.object({
  type: out.oneOf(PLUGIN_TYPES, "Kind of plugin"),
  name: out.string("Name that mounts call it by"),
  version: out.string("Version; empty for one that was registered without"),
  builtin: out.boolean("Part of the server, and not registered"),
  sha256: out.optional(out.string("Sum of the file, or of the configuration of the image")),
  oci_image: IMAGE,
  runtime: RUNTIME,
  deprecation_status: STATUS,
});

const names = out.optional(
  out.list(out.string("Name"), "Names that stand for one without a version being said"),
);

const plugin = out.object({
  name: out.string("Name that mounts call it by"),
  version: out.string("Version; empty for one that was registered without"),
  builtin: out.boolean("Part of the server, and not registered"),
  command: out.string("File in the plugin directory, or program in the image"),
  args: out.list(out.string("Argument"), "What it is started with"),
  sha256: out.string("Sum of the file, or of the configuration of the image"),
  oci_image: IMAGE,
  runtime: RUNTIME,
  network: out.optional(out.oneOf(["none", "host"], "What the container reaches")),
  deprecation_status: STATUS,
  reported_version: out.optional(
    out.string("What it said of its version when it was registered; empty where it said nothing"),
  ),
  declared: out.optional(
    out.boolean("Comes from the configuration file and can be changed only there"),
  ),
  mounts: out.optional(
    out.list(
      out.object({
        path: out.string("Path from the root namespace on, of a mount or of a connection in one"),
        namespace: out.string("Path of its namespace; empty for root"),
        version: out.string("Version that it is to have; empty: whichever is chosen"),
      }),
      "What makes use of it in this cluster",
    ),
  ),
  processes: out.optional(
    out.list(
      out.object({
        state: out.oneOf(
          ["absent", "starting", "ready", "stopping", "waiting"],
          "waiting: it failed, and is started again after a pause",
        ),
        pid: out.nullable(out.integer("Number of the process")),
        memory_bytes: out.nullable(out.integer("What it has in memory")),
        runner: out.nullable(out.string("How it is run")),
        users: out.integer("How many mounts or connections share it"),
        restarts: out.integer("How often it was started again"),
        sha256: out.string("Sum of what runs"),
        last_cause: out.nullable(out.string("Why it ended, or did not start, the last time")),
      }),
      "What runs of it in this cluster",
    ),
  ),
});

const wroteOrNothing: Output<{ readonly output: readonly string[] } | undefined> = out.object({
  output: out.list(out.string("Text"), "What the plugin wrote where it did not start"),
});

const byType = PLUGIN_TYPES.map((one) =>
  endpoint({
    name: `list${one[0]?.toUpperCase()}${one.slice(1)}Plugins`,
    method: "LIST",
    path: `/sys/plugins/catalog/${one}`,
    summary: `List plugins of type ${one} by name`,
    description:
      "What is built in, and what is registered without a version. The detailed list of the whole catalog has all.",
    access: access.capability,
    rootOnly: true,
    input: {},
    output: out.keys("Names of the plugins"),
    handler: (catalog) => ({ keys: catalog.names(one) }),
  }),
);

export const pluginCatalogApi = [
  endpoint({
    name: "readPluginCatalog",
    method: "GET",
    path: "/sys/plugins/catalog",
    summary: "List all plugins, built in and registered",
    access: access.capability,
    rootOnly: true,
    input: {},
    output: out.object({
      auth: names,
      database: names,
      secret: names,
      detailed: out.list(listedPlugin, "By type, name and version"),
    }),
    handler(catalog) {
      const known = (kind: PluginType) => {
        const all = catalog.names(kind);
        return all.length === 0 ? {} : { [kind]: all };
      };
      return {
        ...known("auth"),
        ...known("database"),
        ...known("secret"),
        detailed: catalog.all().map(showListed),
      };
    },
  }),

  ...byType,

  endpoint({
    name: "registerPlugin",
    method: "POST",
    path: "/sys/plugins/catalog/:type/:name",
    summary: "Register a plugin, or replace one",
    description:
      "The plugin is started once to hear what it is. What that finds is a warning, unless `verify` says that it must start. " +
      "What runs of an entry that is replaced goes on until it is reloaded. What the plugin wrote where it did not start is in " +
      "`output` of the answer.",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: {
      type,
      name,
      verify: wire.query("verify").boolean("Refuse it where it cannot be started").default(false),
      version: version("Semantic version, to be had beside others; empty for none"),
      sha256: wire
        .body("sha256", { aliases: ["sha_256"] })
        .string("SHA-256 of the file, or of the configuration of the image: 64 digits", {
          max: 1024,
        })
        .default(""),
      command: wire
        .body("command")
        .string("Name of a file in the plugin directory; with an image, a program in it")
        .default(""),
      args: wire.body("args").list("What it is started with").default([]),
      env: wire
        .body("env")
        .secrets("Variables of its environment, each NAME=value; never shown", { max: 1000 })
        .optional(),
      ociImage: wire
        .body("oci_image")
        .string("Image to run it from, in a container; without a tag")
        .default(""),
      runtime: wire
        .body("runtime")
        .string("Plugin runtime to run the image by, default the usual one; or, of bwrap, a file")
        .default(""),
      network: wire
        .body("network")
        .oneOf(["none", "host"], "What a container reaches")
        .default("none"),
    },
    output: wroteOrNothing,
    async handler(catalog, { verify, env = [], ...input }, { signal }) {
      const entry = { ...input, env: env.map((one) => one.reveal()) };
      const { warnings, output } = await catalog.registering.register(entry, { verify, signal });
      return reply(output.length === 0 ? undefined : { output }, { warnings });
    },
  }),

  endpoint({
    name: "readPlugin",
    method: "GET",
    path: "/sys/plugins/catalog/:type/:name",
    summary: "Read a plugin, what uses it and what runs of it",
    description:
      "Without a version: the one that has none, else what is built in, else the only one. Its environment is never shown.",
    access: access.sudo,
    rootOnly: true,
    input: {
      type,
      name,
      version: wire.query("version").string("Which one", { max: 128 }).default(""),
    },
    output: plugin,
    async handler(catalog, input) {
      const { item, warnings } = catalog.read(input.type, input.name, input.version);
      return reply(await show(catalog, item), { warnings });
    },
  }),

  endpoint({
    name: "deletePlugin",
    method: "DELETE",
    path: "/sys/plugins/catalog/:type/:name",
    summary: "Remove a plugin from the catalog",
    description: "What runs of it goes on, and is not started again. Its file is left where it is.",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: { type, name, version: version("Which one; empty for the one without a version") },
    output: out.nothing,
    async handler(catalog, input) {
      const warnings = await catalog.delete(input.type, input.name, input.version);
      return reply(undefined, { warnings });
    },
  }),
];

function showListed(item: CatalogItem): OutputOf<typeof listedPlugin> {
  const { type: kind, name: called, version: which } = idOf(item);
  const id = { type: kind, name: called, version: which };
  if (!("entry" in item)) return { ...id, builtin: true, deprecation_status: SUPPORTED };
  const { sha256, ociImage, runtime } = item.entry;
  return {
    ...id,
    builtin: false,
    sha256,
    ...(ociImage === "" ? {} : { oci_image: ociImage }),
    ...(runtime === "" ? {} : { runtime }),
  };
}

async function show(catalog: PluginCatalog, item: CatalogItem): Promise<OutputOf<typeof plugin>> {
  const uses = await catalog.usesOf(item);
  const mounts = uses.map(({ place, namespace, version: wanted }) => ({
    path: place,
    namespace,
    version: wanted,
  }));
  if (!("entry" in item)) {
    const { name: called, version: which } = item.builtIn;
    const nothing = { command: "", args: [], sha256: "" };
    return {
      name: called,
      version: which,
      builtin: true,
      ...nothing,
      deprecation_status: SUPPORTED,
      mounts,
    };
  }
  const {
    name: called,
    version: which,
    command,
    args,
    sha256,
    ociImage,
    runtime,
    network,
  } = item.entry;
  return {
    name: called,
    version: which,
    builtin: false,
    command,
    args,
    sha256,
    ...(ociImage === "" ? {} : { oci_image: ociImage, network }),
    ...(runtime === "" ? {} : { runtime }),
    reported_version: item.entry.reportedVersion,
    declared: item.entry.declared,
    mounts,
    processes: catalog.processesOf(item).map((report) => ({
      state: report.state,
      pid: report.pid,
      memory_bytes: report.memory,
      runner: report.runner,
      users: report.users,
      restarts: report.restarts,
      sha256: report.sha256,
      last_cause: report.lastCause,
    })),
  };
}
