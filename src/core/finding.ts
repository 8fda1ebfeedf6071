// Where a request goes: its canonical path, the namespace, the mount and the endpoint. Nobody reads a path
// after this.

import { CanonicalPath, isSegment, splitTarget } from "@holdfast/shared/text/canonical-path";
import type { Failure } from "@holdfast/shared/failure";
import { meaningOf } from "@holdfast/shared/endpoint/operation";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Method, Served } from "@holdfast/shared/endpoint/endpoint";
import type { Route } from "@holdfast/shared/endpoint/router";
import { parseQuery } from "@holdfast/shared/text/query";
import * as failures from "./failures.ts";
import { Found } from "./found.ts";
import type { RequestState } from "./request-state.ts";
import type { Routing } from "./routing.ts";
import type { PipelineParts } from "./seams.ts";

export class Finding {
  readonly #parts: PipelineParts;
  readonly #routing: Routing;

  constructor(parts: PipelineParts, routing: Routing) {
    this.#parts = parts;
    this.#routing = routing;
  }

  /** The one place where a path is read. From here on there is only the canonical one. */
  find(state: RequestState): void {
    const { incoming } = state;
    const { node, namespaces } = this.#parts;
    const found = new Found();
    state.found = found; // what is found before a refusal is recorded
    const target = splitTarget(incoming.target);
    const whole = CanonicalPath.parse(target.path);
    const base = readNamespace(incoming.namespace);
    found.path = whole;
    found.query = parseQuery(target.query);
    found.meant = meaningOf(incoming.verb, found.query);
    const { operation, method, headOnly, scans = false } = found.meant;
    const slash = whole.folder && operation !== "list" && operation !== "help";

    let child: boolean;
    if (node.sealed || node.drSecondary) {
      // The tree of namespaces is behind the barrier, or not open: all that is known is whether one was named.
      const taken = node.sealed ? 0 : this.#prefixOf(whole.segments, method);
      child = base !== "" || taken > 0;
      found.path = whole.after(taken);
    } else {
      const named = base === "" ? ROOT_NAMESPACE : namespaces.named(base);
      if (named === null) {
        found.namespace = null;
      } else {
        const { namespace, taken } = namespaces.resolve(named, whole.segments);
        found.namespace = namespace;
        found.path = whole.after(taken);
      }
      child = found.namespace !== ROOT_NAMESPACE && found.namespace?.id !== ROOT_NAMESPACE.id;
    }
    this.#findRoute(found, found.path);
    if (slash && !isListOnly(found.route)) {
      if (!dropsSlash(found.route)) throw misplacedSlash(found.route);
      found.path = CanonicalPath.of(found.path.segments);
    }
    if (operation === "help") return;
    const answering = method === null ? null : (found.route.methods.get(method) ?? null);
    const unable =
      (headOnly && answering?.head !== true) ||
      (scans && answering?.byName.get("scan")?.source !== "query");
    const endpoint = unable ? null : answering;
    found.restricted = child && endpoint?.rootOnly === true;
    found.endpoint = found.restricted ? null : endpoint;
    // What somebody owns is in some namespace, and that is not known here.
    if (child && node.drSecondary && !node.sealed && !isNobodys(endpoint)) {
      found.namespace = null;
    }
  }

  /** How many segments name a namespace, where nobody knows which there are: those before what is the same in all of them. */
  #prefixOf(segments: readonly string[], method: Method | null): number {
    if (method === null || this.#routing.reach(null, segments).route.methods.size > 0) return 0;
    for (let taken = segments.indexOf(SYSTEM); taken > 0;) {
      const { route } = this.#routing.reach(null, segments.slice(taken));
      const endpoint = route.methods.get(method) ?? null;
      // What is only in the root namespace is refused as that, as where a header names another.
      const isOne = endpoint?.rootOnly === true || isNobodys(endpoint);
      if (endpoint?.onDrSecondary === true && isOne) return taken;
      taken = segments.indexOf(SYSTEM, taken + 1);
    }
    return 0;
  }

  /** What is no part of the server itself is some mount's, or nothing. From here on the path is as its
   *  declaration reads it: quotas, rules, programs, records and leases know no other spelling. */
  #findRoute(found: Found, path: CanonicalPath): void {
    const { namespace } = found;
    const reached = this.#routing.reach(namespace, path.segments);
    found.mount = reached.mount;
    found.opening = reached.opening;
    found.route = reached.route;
    if (reached.segments !== path.segments) {
      found.path = CanonicalPath.of(reached.segments, path.folder);
      found.respelled = true;
    }
    const helpOnly = found.meant?.operation === "help" && reached.route.methods.size === 0;
    if (!helpOnly || reached.mount === null || namespace === null) return;
    const mount = this.#parts.mounts.find(namespace, path.segments);
    if (mount?.taken === path.segments.length) found.below = mount.endpoints.endpoints;
  }
}

/** For whoever sends a request on: the target with some parameters left out and others put in, the rest as it came. */
export function targetWith(
  target: string,
  leftOut: readonly string[],
  putIn: Readonly<Record<string, string>>,
): string {
  const { path, query } = splitTarget(target);
  const names = new Set([...leftOut, ...Object.keys(putIn)]);
  const kept = query.split("&").filter(
    (pair) =>
      pair !== "" &&
      !parseQuery(pair)
        .keys()
        .some((name) => names.has(name)),
  );
  const added = Object.entries(putIn).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  const all = [...kept, ...added];
  return all.length === 0 ? path : `${path}?${all.join("&")}`;
}

/** Where the parts of the server itself are, in every namespace. */
const SYSTEM = "sys";

/** Whether it is the same in every namespace, and no token says who asks. */
function isNobodys(endpoint: Served | null): boolean {
  if (endpoint === null) return false;
  const { access } = endpoint;
  return access.kind === "open" || (access.kind === "ceremony" && access.ofDrSecondary === true);
}

/** The namespace header, without the slashes that may stand at its ends. */
function readNamespace(header: string | null): string {
  const text = header === null ? "" : header.replace(/^\//, "").replace(/\/$/, "");
  if (text !== "" && !text.split("/").every(isSegment)) throw failures.namespaceMalformed();
  return text;
}

/** There the slash is right and the verb is not, which those are told who may know. */
function isListOnly({ methods }: Route): boolean {
  return methods.size === 1 && methods.has("LIST");
}

function dropsSlash({ methods }: Route): boolean {
  return methods.values().some(({ slashFalls }) => slashFalls);
}

function misplacedSlash({ methods }: Route): Failure {
  for (const { folderText } of methods.values()) {
    if (folderText !== "") return failures.folderNamed(folderText);
  }
  return failures.trailingSlash();
}
