// The filters of a primary: made, shown and removed by its operators, and what each comes to for its secondary. Nothing is sent by a filter
// that is not known whole: who has one waits until the places that filters speak of are read.

import { hash } from "node:crypto";
import { describe } from "@holdfast/shared/failure";
import type { Fields, Log } from "@holdfast/shared/log";
import type { Clock, Timers } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import { isClusterId, isMemberId } from "../../cluster/names.ts";
import type { Store } from "../../storage/store.ts";
import type { KnownSecondary } from "../joining/primary-rows.ts";
import * as failures from "./failures.ts";
import { type Filter, pathNow, Sieve, withHeirs, type Withheld, withheldBy } from "./filter.ts";
import { type MountsBeside, resolvePaths } from "./filter-paths.ts";
import { KnownPlaces, type PlacesSource } from "./places.ts";
import { SharedView } from "./shared-view.ts";
import {
  boundFilter,
  deleteFilterOfMember,
  filterOfMember,
  putFilter,
  rulesOf,
  saysOf,
  type StoredFilter,
  storedFilter,
  storedFilters,
} from "./stored-filters.ts";

export interface FiltersParts {
  readonly store: Store;
  /** Of local/replication/performance/. */
  readonly view: View;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly source: PlacesSource;
  readonly beside: MountsBeside;
  /** As durable, or as a transaction sees them. */
  readonly known: (reads?: ViewReads) => readonly KnownSecondary[];
  /** Its only secondary goes by it too: status shows it under a similar name. */
  readonly set: () => string;
}

/** What a member is not sent, as it is now. */
export interface MemberFilter {
  /** Another one as soon as anything else is withheld. */
  readonly version: string;
  /** Whether a member that knows it by this version is sent just what it would be by the present one: what has come or gone since was never sent. */
  isEqualTo(version: string): boolean;
  readonly withheld: Withheld;
  /** Without what there is no more: entries of the log still speak of that. */
  readonly present: Withheld;
  lets(scope: Uint8Array): boolean;
  /** The shared tree as it is sent it. */
  view(): Promise<SharedView>;
}

/** What the sender needs of them. */
export interface MemberFilters {
  /** Resolves when it is known what each of them comes to. */
  ready(): Promise<void>;
  /** Null: it is sent everything. */
  of(member: string): MemberFilter | null;
  /** How many mounts and namespaces a cluster is not sent that comes by that id, as there are now. */
  countFor(member: string, cluster: string): number;
  /** Of what was gone before this index nobody knows any more where it belonged. */
  readonly since: bigint;
  onChange(call: () => void): () => void;
}

const MAX_FILTERS = 256;
const MAX_VERSIONS = 4096;
const NOTHING: Withheld = { mounts: new Map(), namespaces: new Map() };

export class Filters implements MemberFilters {
  readonly #parts: FiltersParts;
  readonly #states = new Map<string, FilterState>(); // by what they say
  readonly #byMember = new Map<string, FilterState | null>();
  readonly #listeners = new Set<() => void>();
  #places: KnownPlaces | null = null;

  constructor(parts: FiltersParts) {
    this.#parts = parts;
  }

