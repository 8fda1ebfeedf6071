// Filters as they are stored, one row for each secondary that has one: below local/replication/performance/, so that who takes over this
// cluster has them. A row may be there before the secondary is: nothing goes to it before.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, ViewReads } from "../../barrier/view.ts";
import {
  type KnownSecondary,
  storedSecondaries,
  storedSecondary,
} from "../joining/primary-rows.ts";
import { type Filter, type FilterPath, type Places, withHeirs, withHeirsOf } from "./filter.ts";

export const FILTERS = "filters/";
const PAGE = 256;

/** What one secondary is not sent. */
export interface StoredFilter extends Filter {
  /** Others that count beside it: two that were made for one secondary, by its id and by that of its cluster. */
  readonly also?: readonly Filter[];
  /** By the id of which cluster it was made: it is for that one by whatever id it comes. True: an earlier version has not kept which. */
  readonly ofCluster?: string | true;
}

const codec = jsonCodec<StoredFilter>();

/** `name`: the id of a secondary, or that of its cluster where nobody is known by it. */
export function storedFilter(reads: ViewReads, name: string): StoredFilter | null {
  return reads.get(FILTERS + name, codec);
}

export function storedFilters(reads: ViewReads): Map<string, StoredFilter> {
  const found = new Map<string, StoredFilter>();
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const rows = reads.records(FILTERS, codec, page);
    for (const { key, value } of rows) found.set(key.slice(FILTERS.length), value);
    after = rows.at(-1)?.key;
    if (rows.length < PAGE) return found;
  }
}

export function putFilter(tx: Tx, name: string, filter: StoredFilter): void {
  tx.put(FILTERS + name, filter, codec);
}

export function deleteFilter(tx: Tx, name: string): void {
  tx.delete(FILTERS + name);
}

/** What it withholds is what any of these does. */
export function rulesOf({ mode, paths, also = [] }: StoredFilter): readonly Filter[] {
  return [{ mode, paths }, ...also];
}

/** With what was made at the path of what it denies; itself where that is nothing new. */
export function boundFilter(filter: StoredFilter, places: Places): StoredFilter {
  const own = withHeirs(filter, places);
  const { also = [] } = filter;
  const others = also.map((one) => withHeirs(one, places));
  const isSame = own === filter && others.every((one, i) => one === also[i]);
  if (isSame) return filter;
  return others.length === 0 ? own : { ...own, also: others };
}

/** What either of them withholds. What is denied is one list; what is allowed stays apart, since mounts that are made later count for each. */
export function mergedFilter(one: StoredFilter, other: StoredFilter): StoredFilter {
  const rules = [...rulesOf(one), ...rulesOf(other)];
  const allowing = new Map(
    rules.filter(({ mode }) => mode === "allow").map((rule) => [saysOf(rule), rule]),
  );
  const denied = new Map<string, FilterPath>();
  for (const path of rules.flatMap(({ mode, paths }) => (mode === "deny" ? paths : []))) {
    const key = `${path.kind} ${path.id}`;
    denied.set(key, withHeirsOf(path, denied.get(key)?.heirs ?? []));
  }
  const denying: Filter[] =
    denied.size === 0 ? [] : [{ mode: "deny", paths: [...denied.values()] }];
  const all = [...allowing.values(), ...denying];
  const [first = one, ...also] = one.mode === "deny" ? all.toReversed() : all;
  const ofCluster = one.ofCluster ?? other.ofCluster;
  return {
    mode: first.mode,
    paths: first.paths,
    ...(also.length === 0 ? {} : { also }),
    ...(ofCluster === undefined ? {} : { ofCluster }),
  };
}

/** Another one as soon as it means something else. */
export function saysOf({ mode, paths }: Filter): string {
  return JSON.stringify([
    mode,
    ...paths
      .map(({ kind, id, path, heirs = [] }) => [kind, id, path, ...heirs].join(" "))
      .toSorted(),
  ]);
}

/** The one of a secondary with that of its cluster, which may lie beside it until that has come again. */
export function filterOfMember(
  reads: ViewReads,
  name: string,
  clusterId: string,
): StoredFilter | null {
  const own = storedFilter(reads, name);
  const isApart = clusterId !== "" && clusterId !== name;
  const ofCluster = isApart ? storedFilter(reads, clusterId) : null;
  if (own === null || ofCluster === null) return own ?? ofCluster;
  return mergedFilter(own, ofCluster);
}

/** Both of them. That of a cluster stays where it is that of a secondary too, which goes by the same name. */
export function deleteFilterOfMember(tx: Tx, name: string, clusterId: string): void {
  deleteFilter(tx, name);
  if (clusterId !== "" && storedSecondary(tx, clusterId) === null) deleteFilter(tx, clusterId);
}

/** When a member says which cluster it is: filters that were made by the id of that are its own from then on. */
export const comingFilters = {
  isDue: (reads: ViewReads, { id }: Pick<KnownSecondary, "id">, clusterId: string): boolean =>
    id !== clusterId &&
    storedFilter(reads, clusterId) !== null &&
    storedSecondary(reads, clusterId) === null,

  /** In the transaction that stores it. `member`: as it was known until then. */
  take: (tx: Tx, member: KnownSecondary, clusterId: string): void => {
    const { id, clusterId: before } = member;
    if (before !== "" && before !== clusterId) leaveFor(tx, member);
    const elsewhere =
      before === clusterId
        ? []
        : storedSecondaries(tx).filter((one) => one.id !== id && one.clusterId === clusterId);
    const found = [
      ...elsewhere
        .map((one) => storedFilter(tx, one.id))
        .filter((one) => one?.ofCluster !== undefined),
      id === clusterId ? null : storedFilter(tx, clusterId),
    ].flatMap((one) => one ?? []);
    if (found.length === 0) return;
    const own = storedFilter(tx, id);
    const all = own === null ? found : [own, ...found];
    const [first, ...more] = all.map((one) => ({ ...one, ofCluster: clusterId }));
    deleteFilterOfMember(tx, id, clusterId);
    putFilter(tx, id, more.reduce<StoredFilter>(mergedFilter, first!));
  },
};

/** Another cluster comes by the id of that member. Which one it is a member says itself: what was made for the one that it was before, which may
 *  never have come, stays under the id of that. */
function leaveFor(tx: Tx, { id, clusterId }: KnownSecondary): void {
  const own = storedFilter(tx, id);
  if (own === null || (own.ofCluster !== clusterId && own.ofCluster !== true)) return;
  const isElsewhere = storedSecondaries(tx).some(
    (one) => one.id === clusterId || (one.id !== id && one.clusterId === clusterId),
  );
  if (!isElsewhere && storedFilter(tx, clusterId) === null) {
    putFilter(tx, clusterId, { ...own, ofCluster: clusterId });
  }
}

export type ComingFilters = typeof comingFilters;
