// The room of plugins: what is registered, by what it is run, which version is meant, and what is mounted of it. Its processes run
// while the room is open: it opens before the mounts, and closes after them.

import type { Log } from "@holdfast/shared/log";
import type { Clock } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { pluginCatalogApi } from "./api/api-catalog.ts";
import { pluginPinsApi } from "./api/api-pins.ts";
import { pluginReloadApi, type ReloadsHere } from "./api/api-reload.ts";
import { pluginRuntimesApi } from "./api/api-runtimes.ts";
import { Pins } from "./api/pins.ts";
import { type BuiltIn, PluginCatalog } from "./api/plugin-catalog.ts";
import { PluginRuntimes } from "./api/plugin-runtimes.ts";
import { Catalog } from "./catalog/catalog.ts";
import { DeclaredPlugins } from "./catalog/declared-plugins.ts";
import type { EntryInput } from "./catalog/entry-rules.ts";
import { Registering } from "./catalog/registering.ts";
import { runtimeName } from "./catalog/runtime-rules.ts";
import { Runtimes } from "./catalog/runtimes.ts";
import { ForeignPlugins } from "./foreign/foreign-plugins.ts";
import type { ForeignHost } from "./foreign/host.ts";
import type { PluginUses } from "./ports.ts";
import { readingsOf } from "./plugin-readings.ts";
import type { ProcessesAtNeed } from "./processes-at-need.ts";
import { ReloadRows } from "./reload/reload-rows.ts";
import { Reloads } from "./reload/reloads.ts";

export interface PluginsNeeds {
  /** Of everything below shared/, and local/. */
  readonly shared: View;
  readonly local: View;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Name of this node. */
  readonly node: string;
  readonly builtIn: readonly BuiltIn[];
  readonly processes: ProcessesAtNeed;
  readonly host: Omit<ForeignHost, "processes" | "own">;
  /** What is mounted, and reloading it. */
  readonly uses: PluginUses;
  /** plugin_oci_runtimes, and whether one of them is there on this machine. */
  readonly ociRuntimes: readonly string[];
  readonly isInstalled: (program: string) => Promise<boolean>;
  readonly declared: readonly EntryInput[];
}

export interface PluginsParts {
  /** Also what says which plugin a name stands for. */
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly processes: ProcessesAtNeed;
  readonly uses: PluginUses;
  /** As types of engines. */
  readonly foreign: ForeignPlugins;
  readonly declaredPlugins: DeclaredPlugins;
  readonly faces: PluginFaces;
}

/** What answers the endpoints. */
interface PluginFaces {
  readonly catalog: PluginCatalog;
  readonly pins: Pins;
  readonly reload: ReloadsHere;
  readonly runtimes: PluginRuntimes;
}

type Part = Pick<PluginsParts, "faces">;

export const pluginsRoom: RoomPlan<PluginsNeeds, PluginsParts> = {
  name: "plugins",
  declares: [
    declares(
      "src/plugins/api/api-catalog.ts",
      pluginCatalogApi,
      ({ faces }: Part) => faces.catalog,
    ),
    declares("src/plugins/api/api-pins.ts", pluginPinsApi, ({ faces }: Part) => faces.pins),
    declares("src/plugins/api/api-reload.ts", pluginReloadApi, ({ faces }: Part) => faces.reload),
    declares(
      "src/plugins/api/api-runtimes.ts",
      pluginRuntimesApi,
      ({ faces }: Part) => faces.runtimes,
    ),
  ],
  build: (needs) => {
    const { shared, local, clock, log: parent, processes, host, uses, node, builtIn } = needs;
    const log = parent.child("plugin");
    const view = shared.sub("plugins/");
    const runtimes = new Runtimes(view);
    const catalog = new Catalog(view, runtimes);
    const foreign = new ForeignPlugins({ catalog, host: { ...host, processes } });
    const registering = new Registering({ catalog, files: processes, processes, uses });
    const rows = new ReloadRows(view.sub("reloads/"), local.sub("plugins/reloads/"));
    const reloads = new Reloads({ rows, catalog, processes, uses, clock, log });
    const declaredPlugins = new DeclaredPlugins({
      catalog,
      registering,
      reloads,
      log,
      isWrittenElsewhere: () => view.writtenElsewhere,
      declared: needs.declared,
    });
    const programs = new Map(needs.ociRuntimes.map((program) => [runtimeName(program), program]));
    const isInstalled = async (name: string) => {
      const program = programs.get(name);
      return program !== undefined && (await needs.isInstalled(program));
    };
    return {
      catalog,
      runtimes,
      processes,
      uses,
      foreign,
      declaredPlugins,
      faces: {
        catalog: new PluginCatalog({
          catalog,
          registering,
          builtIn,
          uses,
          reports: () => processes.reports(),
        }),
        pins: new Pins(catalog, uses),
        reload: { reloads, node },
        runtimes: new PluginRuntimes({ runtimes, allowed: [...programs.keys()], isInstalled }),
      },
      metrics: { plugins: () => readingsOf(processes) },
      open: () => processes.open(),
      close: () => processes.close(),
      whileFollowing: "opens",
      lead: async () => {
        await declaredPlugins.lead();
        reloads.lead();
      },
      rest: async () => {
        await reloads.rest();
        await declaredPlugins.rest();
      },
    };
  },
};
