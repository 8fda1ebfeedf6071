// Where the paths of policies lead, those of rules and those of EGPs, by the
// mounts and namespaces that there are now.

import type { GovernedPlaces } from "../../policies/governing/governed-places.ts";
import type { DeclaredAccess, InspectionOptions } from "../../policies/inspection/inspection.ts";
import type { RulePlaces } from "../../policies/rule-places.ts";
import { homeOf, isPart } from "../../endpoint/parts.ts";
import type { PlaceKind } from "../../quotas/quota.ts";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Mounts } from "../../mounts/mounts.ts";
import type { Namespaces } from "../../namespaces/namespaces.ts";

const MAX_NAMED = 12;

const OPERATIONS = ["read", "update", "patch", "delete", "list"] as const;

export interface MountedPlacesParts {
  readonly mounts: () => Mounts;
  readonly namespaces: () => Namespaces;
  /** What answers on a path. */
  readonly declared: InspectionOptions["declared"];
  /** The one form of a path. */
  readonly canonical: InspectionOptions["canonical"];
}

export class MountedPlaces implements RulePlaces, GovernedPlaces {
  readonly #mounts: () => Mounts;
  readonly #namespaces: () => Namespaces;
  readonly #declared: MountedPlacesParts["declared"];
  readonly #canonical: MountedPlacesParts["canonical"];

  constructor(parts: MountedPlacesParts) {
    this.#mounts = parts.mounts;
    this.#namespaces = parts.namespaces;
    this.#declared = parts.declared;
    this.#canonical = parts.canonical;
  }

  spellingOf(namespaceId: string, segments: readonly string[]): readonly string[] {
    const base = this.#namespaces().byId(namespaceId);
    if (base === null) return segments;
    const { namespace, taken } = this.#namespaces().resolve(base, segments);
    const rest = this.#canonical(namespace, segments.slice(taken));
    return [...segments.slice(0, taken), ...rest];
  }

  /** A whole path, as text. */
  spelled(path: string): string {
    return this.spellingOf(ROOT_NAMESPACE.id, path.replace(/^\//, "").split("/")).join("/");
  }

  /** What a whole path leads to, for quotas: the parts of the server count as mounts. */
  kindOf(segments: readonly string[]): PlaceKind | null {
    const root = this.#namespaces().named("");
    if (root === null) return null;
    const { namespace, taken } = this.#namespaces().resolve(root, segments);
    const rest = segments.slice(taken);
    if (rest.length === 0) return "namespace";
    const mount = this.#mounts().find(namespace, rest);
    if (mount !== null) return rest.length === mount.taken ? "mount" : "inside";
    const { point } = homeOf(rest);
    const path = `${rest.join("/")}/`;
    if (point === "" || !path.startsWith(point)) return null;
    return path === point ? "mount" : "inside";
  }

  ungoverned(namespaceId: string, segments: readonly string[], whole: boolean): string | null {
    const problem = this.problemOf(namespaceId, segments);
    if (problem !== null) {
      return segments[0] === "v1" ? `${problem}: paths are written without v1/` : problem;
    }
    const base = this.#namespaces().byId(namespaceId);
    if (base === null || !whole) return null;
    const { namespace, taken } = this.#namespaces().resolve(base, segments);
    const rest = segments.slice(taken);
    const found = OPERATIONS.flatMap((word) => this.#declared(namespace, rest, word) ?? []);
    if (found.length === 0) return "there is no such path";
    if (found.some((one) => !isExempt(one))) return null;
    return "no EGP is asked here, since a wrong one could lock everybody out";
  }

  problemOf(namespaceId: string, segments: readonly string[]): string | null {
    const base = this.#namespaces().byId(namespaceId);
    if (base === null || segments.length === 0) return null;
    const { namespace, taken } = this.#namespaces().resolve(base, segments);
    const rest = segments.slice(taken);
    const [first] = rest;
    if (first === undefined || isPart(first)) return null;
    const served = this.#mounts().serving(namespace, rest);
    if (served === null) return this.#leadsOn(namespace, rest) ? null : nothingAt(first);
    const { path, type } = served.record;
    const word = rest[path.split("/").length - 1];
    if (word === undefined) return null;
    const words = this.#firstWords(served.record);
    if (words === null || words.has(word)) return null;
    const known = [...words].toSorted().slice(0, MAX_NAMED).join(", ");
    return `the mount ${path} of type ${type} has no such path: they begin with ${known}`;
  }

  /** A mount with several parts in its path may be further on. */
  #leadsOn(namespace: NamespaceRef, segments: readonly string[]): boolean {
    const start = `${segments.join("/")}/`;
    const mounts = this.#mounts().list(namespace, "secret");
    return mounts.some(({ record }) => record.path.startsWith(start));
  }

  /** Null where anything may follow. */
  #firstWords(record: Parameters<Mounts["endpointsOf"]>[0]): Set<string> | null {
    const words = new Set<string>();
    for (const { path } of this.#mounts().endpointsOf(record)) {
      const [, word = ""] = path.split("/");
      if (word.startsWith(":")) return null;
      if (word !== "") words.add(word);
    }
    return words;
  }
}

/** Such a request is judged by no EGP, whoever makes it. */
function isExempt({ access, login }: DeclaredAccess): boolean {
  if (access.kind === "ceremony" || access.kind === "drOperation") return true;
  return access.kind === "open" && access.caller === "ignored" && !login;
}

function nothingAt(first: string): string {
  return `nothing is mounted at ${JSON.stringify(`${first}/`)}`;
}