  open(): void {
    if (storedFilters(this.#parts.view).size > 0) this.#known();
  }

  close(): void {
    this.#places?.close();
    this.#places = null;
    this.#forget();
    for (const state of this.#states.values()) state.close();
    this.#states.clear();
  }

  onChange(call: () => void): () => void {
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  }

  get since(): bigint {
    return this.#places?.since ?? 0n;
  }

  async ready(): Promise<void> {
    await this.#places?.loaded;
  }

  of(member: string): MemberFilter | null {
    const known = this.#byMember.get(member);
    if (known !== undefined) return known;
    const filter = filterOfMember(this.#parts.view, member, this.#clusterOf(member));
    const state = filter === null ? null : this.#stateOf(rulesOf(filter));
    this.#byMember.set(member, state);
    return state;
  }

  /** How many mounts and namespaces it is not sent; 0 also where that is not known yet. */
  countOf(member: string): number {
    const places = this.#places;
    if (places?.isLoaded !== true) return 0;
    const { mounts, namespaces } = this.of(member)?.present ?? NOTHING;
    return mounts.size + namespaces.size;
  }

  countFor(member: string, cluster: string): number {
    const { view } = this.#parts;
    const filter = filterOfMember(view, member, cluster);
    if (filter === null) return 0;
    const places = this.#places;
    if (places === null || !places.isLoaded) throw failures.filtersNotReady();
    const { mounts, namespaces } = thoseThere(withheldBy(rulesOf(filter), places), places);
    return mounts.size + namespaces.size;
  }

  /** Who is known by what may have changed. */
  membersChanged(): void {
    this.#forget();
  }

  /** Gives what there is to say of it. Resolves when nothing is sent any more that it withholds. */
  async put(named: string, mode: Filter["mode"], paths: readonly string[]): Promise<string[]> {
    const { view, beside } = this.#parts;
    this.#writableName(named);
    const places = await this.#begin();
    const filter = { mode, paths: resolvePaths(paths, places, beside) };
    const isKnown = await view.write((tx) => {
      // By now: one that comes meanwhile takes along what was made by the id of its cluster.
      const { name, clusterId, isKnown } = this.#writableName(named, tx);
      const isNew = filterOfMember(tx, name, clusterId) === null;
      if (isNew && storedFilters(tx).size >= MAX_FILTERS)
        throw failures.tooManyFilters(MAX_FILTERS);
      deleteFilterOfMember(tx, name, clusterId);
      putFilter(tx, name, named === clusterId ? { ...filter, ofCluster: clusterId } : filter);
      return isKnown;
    });
    this.#changed();
    this.#log(named, "set", { mode, paths: paths.length });
    return [
      ...(isKnown ? [] : [UNKNOWN]),
      ...(mode === "allow" && paths.length === 0 ? [NOTHING_ALLOWED] : []),
      ...(mode === "deny" && paths.length === 0 ? [NOTHING_DENIED] : isKnown ? [SNAPSHOTS] : []),
    ];
  }

  /** Null where it has none; with what people should know of it. */
  async read(
    named: string,
  ): Promise<{ readonly filter: Filter; readonly warnings: readonly string[] } | null> {
    const filter = this.#storedOf(named);
    if (filter === null) return null;
    const places = await this.#begin();
    const [, ...also] = rulesOf(filter);
    const moved = rulesOf(filter).flatMap(({ mode, paths }) =>
      paths.flatMap((one) => {
        const { path } = one;
        const now = pathNow(one, places);
        if (now === null) {
          const later = mode === "deny" ? "; what is made there is withheld as well" : "";
          return [`${path} is gone${later}`];
        }
        return now === path ? [] : [`${path} is ${now} now; the filter goes on to mean it`];
      }),
    );
    return { filter, warnings: [...also.map(besideIt), ...new Set(moved)] };
  }

  /** Whether there was one. */
  async remove(named: string): Promise<boolean> {
    const { view } = this.#parts;
    if (this.#storedOf(named) === null) return false;
    await view.write((tx) => {
      const { name, clusterId } = this.#nameOf(named, tx);
      deleteFilterOfMember(tx, name, clusterId);
    });
    this.#changed();
    this.#log(named, "deleted");
    return true;
  }

  /** Of one that is known no more. That of its cluster stays where that is known by another id. */
  async forget(id: string, clusterId: string): Promise<void> {
    const { view, known } = this.#parts;
    const isElsewhere = known().some((one) => one.clusterId === clusterId);
    const cluster = isElsewhere ? "" : clusterId;
    if (filterOfMember(view, id, cluster) === null) return;
    const forget = (tx: Tx) => {
      // By now somebody else may be to come by it, with a filter that was made for that.
      if (known(tx).every((one) => one.id !== id)) deleteFilterOfMember(tx, id, cluster);
    };
    await view.write(forget, { essential: true });
    this.#changed();
    this.#log(id, "purged");
  }

  /** Of what there is. Null where nobody is known by that name, and no filter is. */
  async withheld(named: string): Promise<Withheld | null> {
    const { name, isKnown } = this.#nameOf(named);
    const filter = this.#storedOf(named);
    if (!isKnown && filter === null) return null;
    const places = await this.#begin();
    if (isKnown) return this.of(name)?.present ?? NOTHING;
    return thoseThere(withheldBy(rulesOf(filter!), places), places);
  }

  /** For one that is to come in the place of another, before anything can be sent to it. */
  async copy(from: string, to: string): Promise<void> {
    const { view } = this.#parts;
    const found = this.#storedOf(from);
    if (found === null) throw failures.noFilterToCopy();
    this.#known();
    const { ofCluster: _, ...filter } = found;
    await view.write((tx) => putFilter(tx, to, filter));
    this.#changed();
    this.#log(to, "copied", { mode: filter.mode, paths: filter.paths.length, from });
  }

  /** What it names is in the audit log, and is shown to who may read it. */
  #log(secondary: string, change: string, more: Fields = {}): void {
    const fields = { event: "replication.filter-changed", secondary, change, ...more };
    this.#parts.log.info("what a secondary is not sent was changed", fields);
  }

  async #begin(): Promise<KnownPlaces> {
    const places = this.#known();
    await places.loaded;
    return places;
  }

  #known(): KnownPlaces {
    const { store, clock, timers, source } = this.#parts;
    const changed = () => this.#moved();
    return (this.#places ??= new KnownPlaces({ store, clock, timers, source, changed }));
  }

  #forget(): void {
    this.#byMember.clear();
  }

  #changed(): void {
    this.#forget();
    this.#dropStates();
    this.#tell();
  }

  /** What there is has changed: what each filter comes to may have. */
  #moved(): void {
    const places = this.#places!;
    let isOther = false;
    const states = this.#states.values().toArray(); // by other names from now on
    this.#states.clear();
    for (const state of states) {
      isOther = state.refresh(places) || isOther;
      this.#states.set(state.says, state);
    }
    if (isOther) this.#tell();
    void this.#bind(places);
  }

