// What a filter should come to, thought out anew: no code of replication decides it here. A scope is one of a namespace or of a mount;
// those that are gone are remembered with the place that they had last, since entries still speak of them.

import { hex } from "@holdfast/shared/bytes";
import { mountScope, namespaceScope } from "../../../src/barrier/scope.ts";
import type { Filter } from "../../../src/replication/filters/filter.ts";
import type { PlacedData } from "./places.ts";

/** A namespace, or a mount: what it lies in, and whether there is one still. */
export interface Place {
  readonly kind: "mount" | "namespace";
  readonly id: string;
  readonly within: string; // id of a namespace
  isThere: boolean;
}

/** Everything that there ever was, by its scope. */
export type Places = Map<string, Place>;

export function learn(places: Places, data: PlacedData): void {
  for (const place of places.values()) place.isThere = false;
  for (const { id, parent } of data.namespaces()) {
    const scope = hex(namespaceScope(id));
    places.set(scope, { kind: "namespace", id, within: parent, isThere: true });
  }
  for (const { uuid, namespaceId } of data.mounts()) {
    const scope = hex(mountScope(uuid));
    places.set(scope, { kind: "mount", id: uuid, within: namespaceId, isThere: true });
  }
}

/** The scopes that are withheld by any of them, those of what is gone included. */
export function withheldScopes(filters: readonly Filter[], places: Places): Set<string> {
  const namespaces = new Map<string, Place>();
  for (const place of places.values()) {
    if (place.kind === "namespace") namespaces.set(place.id, place);
  }
  const above = (id: string): string[] => {
    const within = namespaces.get(id)?.within;
    return id === "root" ? [] : [id, ...(within === undefined ? [] : above(within))];
  };
  const found = new Set<string>();
  for (const { mode, paths } of filters) {
    const named = new Set(paths.map(({ kind, id }) => `${kind} ${id}`));
    const covers = (id: string) => above(id).some((one) => named.has(`namespace ${one}`));
    const isNamed = ({ kind, id, within }: Place) =>
      kind === "mount" ? named.has(`mount ${id}`) || covers(within) : covers(id);
    // What is allowed is come to through the namespaces that it lies in.
    const ways = new Set(
      [...places.values()]
        .filter((place) => place.isThere && named.has(`${place.kind} ${place.id}`))
        .flatMap(({ kind, id, within }) => above(kind === "mount" ? within : id)),
    );
    for (const [scope, place] of places) {
      const isWay = place.kind === "namespace" && ways.has(place.id);
      const isSent = mode === "deny" ? !isNamed(place) : isNamed(place) || isWay;
      if (!isSent) found.add(scope);
    }
  }
  return found;
}
