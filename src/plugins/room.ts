// The room of plugins: what is registered, by what it is run, and which version is meant.

import type { View } from "../barrier/view.ts";
import type { RoomPlan } from "../house/room.ts";
import { Catalog } from "./catalog/catalog.ts";
import { Runtimes } from "./catalog/runtimes.ts";

export interface PluginsNeeds {
  /** Of everything below shared/. */
  readonly shared: View;
}

export interface PluginsParts {
  /** Also what says which plugin a name stands for. */
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
}

export const pluginsRoom: RoomPlan<PluginsNeeds, PluginsParts> = {
  name: "plugins",
  declares: [],
  build: ({ shared }) => {
    const view = shared.sub("plugins/");
    const runtimes = new Runtimes(view);
    return { catalog: new Catalog(view, runtimes), runtimes };
  },
};
