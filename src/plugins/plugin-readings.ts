// What is measured of the processes of plugins, by name.

import type { PluginReading } from "../house/readings.ts";
import type { ProcessesAtNeed } from "./processes-at-need.ts";

export function readingsOf(processes: ProcessesAtNeed): PluginReading[] {
  const { figures } = processes;
  if (figures === null) return [];
  const reports = processes.reports();
  return Array.from(figures.all, ([name, counts]) => {
    const states = new Map<string, number>();
    for (const report of reports) {
      if (report.name !== name) continue;
      states.set(report.state, (states.get(report.state) ?? 0) + 1);
    }
    const { starts, restarts, droppedLines, requests, storageCalls } = counts;
    return { name, processes: states, starts, restarts, droppedLines, requests, storageCalls };
  });
}