  /** What was made at the path of what is denied and gone is meant by the filter from then on, also after a start. */
  async #bind(places: KnownPlaces): Promise<void> {
    const { view, log } = this.#parts;
    const due = () =>
      [...storedFilters(view)].filter(([, filter]) => boundFilter(filter, places) !== filter);
    if (due().length === 0) return;
    await Promise.resolve(); // nothing is written while others hear of the commit
    if (this.#places !== places) return;
    const bind = (tx: Tx) => {
      for (const [name] of due()) {
        const filter = storedFilter(tx, name);
        if (filter !== null) putFilter(tx, name, boundFilter(filter, places));
      }
    };
    try {
      await view.write(bind, { essential: true });
    } catch (error) {
      log.warn("what was made at a denied path could not be written into the filter", {
        cause: describe(error), // it is tried again with the next change
      });
    }
  }

  #tell(): void {
    for (const call of this.#listeners) call();
  }

  #stateOf(filters: readonly Filter[]): FilterState | null {
    if (filters.length === 0) return null;
    const places = this.#places;
    if (places === null || !places.isLoaded) throw failures.filtersNotReady();
    const says = saysOfAll(filters, places);
    let state = this.#states.get(says);
    if (state === undefined) {
      this.#dropStates();
      state = new FilterState(this.#parts, filters, places);
      this.#states.set(says, state);
    }
    return state;
  }

  /** Those that are nobody's: each has a tree, which takes memory and follows every commit. */
  #dropStates(): void {
    const { view, known } = this.#parts;
    const places = this.#places;
    if (places === null || this.#states.size === 0) return;
    const filters = known().flatMap(
      ({ id, clusterId }) => filterOfMember(view, id, clusterId) ?? [],
    );
    const used = new Set(filters.map((one) => saysOfAll(rulesOf(one), places)));
    for (const [says, state] of this.#states) {
      if (used.has(says)) continue;
      state.close();
      this.#states.delete(says);
    }
  }

  #clusterOf(member: string): string {
    return this.#parts.known().find(({ id }) => id === member)?.clusterId ?? "";
  }

  #storedOf(named: string): StoredFilter | null {
    const { name, clusterId } = this.#nameOf(named);
    return filterOfMember(this.#parts.view, name, clusterId);
  }

  /** The id of the set is that of the only secondary, and of nobody where there is none: which is to come is not known. */
  #writableName(named: string, reads?: ViewReads): NamedMember {
    const found = this.#nameOf(named, reads);
    if (!found.isKnown && named === this.#parts.set()) throw failures.filterForNobody();
    return found;
  }

  /** By its id, by that of its cluster, or by that of the set where there is one secondary. */
  #nameOf(named: string, reads?: ViewReads): NamedMember {
    const known = this.#parts.known(reads);
    const own = known.filter(({ id }) => id === named);
    const ofCluster = known.filter(({ clusterId }) => clusterId === named);
    const others = named === this.#parts.set() ? known : ofCluster;
    const meant = own.length > 0 ? own : others;
    if (meant.length > 1) throw failures.ambiguousFilter();
    const [one] = meant;
    if (one !== undefined) return { name: one.id, clusterId: one.clusterId, isKnown: true };
    if (!isMemberId(named) && !isClusterId(named)) throw failures.filterIdInvalid();
    return { name: named, clusterId: "", isKnown: false };
  }
}

