// What a change of the role warns of. Pure.

import { counted } from "@holdfast/shared/text/counted";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { Finished } from "../stream/sender.ts";
import type { Epoch, Role } from "./role.ts";

const WARN_SKEW = 30n; // seconds

/** As people read it: by the name that it has here, where it has one. */
export function clusterText(cluster: string, nameOf: (cluster: string) => string): string {
  const name = nameOf(cluster);
  return name === "" ? `cluster ${cluster}` : `${name} (cluster ${cluster})`;
}

/** Tokens and certificates end by the clock of whoever looks at them. */
export function skewWarnings(skew: Nanos): string[] {
  const seconds = skew / SECOND;
  if (seconds <= WARN_SKEW && seconds >= -WARN_SKEW) return [];
  const where = seconds > 0n ? "behind" : "ahead of";
  const by = seconds > 0n ? seconds : -seconds;
  return [
    `the clock here is ${by} seconds ${where} that of the primary of before: tokens end by this one from now on`,
  ];
}

export function demotionWarnings(final: string, finished: Finished | null): string[] {
  const gone = `this cluster is a secondary without a primary now; its last entry is ${final}`;
  if (finished === null) return [gone];
  const { acknowledged, missing, filtered } = finished;
  const whole = acknowledged.filter((id) => !filtered.includes(id));
  return [
    gone,
    ...(whole.length > 0 ? [`everything is on: ${whole.join(", ")}`] : []),
    ...(filtered.length > 0
      ? [
          `NOT everything is on: ${filtered.join(", ")}; a filter withholds mounts or namespaces there, which would be missing everywhere if one of them was promoted`,
        ]
      : []),
    ...(missing.length > 0
      ? [
          `NOT everything is on: ${missing.join(", ")}; what is missing there is on this cluster alone`,
        ]
      : []),
  ];
}

/** Who took the place of a primary gives its own up before that one has heard of it: only this cluster knows how to tell it. */
export function unawareWarnings(addresses: readonly string[]): string[] {
  return [
    `the primary of before, at ${addresses.join(", ")}, was not reached since this cluster leads: where it runs, it goes on writing. ` +
      "Stop it or demote it there; only this cluster tells it, if it is promoted again",
  ];
}

/** A primary that was fenced goes on by itself. */
export function besideWarning({ number }: Pick<Epoch, "number">, leader: string): string {
  return (
    `${leader} leads the set in epoch ${number}, with the same tokens and leases: this cluster writes again, beside it. ` +
    "Keep clients from one of the two; what was meant may have been to demote this one, and to follow that one with a token of it"
  );
}

/** Whoever was refused for good leads beside the one that has refused it: neither hears of the other. */
export function rivalWarnings(role: Role): string[] {
  if (role.mode !== "primary" || role.rival === undefined) return [];
  return [
    `cluster ${role.rival} has refused this one for good before it was promoted, and does not hear of it: as long as that one runs there are two, with the same leases; the status names it until this cluster is demoted or disabled`,
  ];
}

/** A filter of the primary holds for whoever comes, also for one that has everything. */
export function withheldWarnings(count: number, does: "joins" | "follows"): string[] {
  if (count === 0) return [];
  const what = `a filter of the primary withholds ${counted(count, "mount or namespace", "mounts and namespaces")} from this cluster`;
  const comes =
    does === "joins"
      ? "they are not copied"
      : "what is here of them goes, the leases first, within five minutes, and comes back when the filter is changed";
  return [`${what}: ${comes} (sys/replication/performance/primary/paths-filter there)`];
}

/** An operator has followed an earlier primary than was known. */
export function refutedWarning(
  { number, cluster }: Pick<Epoch, "number" | "cluster">,
  name: string,
): string {
  return `epoch ${number} of ${clusterText(cluster, () => name)} is given up here: where that cluster leads all the same, it says so again`;
}
