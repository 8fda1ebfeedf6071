// The paths that a filter is made with: each names a whole mount that is shared, or a namespace.

import { withoutLastSlashes } from "@holdfast/shared/text/slashes";
import * as failures from "./failures.ts";
import type { FilterPath } from "./filter.ts";
import type { KnownPlaces } from "./places.ts";

export const MAX_PATHS = 4096;
/** Of the server itself, mounted or not. */
const BUILT_IN = "identity/";

/** What is mounted beside what is shared. */
export interface MountsBeside {
  /** What a path from root comes to, whatever it is: null where nothing is mounted there, or above it. */
  find(
    path: string,
  ): { readonly path: string; readonly isLocal: boolean; readonly isFixed: boolean } | null;
}

export function resolvePaths(
  paths: readonly string[],
  places: KnownPlaces,
  beside: MountsBeside,
): FilterPath[] {
  if (paths.length > MAX_PATHS) throw failures.tooManyPaths(MAX_PATHS);
  const mounts = byPath(places.mounts, places);
  const namespaces = byPath(places.namespaces, places);
  const found = new Map<string, FilterPath>();
  for (const [i, named] of paths.entries()) {
    const path = normalPath(named);
    if (path === "") throw failures.filterPathUnknown(i);
    const one = resolve(path, i, mounts, namespaces, beside);
    found.set(`${one.kind} ${one.id}`, one);
  }
  return [...found.values()];
}

function resolve(
  path: string,
  place: number,
  mounts: ReadonlyMap<string, string>,
  namespaces: ReadonlyMap<string, string>,
  beside: MountsBeside,
): FilterPath {
  const uuid = mounts.get(path);
  if (uuid !== undefined) return { kind: "mount", id: uuid, path };
  const id = namespaces.get(path);
  if (id !== undefined) return { kind: "namespace", id, path };
  if (path === BUILT_IN) throw failures.filterPathFixed(place);
  const at = beside.find(path);
  if (at === null) throw failures.filterPathUnknown(place);
  if (at.isFixed) throw failures.filterPathFixed(place);
  if (at.path !== path) throw failures.filterPathBelow(place);
  throw at.isLocal ? failures.filterPathLocal(place) : failures.filterPathUnknown(place);
}

function byPath(
  places: ReadonlyMap<string, { readonly path: string }>,
  known: KnownPlaces,
): Map<string, string> {
  const there = [...places].filter(([id]) => known.isThere(id));
  return new Map(there.map(([id, { path }]) => [path, id]));
}

/** Without a slash before it, and with one at its end; empty where nothing is named. */
export function normalPath(path: string): string {
  const inner = withoutLastSlashes(path).replace(/^\/+/, "");
  return inner === "" ? "" : `${inner}/`;
}
