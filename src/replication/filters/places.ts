// The shared mounts and namespaces that there are, as filters need them: kept from the commits themselves, so that what a commit makes is
// judged before anybody is sent it. What is gone is remembered for as long as this lives: entries of the log still speak of it.

import type { Clock, Timers } from "@holdfast/shared/world";
import { Slices } from "../../storage/commit/slices.ts";
import type { Changed, Store } from "../../storage/store.ts";
import type { PlacedMount, PlacedNamespace, Places } from "./filter.ts";

/** Where rows say it. What is read is durable. */
export interface PlacesSource {
  /** Of which shared mount a full key is the entry; null for every other one. */
  mountOf(key: string): string | null;
  /** Whether a full key is that of a namespace. */
  isNamespace(key: string): boolean;
  /** Null where there is none. */
  mount(uuid: string): PlacedMount | null;
  namespace(key: string): (PlacedNamespace & { readonly id: string }) | null;
  mountKeys(after: string | null): readonly string[];
  namespaceKeys(after: string | null): readonly string[];
}

export interface KnownPlacesParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly source: PlacesSource;
  /** Something is elsewhere, or is new, or gone. */
  readonly changed: () => void;
}

export class KnownPlaces implements Places {
  readonly #parts: KnownPlacesParts;
  readonly #unwatch: () => void;
  readonly #stop = new AbortController();
  readonly mounts = new Map<string, PlacedMount>();
  readonly namespaces = new Map<string, PlacedNamespace>();
  /** Those that there are no more. */
  readonly #gone = new Set<string>();
  #isLoaded = false;
  #since = 0n;
  /** Resolves when all of them are known. */
  readonly loaded: Promise<void>;

  constructor(parts: KnownPlacesParts) {
    this.#parts = parts;
    this.#unwatch = parts.store.onCommit((changed) => this.#follow(changed));
    this.loaded = this.#load();
    this.loaded.catch(() => {}); // whoever waits for it hears of it
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** What was gone by this index is not known here. */
  get since(): bigint {
    return this.#since;
  }

  isThere(id: string): boolean {
    return !this.#gone.has(id);
  }

  close(): void {
    this.#stop.abort();
    this.#unwatch();
  }

  async #load(): Promise<void> {
    const { source, store, clock, timers } = this.#parts;
    const slices = new Slices({ clock, timers }, this.#stop.signal);
    const walk = async (
      page: (after: string | null) => readonly string[],
      take: (key: string) => unknown,
    ) => {
      for (let after: string | null = null; ;) {
        const keys = page(after);
        for (const key of keys) {
          take(key);
          await slices.pause();
        }
        after = keys.at(-1) ?? null;
        if (after === null) return;
      }
    };
    await walk(
      (after) => source.namespaceKeys(after),
      (key) => this.#takeNamespace(key),
    );
    await walk(
      (after) => source.mountKeys(after),
      (key) => this.#takeMount(source.mountOf(key)!),
    );
    this.#since = store.index;
    this.#isLoaded = true;
    this.#parts.changed();
  }

  #follow(changed: Changed): void {
    const { source } = this.#parts;
    let isOther = false;
    for (const key of changed.keys()) {
      const uuid = source.mountOf(key);
      if (uuid !== null) isOther = this.#takeMount(uuid) || isOther;
      else if (source.isNamespace(key)) isOther = this.#takeNamespace(key) || isOther;
    }
    if (isOther && this.#isLoaded) this.#parts.changed();
  }

  #takeMount(uuid: string): boolean {
    const found = this.#parts.source.mount(uuid);
    const known = this.mounts.get(uuid);
    if (found === null) return this.#leave(uuid, known !== undefined);
    this.#gone.delete(uuid);
    this.mounts.set(uuid, found);
    return known?.namespaceId !== found.namespaceId || known.path !== found.path;
  }

  readonly #ids = new Map<string, string>(); // of namespaces, by their keys

  #takeNamespace(key: string): boolean {
    const found = this.#parts.source.namespace(key);
    const before = this.#ids.get(key);
    if (before !== undefined && before !== found?.id) this.#leave(before, true);
    if (found === null) return before !== undefined;
    const { id, parent, path } = found;
    const isNew = !this.namespaces.has(id) || this.#gone.has(id);
    this.#ids.set(key, id);
    this.#gone.delete(id);
    this.namespaces.set(id, { parent, path });
    return isNew;
  }

  #leave(id: string, wasKnown: boolean): boolean {
    if (!wasKnown || this.#gone.has(id)) return false;
    this.#gone.add(id);
    return true;
  }
}
