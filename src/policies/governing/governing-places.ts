// Which RGPs and EGPs there are in each namespace, in memory: names of the ones, names and paths of the
// others. A namespace is read at its first request, in slices, and followed from then on, so that a
// change counts for the next request. Programs are governing.ts's.

import type { Timers } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import type { GoverningKind } from "../../endpoint/judgement.ts";
import { EgpIndex, type EgpPath, readEgpPaths } from "./egp-paths.ts";
import * as failures from "../failures.ts";
import { governingCodec, governingPolicies } from "./governing-record.ts";

const PAGE = 100; // records that are opened before others get their turn

/** One that may have to be asked. The same object until it is written again. */
export interface Governor {
  readonly kind: GoverningKind;
  readonly namespaceId: string;
  readonly name: string;
}

export interface PlacesParts {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly timers: Timers;
  /** One was written or deleted. */
  readonly changed: (policy: Governor) => void;
}

/** The governing policies of one namespace. */
export class Place {
  readonly id: string;
  readonly #views: Readonly<Record<GoverningKind, View>>;
  readonly #rgps = new Map<string, Governor>();
  readonly #paths = new Map<string, readonly EgpPath[]>();
  readonly #stale: Record<GoverningKind, Set<string>> = { rgp: new Set(), egp: new Set() };
  #index: EgpIndex<Governor> | null = null;

  constructor(shared: View, id: string) {
    this.id = id;
    this.#views = {
      rgp: shared.sub(governingPolicies("rgp", id)),
      egp: shared.sub(governingPolicies("egp", id)),
    };
  }

  rgp(name: string): Governor | undefined {
    return this.#rgps.get(name);
  }

  get hasRgps(): boolean {
    return this.#rgps.size > 0;
  }

  get hasEgps(): boolean {
    return this.#paths.size > 0;
  }

  /** Every EGP by its paths. */
  get egps(): EgpIndex<Governor> {
    this.#index ??= EgpIndex.of(
      [...this.#paths].flatMap(([name, paths]) => {
        const value: Governor = { kind: "egp", namespaceId: this.id, name };
        return paths.map((path) => ({ path, value }));
      }),
    );
    return this.#index;
  }

  follow(changed: PlacesParts["changed"]): () => void {
    const ends = (["rgp", "egp"] as const).map((kind) =>
      this.#views[kind].watch("", ({ keys }) => {
        for (const name of keys) {
          this.#stale[kind].add(name);
          changed({ kind, namespaceId: this.id, name });
        }
      }),
    );
    return () => ends.forEach((end) => end());
  }

  async load(timers: Timers): Promise<void> {
    for (let after: string | undefined; ; await timers.turn()) {
      const page = after === undefined ? { limit: 10 * PAGE } : { after, limit: 10 * PAGE };
      const names = this.#views.rgp.keys("", page);
      for (const name of names) this.#addRgp(name);
      after = names.at(-1);
      if (names.length < 10 * PAGE) break;
    }
    for (let after: string | undefined; ; await timers.turn()) {
      const page = after === undefined ? { limit: PAGE } : { after, limit: PAGE };
      const records = this.#views.egp.records("", governingCodec, page);
      for (const { key, value } of records) this.#paths.set(key, pathsOf(key, value.paths));
      after = records.at(-1)?.key;
      if (records.length < PAGE) break;
    }
  }

  /** Reads what has changed. One that cannot be read stays to be read: nobody passes it meanwhile. */
  refresh(): void {
    for (const name of this.#stale.rgp) {
      if (this.#views.rgp.get(name, governingCodec) === null) this.#rgps.delete(name);
      else this.#addRgp(name);
      this.#stale.rgp.delete(name);
    }
    for (const name of this.#stale.egp) {
      const record = this.#views.egp.get(name, governingCodec);
      if (record === null) this.#paths.delete(name);
      else this.#paths.set(name, pathsOf(name, record.paths));
      this.#stale.egp.delete(name);
      this.#index = null;
    }
  }

  #addRgp(name: string): void {
    this.#rgps.set(name, { kind: "rgp", namespaceId: this.id, name });
  }
}

export class GoverningPlaces {
  readonly #parts: PlacesParts;
  readonly #places = new Map<string, Place>();
  readonly #loading = new Map<string, Promise<void>>();
  readonly #unfollow = new Set<() => void>();
  #generation = 0;

  constructor(parts: PlacesParts) {
    this.#parts = parts;
  }

  /** Another number whenever anything in memory is not what it was. */
  get generation(): number {
    return this.#generation;
  }

  /** As of the last change; null where it must be loaded first. */
  at(namespaceId: string): Place | null {
    const place = this.#places.get(namespaceId);
    if (place === undefined) return null;
    place.refresh();
    return place;
  }

  /** Several requests wait for one load. */
  load(namespaceId: string): Promise<void> {
    let loading = this.#loading.get(namespaceId);
    if (loading === undefined) {
      loading = this.#load(namespaceId).finally(() => this.#loading.delete(namespaceId));
      this.#loading.set(namespaceId, loading);
    }
    return loading;
  }

  /** Before the node seals. */
  close(): void {
    for (const end of this.#unfollow) end();
    this.#unfollow.clear();
    this.#places.clear();
    this.#generation++;
  }

  async #load(id: string): Promise<void> {
    const place = new Place(this.#parts.shared, id);
    // Followed from before it is read: what changes meanwhile is read again.
    const unfollow = place.follow((policy) => {
      this.#generation++;
      this.#parts.changed(policy);
    });
    this.#unfollow.add(unfollow);
    try {
      await place.load(this.#parts.timers);
    } catch (error) {
      unfollow();
      this.#unfollow.delete(unfollow);
      throw error;
    }
    if (!this.#unfollow.has(unfollow)) return; // closed since
    this.#places.set(id, place);
    this.#generation++;
  }
}

/** Checked when it was written: what does not read now is damage, and nobody is let past it. */
function pathsOf(name: string, texts: readonly string[]): readonly EgpPath[] {
  try {
    return readEgpPaths(texts);
  } catch {
    throw failures.recordDamaged(name);
  }
}
