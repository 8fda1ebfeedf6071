// Which RGPs and EGPs a request has to pass, in which order. Asked for every request
// of a client, so that what is found is remembered until any of them changes.

import { invariant } from "@holdfast/shared/invariant";
import type { Caller, NamespaceRef } from "@holdfast/shared/endpoint/request";
import { policyName } from "@holdfast/shared/text/policy-name";
import { EgpIndex, type EgpMatch } from "./egp-paths.ts";
import {
  GoverningPlaces,
  type Governor,
  type Place,
  type PlacesParts,
} from "./governing-places.ts";

export interface GovernorsParts extends PlacesParts {
  readonly namespaces: { named(path: string): NamespaceRef | null };
}

/** Documents that are only tried: each stands for the stored one of its name. */
export interface Tried {
  readonly namespace: NamespaceRef;
  readonly rgps: readonly Governor[];
  readonly egps: readonly EgpMatch<Governor>[];
}

/** A namespace above the request's, or its own, that has EGPs. */
interface Above {
  readonly place: Pick<Place, "egps">;
  /** What lies between the two, with a slash at the end; empty for its own. */
  readonly below: string;
  /** How much longer its paths are from root. */
  readonly depth: number;
}

interface Remembered<T> {
  readonly generation: number;
  readonly found: readonly T[];
}

const NONE: readonly Governor[] = [];

export class Governors {
  readonly #parts: GovernorsParts;
  readonly #places: GoverningPlaces;
  readonly #above = new WeakMap<NamespaceRef, Remembered<Above>>();
  // The same Caller for the same token: a thousand names are looked through once.
  readonly #carried = new WeakMap<Caller, Remembered<Governor>>();

  constructor(parts: GovernorsParts) {
    this.#parts = parts;
    this.#places = new GoverningPlaces(parts);
  }

  /** Before the node seals. */
  close(): void {
    this.#places.close();
  }

  /** See Governing.applying. */
  applying(
    caller: Caller | null,
    namespace: NamespaceRef,
    path: string | null,
  ): readonly Governor[] | Promise<readonly Governor[]> {
    if (caller?.type === "management" && caller.namespace.path === "") return NONE;
    const rgps = caller?.type === "client" ? this.#carriedBy(caller) : NONE;
    const above = path === null ? [] : this.#aboveOf(namespace);
    if (rgps === null || above === null) return this.#applyingLater(caller, namespace, path);
    if (path === null || above.length === 0) return rgps;
    const egps = matching(binding(above, caller), path);
    if (egps.length === 0) return rgps;
    return rgps.length === 0 ? egps : [...rgps, ...egps];
  }

  /** The same with documents that are only tried. */
  async applyingWith(
    tried: Tried,
    caller: Caller | null,
    namespace: NamespaceRef,
    path: string | null,
  ): Promise<readonly Governor[]> {
    const own = new Set([...tried.rgps, ...tried.egps.map(({ value }) => value)]);
    const replaced = new Set([...own].map(keyOf));
    const counts = (one: Governor) => own.has(one) || !replaced.has(keyOf(one));
    const stored = (await this.applying(caller, namespace, null)).filter(counts);
    const carried = caller?.type === "client" ? tried.rgps : [];
    const rgps = [...stored, ...carried].toSorted(byName);
    if (path === null) return rgps;
    const place = { egps: EgpIndex.of(tried.egps) };
    const more = { place, ...relation(tried.namespace, namespace) };
    for (;;) {
      const above = this.#aboveOf(namespace);
      if (above !== null) {
        const all = binding([...above, more], caller);
        return [...rgps, ...matching(all, path).filter(counts)];
      }
      await this.#load(this.#line(namespace));
    }
  }

  // --- inside ---

  /** Null where the namespace of the caller is not in memory. */
  #carriedBy(caller: Caller): readonly Governor[] | null {
    const { generation } = this.#places;
    const known = this.#carried.get(caller);
    if (known?.generation === generation) return known.found;
    const home = this.#places.at(caller.namespace.id);
    if (home === null) return null;
    const names = home.hasRgps ? caller.policies : [];
    const found = new Set(names.flatMap((name) => home.rgp(policyName(name) ?? "") ?? []));
    const sorted = found.size === 0 ? NONE : [...found].toSorted(byName);
    this.#carried.set(caller, { generation, found: sorted });
    return sorted;
  }

  /** Null where one of them is not in memory. */
  #aboveOf(namespace: NamespaceRef): readonly Above[] | null {
    const { generation } = this.#places;
    const known = this.#above.get(namespace);
    if (known?.generation === generation) return known.found;
    const found: Above[] = [];
    for (const above of this.#line(namespace)) {
      const place = this.#places.at(above.id);
      if (place === null) return null;
      if (place.hasEgps) found.push({ place, ...relation(above, namespace) });
    }
    this.#above.set(namespace, { generation, found });
    return found;
  }

  /** A namespace and all above it. */
  #line(namespace: NamespaceRef): NamespaceRef[] {
    const line = [namespace];
    let { path } = namespace;
    while (path !== "") {
      path = path.slice(0, Math.max(0, path.lastIndexOf("/")));
      const above = this.#parts.namespaces.named(path);
      invariant(above !== null, "a namespace has all those above it");
      line.push(above);
    }
    return line;
  }

  async #applyingLater(
    caller: Caller | null,
    namespace: NamespaceRef,
    path: string | null,
  ): Promise<readonly Governor[]> {
    await this.#load([...this.#line(namespace), ...(caller === null ? [] : [caller.namespace])]);
    return this.applying(caller, namespace, path);
  }

  async #load(namespaces: readonly NamespaceRef[]): Promise<void> {
    for (const { id } of namespaces) if (this.#places.at(id) === null) await this.#places.load(id);
  }
}

/** Whatever is kept for one of them is kept under this. */
export function keyOf({ kind, namespaceId, name }: Governor): string {
  return `${kind}/${namespaceId}/${name}`;
}

/** Management is bound by the EGPs of namespaces above its own and by no others, so that a parent governs
 *  its tenants and nobody locks himself out. */
function binding(above: readonly Above[], caller: Caller | null): readonly Above[] {
  if (caller?.type !== "management") return above;
  const own = depthOf(caller.namespace);
  return above.filter(({ depth }) => depth < own);
}

function depthOf({ path }: NamespaceRef): number {
  return path === "" ? 0 : path.length + 1;
}

/** How paths of a namespace look from another one above it, or from itself. */
function relation(above: NamespaceRef, { path }: NamespaceRef): Omit<Above, "place"> {
  const depth = depthOf(above);
  return { below: path === above.path ? "" : `${path.slice(depth)}/`, depth };
}

/** All that match, each once, the longest path from root first, then by name. */
function matching(above: readonly Above[], path: string): readonly Governor[] {
  let found: Map<Governor, { readonly length: number; readonly glob: boolean }> | null = null;
  for (const { place, below, depth } of above) {
    for (const match of place.egps.matching(below + path)) {
      found ??= new Map();
      if (found.has(match.value)) continue; // by a longer path of its own
      found.set(match.value, { length: depth + match.path.path.length, glob: match.path.glob });
    }
  }
  if (found === null) return NONE; // nearly always
  if (found.size === 1) return [...found.keys()];
  return [...found]
    .toSorted(
      ([a, at], [b, bt]) =>
        bt.length - at.length || Number(at.glob) - Number(bt.glob) || byName(a, b),
    )
    .map(([policy]) => policy);
}

function byName(a: Governor, b: Governor): number {
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}
