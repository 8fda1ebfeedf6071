// Where a request goes, as it was found at one moment, and what is derived from that. A request that is looked
// at again has another one: nothing of the first is left over.

import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import { RequestInput } from "@holdfast/shared/endpoint/input";
import type { Meant } from "@holdfast/shared/endpoint/operation";
import {
  type MountRef,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { namedValues, type Route } from "@holdfast/shared/endpoint/router";
import { NO_QUERY, type Query } from "@holdfast/shared/text/query";
import { type Home, homeOf } from "../endpoint/parts.ts";

const NO_VALUES: Readonly<Record<string, string>> = {};
const NO_ROUTE: Route = { methods: new Map(), segments: [], values: [] };

export class Found {
  /** Relative to the namespace; null while, and where, it is not canonical. */
  path: CanonicalPath | null = null;
  query: Query = NO_QUERY;
  meant: Meant | null = null;
  /** Null where the request names one that does not exist. */
  namespace: NamespaceRef | null = ROOT_NAMESPACE;
  route: Route = NO_ROUTE;
  /** All that a mount serves, where the path is the mount itself. */
  below: readonly Served[] = [];
  /** Null without a route, and where the route does not exist in this namespace. */
  endpoint: Served | null = null;
  /** What the path leads to, where that is no part of the server itself. */
  mount: MountRef | null = null;
  /** It is being opened, and what it answers to is known when that is done. */
  opening: Promise<void> | null = null;
  /** The path was sent in another spelling than its one form. */
  respelled = false;
  /** The route is there, but not in a child namespace. */
  restricted = false;
  #input: RequestInput | null = null;
  #home: Home | null = null;
  #pathValues: Readonly<Record<string, string>> | null = null;

  /** The part of the server, or the mount, that the path belongs to. Asked for first when the way of the
   *  path is known. */
  get home(): Home {
    return (this.#home ??= homeFor(this.mount, this.path?.segments ?? []));
  }

  /** Parameters of the path by name. Asked for first when the route was found. */
  get pathValues(): Readonly<Record<string, string>> {
    if (this.endpoint === null) return NO_VALUES;
    return (this.#pathValues ??= namedValues(this.endpoint, this.route));
  }

  /** Null where nobody has asked for it. */
  get input(): RequestInput | null {
    return this.#input;
  }

  inputOf(body: JsonObject): RequestInput | null {
    if (this.endpoint === null) return null;
    const { pathValues: path, query } = this;
    return (this.#input ??= new RequestInput(this.endpoint, { path, query, body }));
  }

  /** The body is another one. */
  forgetInput(): void {
    this.#input = null;
  }

  /** Whether a request that was under way here is so there: the handler has looked at all of this. */
  isSamePlace({ endpoint, mount, namespace, path }: Found): boolean {
    return (
      this.endpoint === endpoint &&
      this.mount?.uuid === mount?.uuid &&
      this.mount?.path === mount?.path &&
      this.namespace?.id === namespace?.id &&
      this.path?.text === path?.text
    );
  }
}

function homeFor(mount: MountRef | null, segments: readonly string[]): Home {
  return mount === null ? homeOf(segments) : { point: mount.path, type: mount.type };
}
