// What makes use of plugins here, for the catalog: mounts, and what engines keep in them, such as connections to databases.

import type { PluginUse, PluginUses } from "../../plugins/ports.ts";
import type { Mounts } from "../../mounts/mounts.ts";

export function pluginUses(mounts: () => Mounts): PluginUses {
  return {
    async all(): Promise<readonly PluginUse[]> {
      const uses: PluginUse[] = [];
      const all = [...mounts().everywhere()]; // some may come and go meanwhile
      for (const { record, namespace: within } of all) {
        const { uuid, path, kind, type, plugin } = record;
        const namespace = within.path;
        const place = namespace === "" ? path : `${namespace}/${path}`;
        const version = plugin?.version ?? "";
        const isPlugin = plugin !== undefined;
        uses.push({ uuid, below: "", place, namespace, type: kind, name: type, isPlugin, version });
        for (const used of await usedBy(mounts(), uuid)) {
          const { place: below, ...which } = used;
          uses.push({
            ...which,
            uuid,
            below,
            namespace,
            place: `${place}${below}`,
            isPlugin: true,
          });
        }
      }
      return uses;
    },
    reload: async ({ uuid, below }) => {
      if (below === "") return await mounts().reload(uuid);
      const opened = mounts().byUuid(uuid);
      await opened?.type.reloadPlugin?.(opened.ref.engine, below);
    },
  };
}

async function usedBy(mounts: Mounts, uuid: string) {
  const opened = mounts.byUuid(uuid);
  return (await opened?.type.plugins?.(opened.ref.engine)) ?? [];
}
