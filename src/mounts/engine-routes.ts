// The endpoints of engine types: one table for each type and set of options, however many mounts there
// are of it.

import type { Failure } from "@holdfast/shared/failure";
import type { Method, Served } from "@holdfast/shared/endpoint/endpoint";
import { serveMounted } from "@holdfast/shared/endpoint/endpoint";
import type { EngineOptions, EngineType } from "@holdfast/plugin-sdk/engine";
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

export class EngineRoutes {
  readonly #options: EngineRoutesOptions;
  readonly #tables = new Map<string, Table>();

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

  /** The same paths, with the same rights, for a mount that cannot answer: who may not know of it
   *  learns no more than before. */
  closed(type: EngineType<unknown>, options: EngineOptions, cause: string): Routes {
    return this.#refusing(type, options, () => failures.notReady(cause));
  }

  /** Of a mount that is being disabled: what its revocations work with can still be mended. */
  leaving(type: EngineType<unknown>, options: EngineOptions): Routes {
    return this.#refusing(type, options, failures.gone, ({ whileDisabling }) => whileDisabling);
  }

  #refusing(
    type: EngineType<unknown>,
    options: EngineOptions,
    refusal: () => Failure,
    spared: (endpoint: Served) => boolean = () => false,
  ): Routes {
    const { endpoints } = this.of(type, options);
    const run = () => {
      throw refusal();
    };
    const all = endpoints.map((one) =>
      spared(one) ? one : { ...one, exists: null, run, runIn: run },
    );
    return this.#options.routes(all);
  }
}

/** The same options in the same order. */
export function sortedOptions(options: EngineOptions): [string, string][] {
  return Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
