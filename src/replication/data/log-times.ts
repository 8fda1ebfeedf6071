// What the log tells of those who have written it: their time, by their own clocks, and where their epochs began.

import type { Instant } from "@holdfast/shared/world";
import { decodeEntryHeader } from "../../storage/rows/log-entry.ts";
import type { Store } from "../../storage/store.ts";

/** Until then another cluster led: `since` by its clock, `at` by the clock here. */
export interface TookOver {
  readonly since: Instant;
  readonly at: Instant;
}

/** Of the last time that this cluster took over, where the log still reaches back so far. */
export function storedPromotion(
  store: Pick<Store, "logs" | "timeline">,
  clusterId: string,
): TookOver | null {
  const last = store.timeline?.epochs.at(-1);
  if (last?.cluster !== clusterId) return null;
  const first = BigInt(last.first);
  const [since, at] = [entryTime(store, first - 1n), entryTime(store, first)];
  return since === null || at === null ? null : { since, at };
}

/** Null where the entry is not kept. */
export function entryTime(store: Pick<Store, "logs">, index: bigint): Instant | null {
  const [row] = index < 1n ? [] : store.logs(index, 1);
  return row?.index === index ? decodeEntryHeader(row.entry).time : null;
}

/** Who has written the log before this cluster did; empty where nobody has. */
export function writerBefore(store: Pick<Store, "timeline">, clusterId: string): string {
  return store.timeline?.epochs.findLast(({ cluster }) => cluster !== clusterId)?.cluster ?? "";
}

/** The first index of the present epoch. */
export function firstOfEpoch(store: Pick<Store, "timeline">): string {
  return store.timeline?.epochs.at(-1)?.first ?? "0";
}
