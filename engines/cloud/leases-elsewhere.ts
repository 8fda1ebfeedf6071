// Leases that other regions have given by a shared mount: leases are of the cluster that gave them, and roles are of all.

import type { OwnLeases } from "@holdfast/plugin-sdk/engine-services";
import { leasesUncounted } from "./failures.ts";

/** Below all of these places, before anything is deleted. Refuses where a region has not answered, unless somebody has said that it does not matter. */
export async function countedElsewhere(
  leases: Pick<OwnLeases, "elsewhere">,
  places: readonly string[],
  { force }: { readonly force: boolean },
): Promise<number> {
  let [count, silent] = [0, 0];
  for (const place of places) {
    const found = await leases.elsewhere(place, { revoke: false });
    count += found.count;
    silent = Math.max(silent, found.silent);
  }
  if (silent > 0 && !force) throw leasesUncounted(silent);
  return count;
}

/** When the role is gone, so that none is given by it any more, here and everywhere else: what is left of it. */
export async function leftEverywhere(
  leases: Pick<OwnLeases, "elsewhere" | "count">,
  places: readonly string[],
): Promise<{ readonly count: number; readonly silent: number }> {
  let [count, silent] = [0, 0];
  for (const place of places) {
    const found = await leases.elsewhere(place, { revoke: false });
    count += found.count + (await leases.count(place));
    silent = Math.max(silent, found.silent);
  }
  return { count, silent };
}

/** Here and everywhere else. Gives warnings. */
export async function revokedEverywhere(
  leases: Pick<OwnLeases, "elsewhere" | "revoke">,
  places: readonly string[],
): Promise<string[]> {
  let silent = 0;
  for (const place of places) {
    await leases.revoke(place);
    const found = await leases.elsewhere(place, { revoke: true });
    silent = Math.max(silent, found.silent);
  }
  return uncounted(silent);
}

/** A warning, where there is anything to warn of. */
export function uncounted(silent: number): string[] {
  if (silent === 0) return [];
  return [`${regions(silent)} not answered: leases that it has given by the role live on there`];
}

export function regions(count: number): string {
  return count === 1
    ? "a region that shares this mount has"
    : `${count} regions that share this mount have`;
}
