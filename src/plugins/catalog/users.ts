// What makes use of an entry: whatever would be started by it when it is next opened.

import type { PluginId, PluginUse, PluginUses } from "../ports.ts";
import type { Catalog } from "./catalog.ts";

/** By their places. */
export async function usersOf(
  catalog: Pick<Catalog, "meant">,
  uses: Pick<PluginUses, "all">,
  { type, name, version }: PluginId,
): Promise<PluginUse[]> {
  const chosen = new Map<string, string | null>(); // by the version that is wanted
  const versionFor = (wanted: string) => {
    let found = chosen.get(wanted);
    if (found === undefined) {
      found = catalog.meant(type, name, wanted)?.version ?? null;
      chosen.set(wanted, found);
    }
    return found;
  };
  return (await uses.all())
    .filter((use) => use.isPlugin && use.type === type && use.name === name)
    .filter((use) => versionFor(use.version) === version)
    .toSorted((a, b) => (a.place < b.place ? -1 : 1));
}
