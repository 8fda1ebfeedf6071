// What of the shared data a secondary is not sent. A filter names mounts and namespaces by their ids, with the paths that they had: a move does
// not lift it, and where what it denies is gone it holds for what is made at that path. What it comes to is said of scopes, which every record and every log entry has. Pure.

import { hex } from "@holdfast/shared/bytes";
import { mountScope, namespaceScope } from "../../barrier/scope.ts";
import { CORE_SCOPE } from "../../storage/rows/log-entry.ts";

export const MODES = ["allow", "deny"] as const;
export type Mode = (typeof MODES)[number];

export const ROOT = "root"; // the namespace that belongs to everybody

/** A mount by its uuid, or a namespace by its id. */
export interface FilterPath {
  readonly kind: "mount" | "namespace";
  readonly id: string;
  /** From root, with a slash at its end, as it was when the filter was made. */
  readonly path: string;
  /** Uuids of mounts that were made at that path since it was gone: they are meant wherever they are moved. */
  readonly heirs?: readonly string[];
}

export interface Filter {
  readonly mode: Mode;
  readonly paths: readonly FilterPath[];
}

/** The shared mounts and the namespaces that there are, by id. */
export interface Places {
  readonly mounts: ReadonlyMap<string, PlacedMount>;
  /** Without root. */
  readonly namespaces: ReadonlyMap<string, PlacedNamespace>;
  /** What is gone is judged as before, since entries of the log speak of it; but it leads nowhere any more. */
  isThere(id: string): boolean;
}

export interface PlacedMount {
  readonly namespaceId: string;
  /** From root, with a slash at its end. */
  readonly path: string;
}

export interface PlacedNamespace {
  readonly parent: string; // id
  readonly path: string; // from root, with a slash at its end
}

/** By id: the paths of today. */
export interface Withheld {
  readonly mounts: ReadonlyMap<string, string>;
  readonly namespaces: ReadonlyMap<string, string>;
}

export const NOTHING_WITHHELD: Withheld = { mounts: new Map(), namespaces: new Map() };

/** What filters come to among what there is; with several what any of them withholds. */
export function withheldBy(filters: readonly Filter[], places: Places): Withheld {
  const mounts = new Map<string, string>();
  const namespaces = new Map<string, string>();
  for (const filter of filters) {
    const rule = filter.mode === "deny" ? denying(filter, places) : allowing(filter, places);
    for (const [id, { path }] of places.namespaces) {
      if (rule.isNamespaceWithheld(id)) namespaces.set(id, path);
    }
    for (const [uuid, mount] of places.mounts) {
      if (rule.isMountWithheld(uuid, mount)) mounts.set(uuid, mount.path);
    }
  }
  return { mounts, namespaces };
}

interface Rule {
  isNamespaceWithheld(id: string): boolean;
  isMountWithheld(uuid: string, mount: PlacedMount): boolean;
}

/** Where what was named is gone, what is made at its path is withheld as well. */
function denying({ paths }: Filter, places: Places): Rule {
  const { mounts, namespaces } = places;
  const named = idsOf(paths);
  const left = new Set(
    paths.filter((one) => pathNow(one, places) === null).map(({ path }) => path),
  );
  for (const [id, { path }] of namespaces) if (left.has(path)) named.namespaces.add(id);
  for (const [uuid, { path }] of mounts) if (left.has(path)) named.mounts.add(uuid);
  const isNamespaceWithheld = (id: string) =>
    upwards(id, namespaces).some((one) => named.namespaces.has(one));
  return {
    isNamespaceWithheld,
    isMountWithheld: (uuid, { namespaceId }) =>
      named.mounts.has(uuid) || isNamespaceWithheld(namespaceId),
  };
}

/** All but the last of them are gone themselves. */
const MAX_HEIRS = 64;

/** The filter with the mounts that were made at the path of what it denies and is gone, or would be meant no longer where they are moved; the same
 *  one where there are no more of them. Namespaces do not move. */
