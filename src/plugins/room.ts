// The room of plugins: what is registered, by what it is run, which version is meant, and what is mounted of it. Its processes run
// while the room is open: it opens before the mounts, and closes after them.

import type { View } from "../barrier/view.ts";
import type { RoomPlan } from "../house/room.ts";
import { Catalog } from "./catalog/catalog.ts";
import { Runtimes } from "./catalog/runtimes.ts";
import { ForeignPlugins } from "./foreign/foreign-plugins.ts";
import type { ForeignHost } from "./foreign/host.ts";
import type { PluginUses } from "./ports.ts";
import type { ProcessesAtNeed } from "./processes-at-need.ts";

export interface PluginsNeeds {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly processes: ProcessesAtNeed;
  readonly host: Omit<ForeignHost, "processes" | "own">;
  /** What is mounted, and reloading it. */
  readonly uses: PluginUses;
}

export interface PluginsParts {
  /** Also what says which plugin a name stands for. */
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly processes: ProcessesAtNeed;
  readonly uses: PluginUses;
  /** As types of engines. */
  readonly foreign: ForeignPlugins;
}

export const pluginsRoom: RoomPlan<PluginsNeeds, PluginsParts> = {
  name: "plugins",
  declares: [],
  build: ({ shared, processes, host, uses }) => {
    const view = shared.sub("plugins/");
    const runtimes = new Runtimes(view);
    const catalog = new Catalog(view, runtimes);
    const foreign = new ForeignPlugins({ catalog, host: { ...host, processes } });
    return {
      catalog,
      runtimes,
      processes,
      uses,
      foreign,
      open: () => processes.open(),
      close: () => processes.close(),
      whileFollowing: "opens",
    };
  },
};
