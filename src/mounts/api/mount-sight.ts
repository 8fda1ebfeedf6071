// Mounts as callers see them who do not administer them: those that their policies reach.

import { isSegment } from "@holdfast/shared/text/canonical-path";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { WritesTo } from "@holdfast/shared/endpoint/endpoint";
import type { RequestContext, Caller, NamespaceRef } from "@holdfast/shared/endpoint/request";
import { showMount } from "./api-mount-view.ts";
import * as failures from "../failures.ts";
import type { Mounts } from "../mounts.ts";
import type { MountView } from "../ports.ts";
import type { MoveRecord, Place } from "../moves.ts";

/** What a caller's policies reach. Management tokens are not asked about. */
export interface Sight {
  reachOf(caller: Caller, namespace: NamespaceRef): Promise<(prefix: string) => boolean>;
}

export interface MountSightOptions {
  readonly mounts: Mounts;
  readonly sight: Sight;
}

type Reaches = (prefix: string) => boolean;

export class MountSight {
  readonly #options: MountSightOptions;

  constructor(options: MountSightOptions) {
    this.#options = options;
  }

  async visible(
    caller: Caller | null,
    namespace: NamespaceRef,
  ): Promise<{ secret: Record<string, JsonObject>; auth: Record<string, JsonObject> }> {
    const reaches = await this.#reachOf(caller, namespace);
    const mountsOf = (kind: "secret" | "auth") => {
      const found: Record<string, JsonObject> = {};
      for (const one of this.#options.mounts.list(namespace, kind)) {
        const { path, type, description, options, config } = one.record;
        const open = config.listingVisibility === "unauth";
        const within = reaches(path);
        if (!open && !within) continue;
        const key = kind === "auth" ? path.slice("auth/".length) : path;
        // Whoever nobody knows is told what a login page needs.
        found[key] = within ? showMount({ ...one, shadowed: [] }) : { type, description, options };
      }
      return found;
    };
    return { secret: mountsOf("secret"), auth: mountsOf("auth") };
  }

  /** What there is not is told those whose policies reach the place. */
  async serving(caller: Caller | null, namespace: NamespaceRef, path: string): Promise<MountView> {
    const segments = path.split("/");
    const found = segments.every(isSegment)
      ? this.#options.mounts.serving(namespace, segments)
      : null;
    const reaches = await this.#reachOf(caller, namespace);
    if (!reaches(found?.record.path ?? path)) throw failures.denied();
    if (found === null) throw failures.nothingServes();
    return { ...found, shadowed: [] }; // they may lie where the policies do not reach
  }

  /** A right on sys/remount here is none in the namespaces below (T-D06): there it is judged as a request with what
   *  of `from` and `to` could be named in that namespace. */
  async move(context: RequestContext, from: string, to: string): Promise<string> {
    const { moves } = this.#options.mounts;
    const source = moves.placeOf(context.namespace, from);
    const target = moves.placeOf(context.namespace, to);
    for (const place of [source, target]) {
      const below = belowOf(context.namespace, place);
      if (below === "") continue;
      const within = Object.entries({ from: source, to: target })
        .filter(([, { whole }]) => whole.startsWith(below))
        .map(([name, { whole }]) => [name, whole.slice(below.length)] as const);
      const fields = Object.fromEntries(within);
      if (!(await context.may("update", `${below}sys/remount`, fields))) throw failures.denied();
    }
    return moves.start(context.namespace, source, target);
  }

  /** Where what is written of the mount at a path in a body belongs. */
  belongs(base: NamespaceRef, path: string): WritesTo {
    const { mounts } = this.#options;
    const { namespace, kind, path: whole } = mounts.moves.placeOf(base, path);
    const below = kind === "auth" ? whole.slice("auth/".length) : whole;
    return mounts.belongs(namespace, kind, below.slice(0, -1));
  }

  /** Where a move is told of. */
  moveBelongs(id: string): WritesTo {
    return this.#options.mounts.moves.isOwn(id) ? "local" : "shared";
  }

  moveOf(namespace: NamespaceRef, id: string): MoveRecord {
    return this.#options.mounts.moves.read(namespace, id);
  }

  async #reachOf(caller: Caller | null, namespace: NamespaceRef): Promise<Reaches> {
    if (caller === null) return () => false;
    if (caller.type === "management") return () => true;
    return this.#options.sight.reachOf(caller, namespace);
  }
}

/** From the namespace of the request to the one that the path leads into; empty for its own. */
function belowOf(own: NamespaceRef, { namespace }: Place): string {
  if (namespace.id === own.id) return "";
  return `${own.path === "" ? namespace.path : namespace.path.slice(own.path.length + 1)}/`;
}
