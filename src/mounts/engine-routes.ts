// The endpoints of engine types: one table for each type and set of options, however many mounts there
// are of it. Where an engine sorts its paths, one for each of its sets.

import type { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Method, Served } from "@holdfast/shared/endpoint/endpoint";
import { serveMounted } from "@holdfast/shared/endpoint/endpoint";
import type { EngineOptions, EngineType, SortedPaths } from "@holdfast/plugin-sdk/engine";
import type { JsonObject } from "@holdfast/shared/json/json";
import * as failures from "./failures.ts";

export interface FoundRoute {
  readonly methods: ReadonlyMap<Method, Served>;
  /** The path in its one form. */
  readonly segments: readonly string[];
  readonly values: readonly string[];
}

export interface Routes {
  find(segments: readonly string[]): FoundRoute;
  /** All of them. */
  readonly endpoints: readonly Served[];
}

export interface EngineRoutesOptions {
  /** Makes the table. */
  readonly routes: (endpoints: readonly Served[]) => Routes;
  /** What mounts of the type have besides their engine's own. */
  readonly besides: (type: EngineType<unknown>) => readonly Served[];
}

interface Table {
  readonly endpoints: readonly Served[];
  readonly routes: Routes;
}

type Sorted = SortedPaths<unknown>;
type Changed = (endpoint: Served) => Served;

export class EngineRoutes {
  readonly #options: EngineRoutesOptions;
  readonly #tables = new Map<string, Table>();
  /** Many engines have the same sets. */
  readonly #sets = new WeakMap<Sorted["sets"], Map<string, readonly Served[]>>();

  constructor(options: EngineRoutesOptions) {
    this.#options = options;
  }

  of(type: EngineType<unknown>, options: EngineOptions): Table {
    const key = JSON.stringify([type.kind, type.type, ...sortedOptions(options)]);
    let table = this.#tables.get(key);
    if (table === undefined) {
      const endpoints = [...serveMounted(type.paths(options)), ...this.#options.besides(type)];
      table = { endpoints, routes: this.#options.routes(endpoints) };
      this.#tables.set(key, table);
    }
    return table;
  }

  /** What this engine answers to. */
  opened(type: EngineType<unknown>, options: EngineOptions, engine: unknown): Routes {
    const sorted = type.sorts?.(engine);
    return sorted === undefined ? this.of(type, options).routes : this.#sorted(sorted, unchanged);
  }

  /** The same paths, with the same rights, for a mount that cannot answer: who may not know of it
   *  learns no more than before. */
  closed(
    type: EngineType<unknown>,
    options: EngineOptions,
    { kept, refusal }: { readonly kept: JsonObject | null; readonly refusal: () => Failure },
  ): Routes {
    const sorted = type.closed?.sorts(kept);
    const change = refusing(refusal);
    return sorted === undefined ? this.#all(type, options, change) : this.#sorted(sorted, change);
  }

  /** Of a mount that is being disabled: what its revocations work with can still be mended. */
  leaving(type: EngineType<unknown>, options: EngineOptions, engine: unknown): Routes {
    const gone = refusing(failures.gone);
    const change: Changed = (one) => (one.whileDisabling ? one : gone(one));
    const sorted = type.sorts?.(engine);
    return sorted === undefined ? this.#all(type, options, change) : this.#sorted(sorted, change);
  }

  #all(type: EngineType<unknown>, options: EngineOptions, change: Changed): Routes {
    return this.#options.routes(this.of(type, options).endpoints.map(change));
  }

  #sorted(sorted: Sorted, change: Changed): Routes {
    const endpointsOf = (name: string) => this.#setOf(sorted, name).map(change);
    return new SortedRoutes(sorted, endpointsOf, this.#options);
  }

  #setOf({ sets }: Sorted, name: string): readonly Served[] {
    let known = this.#sets.get(sets);
    if (known === undefined) this.#sets.set(sets, (known = new Map()));
    let served = known.get(name);
    if (served === undefined) {
      const declared = sets[name];
      invariant(declared !== undefined, "an engine sorts into its own sets");
      known.set(name, (served = serveMounted(declared)));
    }
    return served;
  }
}

/** Which set answers is looked up by the path as a list has it, with a slash at its end, and as everything else has it. */
class SortedRoutes implements Routes {
  readonly #sorted: Sorted;
  readonly #endpointsOf: (name: string) => readonly Served[];
  readonly #options: EngineRoutesOptions;
  readonly #tables = new Map<string, Routes>();

  constructor(
    sorted: Sorted,
    endpointsOf: (name: string) => readonly Served[],
    options: EngineRoutesOptions,
  ) {
    this.#sorted = sorted;
    this.#endpointsOf = endpointsOf;
    this.#options = options;
  }

  get endpoints(): readonly Served[] {
    return Object.keys(this.#sorted.sets).flatMap((name) => this.#endpointsOf(name));
  }

  find(segments: readonly string[]): FoundRoute {
    const path = segments.join("/");
    const { sort } = this.#sorted;
    return this.#table(sort(path), sort(path === "" ? path : `${path}/`)).find(segments);
  }

  #table(plain: string, lists: string): Routes {
    const key = `${plain} ${lists}`;
    let table = this.#tables.get(key);
    if (table === undefined) {
      const own = this.#endpointsOf(plain).filter(({ method }) => method !== "LIST");
      const list = this.#endpointsOf(lists).filter(({ method }) => method === "LIST");
      table = this.#options.routes([...own, ...list]);
      this.#tables.set(key, table);
    }
    return table;
  }
}

function unchanged(endpoint: Served): Served {
  return endpoint;
}

function refusing(refusal: () => Failure): Changed {
  const run = () => {
    throw refusal();
  };
  // Where what it writes belongs may be asked of the engine, too.
  const belongs = (one: Served) => (one.belongs === null ? null : async () => run());
  return (one) => ({ ...one, exists: null, help: null, belongs: belongs(one), run, runIn: run });
}

/** The same options in the same order. */
export function sortedOptions(options: EngineOptions): [string, string][] {
  return Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
