// The endpoints of plugin runtimes.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { shortName } from "@holdfast/shared/text/some-names";
import { wire } from "@holdfast/shared/endpoint/wire";
import { noSuchRuntime, runtimeTypeUnknown } from "../catalog/failures.ts";
import { checkRuntimeName } from "../catalog/names.ts";
import { USUAL_OCI_RUNTIME } from "../catalog/runtime-rules.ts";
import type { RuntimeEntry } from "../ports.ts";
import type { PluginRuntimes } from "./plugin-runtimes.ts";

const endpoint = endpointsOf<PluginRuntimes>();

const CONTAINER = "container";
const PATH = `/sys/plugins/runtimes/catalog/${CONTAINER}/:name`;
const name = wire.path("name").string("Name of the runtime");
const type = wire
  .query("type")
  .string(`Only those of this type; there is ${CONTAINER}`)
  .default("");

const runtime = out.object({
  name: out.string("Name of the runtime"),
  type: out.oneOf([CONTAINER], "Its type"),
  oci_runtime: out.string("Container runtime that runs the image"),
  cgroup_parent: out.string("Control group that each container's is made in; empty for none"),
  cpu_nanos: out.integer("Billionths of a processor for each container; 0: no limit"),
  memory_bytes: out.integer("Memory of each container; 0: no limit"),
  rootless: out.boolean("Whether the container runtime runs without privileges"),
});

const listed = {
  summary: "List plugin runtimes",
  path: "/sys/plugins/runtimes/catalog",
  access: access.sudo,
  rootOnly: true,
  input: { type },
  output: out.object({ runtimes: out.list(runtime, "By name") }),
} as const;

export const pluginRuntimesApi = [
  endpoint({
    ...listed,
    name: "listPluginRuntimes",
    method: "LIST",
    handler: list,
  }),

  endpoint({
    ...listed,
    name: "readPluginRuntimes",
    method: "GET",
    handler: list,
  }),

  endpoint({
    name: "registerPluginRuntime",
    method: "POST",
    path: PATH,
    summary: "Register a plugin runtime, or replace one",
    description: "Containers that run keep their limits until their plugin is reloaded.",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: {
      name,
      rootless: wire
        .body("rootless")
        .boolean("Whether the container runtime runs without privileges")
        .default(false),
      ociRuntime: wire
        .body("oci_runtime")
        .string(`One of plugin_oci_runtimes; empty for ${USUAL_OCI_RUNTIME}`)
        .default(""),
      cgroupParent: wire
        .body("cgroup_parent")
        .string("Control group that each container's is made in: an absolute path")
        .default(""),
      cpuNanos: wire
        .body("cpu_nanos")
        .integer("Billionths of a processor for each container; 0 for no limit")
        .default(0),
      memoryBytes: wire
        .body("memory_bytes")
        .integer("Memory of each container in bytes; 0 for no limit")
        .default(0),
    },
    output: out.nothing,
    async handler(runtimes, entry) {
      return reply(undefined, { warnings: await runtimes.register(entry) });
    },
  }),

  endpoint({
    name: "readPluginRuntime",
    method: "GET",
    path: PATH,
    summary: "Read a plugin runtime",
    access: access.sudo,
    rootOnly: true,
    input: { name },
    output: runtime,
    handler({ runtimes }, input) {
      checkRuntimeName(input.name);
      const found = runtimes.find(input.name);
      if (found === null) throw noSuchRuntime();
      return show(found);
    },
  }),

  endpoint({
    name: "deletePluginRuntime",
    method: "DELETE",
    path: PATH,
    summary: "Remove a plugin runtime",
    description: "Refused while a registered plugin needs it.",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: { name },
    output: out.nothing,
    async handler({ runtimes }, input) {
      await runtimes.delete(input.name);
      return undefined;
    },
  }),
];

function list({ runtimes }: PluginRuntimes, input: { readonly type: string }) {
  if (input.type !== "" && input.type !== CONTAINER) {
    throw runtimeTypeUnknown(shortName(input.type), CONTAINER);
  }
  return { runtimes: runtimes.list().map(show) };
}

function show(entry: RuntimeEntry): OutputOf<typeof runtime> {
  return {
    name: entry.name,
    type: CONTAINER,
    oci_runtime: entry.ociRuntime || USUAL_OCI_RUNTIME,
    cgroup_parent: entry.cgroupParent,
    cpu_nanos: entry.cpuNanos,
    memory_bytes: entry.memoryBytes,
    rootless: entry.rootless,
  };
}
