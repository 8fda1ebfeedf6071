// What makes use of plugins here, for the catalog: mounts.

import type { PluginUse, PluginUses } from "../../plugins/ports.ts";
import type { Mounts } from "../../mounts/mounts.ts";

export function pluginUses(mounts: () => Mounts): PluginUses {
  return {
    *all(): Iterable<PluginUse> {
      for (const { record, namespace } of mounts().everywhere()) {
        const { uuid, path, kind, type, plugin } = record;
        const place = namespace.path === "" ? path : `${namespace.path}/${path}`;
        const version = plugin?.version ?? "";
        const isPlugin = plugin !== undefined;
        yield { uuid, place, namespace: namespace.path, type: kind, name: type, isPlugin, version };
      }
    },
    reload: async (uuid) => await mounts().reload(uuid),
  };
}
