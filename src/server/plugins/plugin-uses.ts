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
        yield { uuid, place, type: kind, name: type, isPlugin: plugin !== undefined, version };
      }
    },
    reload: async (uuid) => await mounts().reload(uuid),
  };
}