interface NamedMember {
  /** Under which a filter of it lies. */
  readonly name: string;
  /** Which cluster has come by it; empty where none has. */
  readonly clusterId: string;
  readonly isKnown: boolean;
}

const UNKNOWN =
  "no secondary is known by this id yet: the filter is for the one that comes by it, and is there before anything is sent";
const NOTHING_ALLOWED =
  "no mount and no namespace is sent: only what belongs to the cluster itself";
const NOTHING_DENIED = "nothing is named: everything is sent, as without a filter";
const SNAPSHOTS = "snapshots that the secondary has taken before still hold what it had then";

/** Of one that counts as well. */
function besideIt({ mode, paths }: Filter): string {
  const named = paths.map(({ path }) => path).join(", ");
  const what = named === "" ? mode : `${mode} ${named}`;
  return `a second filter counts as well, since one was made by the id of the secondary and one by that of its cluster: ${what}; writing or deleting the filter replaces both`;
}

function saysOfAll(filters: readonly Filter[], places: KnownPlaces): string {
  return JSON.stringify(filters.map((one) => saysOf(withHeirs(one, places))));
}

class FilterState implements MemberFilter {
  readonly #parts: FiltersParts;
  #filters: readonly Filter[];
  #says!: string;
  #withheld!: Withheld;
  #present!: Withheld;
  #sieve!: Sieve;
  #version = "";
  readonly #equal = new Set<string>(); // versions
  #view: SharedView | null = null;
  #isOver = false;

  constructor(parts: FiltersParts, filters: readonly Filter[], places: KnownPlaces) {
    this.#parts = parts;
    this.#filters = filters;
    this.refresh(places);
  }

  /** By which it is known. */
  get says(): string {
    return this.#says;
  }

  get version(): string {
    return this.#version;
  }

  isEqualTo(version: string): boolean {
    return this.#equal.has(version);
  }

  get withheld(): Withheld {
    return this.#withheld;
  }

  get present(): Withheld {
    return this.#present;
  }

  lets(scope: Uint8Array): boolean {
    return this.#sieve.lets(scope);
  }

  /** Whether another part is withheld than before. */
  refresh(places: KnownPlaces): boolean {
    const before = this.#sieve;
    this.#filters = this.#filters.map((one) => withHeirs(one, places));
    this.#says = saysOfAll(this.#filters, places);
    this.#withheld = withheldBy(this.#filters, places);
    this.#sieve = new Sieve(this.#withheld, places);
    this.#present = thoseThere(this.#withheld, places);
    const version = versionOf(this.#present);
    if (version === this.#version) return false;
    this.#version = version;
    // What is new and withheld was never part of the tree as it is sent: no leaf has to be read for it.
    const isSent = before?.isSameAs(this.#sieve) === true;
    if (!isSent) this.#drop();
    if (!isSent || this.#equal.size >= MAX_VERSIONS) this.#equal.clear();
    this.#equal.add(version);
    return true;
  }

  async view(): Promise<SharedView> {
    for (;;) {
      if (this.#isOver) throw failures.otherWithheld();
      if (this.#view?.isLost === true) this.#drop();
      const { store, clock, timers } = this.#parts;
      const lets = (scope: Uint8Array) => this.lets(scope);
      this.#view ??= new SharedView({ store, clock, timers, lets });
      const view = this.#view;
      try {
        await view.built;
      } catch (error) {
        throw view === this.#view ? error : failures.otherWithheld(); // it was of another filter than this is now
      }
      if (view === this.#view && !view.isLost) return view;
    }
  }

  /** It is nobody's any more. */
  close(): void {
    this.#isOver = true;
    this.#drop();
  }

  #drop(): void {
    this.#view?.close();
    this.#view = null;
  }
}

function thoseThere({ mounts, namespaces }: Withheld, places: KnownPlaces): Withheld {
  const isThere = ([id]: readonly [string, string]) => places.isThere(id);
  return {
    mounts: new Map([...mounts].filter(isThere)),
    namespaces: new Map([...namespaces].filter(isThere)),
  };
}

function versionOf({ mounts, namespaces }: Withheld): string {
  const sorted = (of: ReadonlyMap<string, string>) =>
    [...of].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash("sha256", JSON.stringify([sorted(mounts), sorted(namespaces)])).slice(0, 32);
}
