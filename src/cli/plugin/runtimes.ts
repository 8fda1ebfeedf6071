// `holdfast plugin runtime register`, `list`, `info` and `deregister`.

import * as plugins from "@holdfast/client/api/plugins";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { sizeText } from "../terminal/size.ts";

const NAME = argument.required("Name of the runtime");
const RIGHT = "Needs `sudo` on sys/plugins/runtimes/catalog and below, besides what it does there.";

export const pluginRuntimeList = command({
  name: "plugin runtime list",
  summary: "List plugin runtimes",
  description: `Exit code 3 when there is none. ${RIGHT}`,
  examples: ["holdfast plugin runtime list"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { data } = await plugins.listPluginRuntimes(client.inRoot());
    const { runtimes } = data;
    if (runtimes.length === 0 && out.forPeople) out.hint("No plugin runtimes found.");
    else {
      const rows = runtimes.map((one) => [
        one.name,
        one.oci_runtime,
        one.rootless ? "yes" : "no",
        one.cpu_nanos === 0 ? "no limit" : `${one.cpu_nanos / 1e9} CPU`,
        one.memory_bytes === 0 ? "no limit" : sizeText(one.memory_bytes),
        one.cgroup_parent,
      ]);
      const columns = ["Name", "Run By", "Rootless", "Processors", "Memory", "Control Group"];
      await out.show(runtimes, { columns, rows, whole: ["Name"] });
    }
    return runtimes.length === 0 ? 3 : 0;
  },
});

export const pluginRuntimeInfo = command({
  name: "plugin runtime info",
  summary: "Show a plugin runtime",
  description: RIGHT,
  examples: ["holdfast plugin runtime info small"],
  flags: {},
  args: { name: NAME },
  async run({ client, out }, { name }) {
    const { data } = await plugins.readPluginRuntime(client.inRoot(), { name });
    await out.record(data);
  },
});

export const pluginRuntimeRegister = command({
  name: "plugin runtime register",
  summary: "Register a plugin runtime, or replace one",
  description: `Containers that run keep their limits until their plugin is reloaded. ${RIGHT}`,
  examples: [
    "holdfast plugin runtime register small",
    "holdfast plugin runtime register -oci-runtime runc -memory-bytes 268435456 -cpu-nanos 500000000 small",
  ],
  flags: {
    ociRuntime: flag.string("One of the server's plugin_oci_runtimes (runsc)", "NAME"),
    rootless: flag.switch("It runs without privileges"),
    cgroupParent: flag.string("Control group to make each container's in", "PATH"),
    cpuNanos: flag.integer("Billionths of a processor for each container"),
    memoryBytes: flag.integer("Memory of each container, in bytes"),
  },
  args: { name: NAME },
  async run({ client, out }, { ociRuntime, rootless, cgroupParent, cpuNanos, memoryBytes, name }) {
    await plugins.registerPluginRuntime(client.inRoot(), {
      name,
      ...(rootless ? { rootless } : {}),
      ...(ociRuntime === undefined ? {} : { oci_runtime: ociRuntime }),
      ...(cgroupParent === undefined ? {} : { cgroup_parent: cgroupParent }),
      ...(cpuNanos === undefined ? {} : { cpu_nanos: cpuNanos }),
      ...(memoryBytes === undefined ? {} : { memory_bytes: memoryBytes }),
    });
    out.done(`Success! Registered the plugin runtime ${name}.`);
  },
});

export const pluginRuntimeDeregister = command({
  name: "plugin runtime deregister",
  summary: "Remove a plugin runtime",
  description: `Refused while a registered plugin needs it. ${RIGHT}`,
  examples: ["holdfast plugin runtime deregister small"],
  flags: {},
  args: { name: NAME },
  async run({ client, out }, { name }) {
    await plugins.deletePluginRuntime(client.inRoot(), { name });
    out.done(`Success! Removed the plugin runtime ${name}.`);
  },
});