export function withHeirs<F extends Filter>(filter: F, places: Places): F {
  if (filter.mode !== "deny") return filter;
  const gone = filter.paths.filter((one) => pathNow(one, places) === null);
  if (gone.length === 0) return filter;
  const made = new Map<string, string[]>(gone.map(({ path }) => [path, []]));
  for (const [uuid, { path }] of places.mounts) {
    if (places.isThere(uuid)) made.get(path)?.push(uuid);
  }
  const next = new Map(gone.map((one) => [one, withHeirsOf(one, made.get(one.path)!)]));
  if ([...next].every(([one, other]) => one === other)) return filter;
  return { ...filter, paths: filter.paths.map((one) => next.get(one) ?? one) };
}

/** The same one where it has all of them. */
export function withHeirsOf(one: FilterPath, uuids: readonly string[]): FilterPath {
  const { id, heirs = [] } = one;
  const more = uuids.filter((uuid) => uuid !== id && !heirs.includes(uuid));
  return more.length === 0 ? one : { ...one, heirs: [...heirs, ...more].slice(-MAX_HEIRS) };
}

/** Where that is by now which a path of a filter means; null where it is gone. */
export function pathNow({ kind, id, heirs = [] }: FilterPath, places: Places): string | null {
  const { mounts, namespaces } = places;
  const of = (uuid: string) => (places.isThere(uuid) ? mounts.get(uuid)?.path : undefined);
  const own = kind === "mount" ? of(id) : places.isThere(id) ? namespaces.get(id)?.path : undefined;
  return own ?? heirs.map(of).find((path) => path !== undefined) ?? null;
}

/** A namespace goes with what is allowed in it, or nobody could come to that; its other mounts do not. */
function allowing({ paths }: Filter, places: Places): Rule {
  const { mounts, namespaces } = places;
  const named = idsOf(paths);
  const there = idsOf(paths.filter((one) => pathNow(one, places) !== null));
  const isWhole = (id: string) => upwards(id, namespaces).some((one) => named.namespaces.has(one));
  const onTheWay = new Set<string>();
  const holding = [
    ...there.namespaces,
    ...[...there.mounts].flatMap((uuid) => mounts.get(uuid)?.namespaceId ?? []),
  ];
  for (const id of holding) for (const one of upwards(id, namespaces)) onTheWay.add(one);
  return {
    isNamespaceWithheld: (id) => !isWhole(id) && !onTheWay.has(id),
    isMountWithheld: (uuid, { namespaceId }) => !named.mounts.has(uuid) && !isWhole(namespaceId),
  };
}

function idsOf(paths: readonly FilterPath[]) {
  const of = (kind: FilterPath["kind"]) =>
    paths.flatMap((one) => (one.kind === kind ? one.id : []));
  const heirs = paths.flatMap((one) => one.heirs ?? []);
  return { mounts: new Set([...of("mount"), ...heirs]), namespaces: new Set(of("namespace")) };
}

/** The namespace and those above it, without root. */
function upwards(id: string, namespaces: Places["namespaces"]): string[] {
  const found: string[] = [];
  for (let at = id; at !== ROOT && !found.includes(at);) {
    found.push(at);
    at = namespaces.get(at)?.parent ?? ROOT;
  }
  return found;
}

/** The scopes whose records may be sent. What is of no mount and no namespace that there is may not: it is not taken for more than is known. */
export class Sieve {
  readonly #sent = new Set<string>([textOf(CORE_SCOPE)]);

  constructor(withheld: Withheld, { mounts, namespaces }: Places) {
    for (const id of namespaces.keys()) {
      if (!withheld.namespaces.has(id)) this.#sent.add(textOf(namespaceScope(id)));
    }
    for (const uuid of mounts.keys()) {
      if (!withheld.mounts.has(uuid)) this.#sent.add(textOf(mountScope(uuid)));
    }
  }

  lets(scope: Uint8Array): boolean {
    return this.#sent.has(textOf(scope));
  }

  /** Whether it lets through what another one does, and nothing else. */
  isSameAs(other: Sieve): boolean {
    return this.#sent.size === other.#sent.size && this.#sent.isSubsetOf(other.#sent);
  }
}

function textOf(scope: Uint8Array): string {
  return hex(scope);
}
