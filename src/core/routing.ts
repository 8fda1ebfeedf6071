// Where a path leads: to a declaration of the server, to a mount and what its type declares, or nowhere;
// and the one form of the path, as it is read there.

import { MAX_SEGMENTS } from "@holdfast/shared/text/canonical-path";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { MountRef, NamespaceRef, Operation } from "@holdfast/shared/endpoint/request";
import { describedInput } from "@holdfast/shared/endpoint/input";
import { methodOf } from "@holdfast/shared/endpoint/operation";
import { namedValues, type ReadPlace, type Route, Router } from "@holdfast/shared/endpoint/router";
import type * as seams from "./seams.ts";

export interface Reached {
  readonly mount: MountRef | null;
  /** While its engine is being opened, and is waited for. */
  readonly opening: Promise<void> | null;
  readonly route: Route;
  /** As they are read there. */
  readonly segments: readonly string[];
}

export interface RoutingParts {
  readonly endpoints: readonly Served[];
  readonly node: Pick<seams.NodeState, "sealed" | "drSecondary">;
  readonly mounts: seams.MountTable;
}

export class Routing {
  readonly #parts: RoutingParts;
  readonly #router: Router;
  readonly #readPlace: ReadPlace = (segments, namespace) => this.#read(namespace, segments);

  constructor(parts: RoutingParts) {
    this.#parts = parts;
    this.#router = new Router(parts.endpoints);
  }

  reach(namespace: NamespaceRef | null, segments: readonly string[], nested = false): Reached {
    // A path inside a path inside a path is read by nobody: nesting must not multiply the work.
    const own = this.#router.find(segments, nested ? undefined : this.#readPlace, namespace);
    if (own.methods.size > 0) {
      return { mount: null, opening: null, route: own, segments: own.segments };
    }
    const { node } = this.#parts;
    const closed = namespace === null || node.sealed || node.drSecondary;
    const found = closed ? null : this.#parts.mounts.find(namespace, segments);
    if (found === null) return { mount: null, opening: null, route: own, segments };
    const below = segments.slice(found.taken);
    const route = found.endpoints.find(below);
    const whole =
      route.segments === below ? segments : [...segments.slice(0, found.taken), ...route.segments];
    return { mount: found.ref, opening: found.opening ?? null, route, segments: whole };
  }

  /** A path that stands inside another: as much of its beginning as leads somewhere is read as there. */
  #read(namespace: NamespaceRef | null, segments: readonly string[]): readonly string[] {
    for (let end = segments.length; end > 0; end--) {
      const start = segments.slice(0, end);
      const { route, segments: read } = this.reach(namespace, start, true);
      if (route.methods.size > 0)
        return read === start ? segments : [...read, ...segments.slice(end)];
    }
    return segments;
  }

  /** The one form of a path, for whoever asks about paths that nobody has requested. */
  canonical(namespace: NamespaceRef, segments: readonly string[]): readonly string[] {
    // What no request can have for its length has no other form.
    if (segments.length > MAX_SEGMENTS) return segments;
    return this.#reads(namespace, segments);
  }

  /** As a request for it would be. */
  #reads(namespace: NamespaceRef, segments: readonly string[]): readonly string[] {
    const { route, segments: read } = this.reach(namespace, segments);
    return route.methods.size > 0 ? read : this.#read(namespace, segments);
  }

  /** What would answer, for whoever asks before there is a request. */
  declared(
    namespace: NamespaceRef,
    segments: readonly string[],
    operation: Operation,
  ): Served | null {
    const { route } = this.reach(namespace, segments);
    return route.methods.get(methodOf(operation)) ?? null;
  }

  /** The mount that answers there; null where the server itself does, or nobody. */
  mountAt(namespace: NamespaceRef, segments: readonly string[]): MountRef | null {
    return this.reach(namespace, segments).mount;
  }

  /** What rules on parameters and programs would look at, of fields that somebody describes. */
  dataAt(
    namespace: NamespaceRef,
    segments: readonly string[],
    operation: Operation,
    fields: JsonObject,
  ): JsonObject {
    const { route } = this.reach(namespace, segments);
    const endpoint = route.methods.get(methodOf(operation)) ?? null;
    if (endpoint === null) return fields;
    return describedInput(endpoint, namedValues(endpoint, route), fields).data;
  }
}
