// Metrics of plugins, by their names in the catalog: operators choose those.

import type { Histogram, Registry } from "../base/metrics.ts";
import type { PluginReading } from "../house/readings.ts";

export function readPlugins(registry: Registry, plugins: () => readonly PluginReading[]): void {
  registry.readsPairs(
    { name: "holdfast_plugin_processes", help: "Processes of plugins by their state." },
    ["name", "state"],
    () =>
      plugins().flatMap(({ name, processes }) =>
        Array.from(processes, ([state, value]) => ({ at: [name, state], value })),
      ),
  );
  registry.readsPairs(
    {
      name: "holdfast_plugin_starts_total",
      help: "Starts of plugins: what is refused was not run.",
    },
    ["name", "result"],
    () =>
      plugins().flatMap(({ name, starts }) =>
        Object.entries(starts).map(([result, value]) => ({ at: [name, result], value })),
      ),
    "counter",
  );
  const counts = (metric: string, help: string, of: (plugin: PluginReading) => number) =>
    registry.readsPairs(
      { name: metric, help },
      ["name"],
      () => plugins().map((plugin) => ({ at: [plugin.name], value: of(plugin) })),
      "counter",
    );
  counts(
    "holdfast_plugin_restarts_total",
    "Processes of plugins that ended without being stopped.",
    ({ restarts }) => restarts,
  );
  counts(
    "holdfast_plugin_dropped_log_lines_total",
    "Lines of plugins that were printed faster than they are logged.",
    ({ droppedLines }) => droppedLines,
  );
  const times = (metric: string, help: string, of: (plugin: PluginReading) => Histogram) =>
    registry.readsHistograms({ name: metric, help }, "name", () =>
      plugins().map((plugin) => ({ at: plugin.name, histogram: of(plugin) })),
    );
  times(
    "holdfast_plugin_request_seconds",
    "Time of calls to plugins, from when they are made to their answer.",
    ({ requests }) => requests,
  );
  times(
    "holdfast_plugin_storage_call_seconds",
    "Time of calls of plugins to storage and whatever else the server does for them.",
    ({ storageCalls }) => storageCalls,
  );
}
