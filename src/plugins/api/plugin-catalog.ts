// The catalog as callers see it: what is registered beside what is built in, what makes use of it, and what runs of it
// in this cluster.

import { someNames } from "@holdfast/shared/text/some-names";
import type { Catalog } from "../catalog/catalog.ts";
import * as failures from "../catalog/failures.ts";
import { checkPluginName } from "../catalog/names.ts";
import type { Registering } from "../catalog/registering.ts";
import type { KeptEntry } from "../catalog/rows.ts";
import { usersOf } from "../catalog/users.ts";
import { canonicalVersion, compareVersions, isBuiltInVersion } from "../catalog/version.ts";
import {
  PLUGIN_TYPES,
  type PluginId,
  type PluginType,
  type PluginUse,
  type PluginUses,
} from "../ports.ts";
import type { ProcessReport } from "../process/figures.ts";

/** An engine of the server's own, by the name that mounts call it. */
export interface BuiltIn {
  readonly type: PluginType;
  readonly name: string;
  readonly version: string;
}

export interface PluginCatalogParts {
  readonly catalog: Catalog;
  readonly registering: Registering;
  readonly builtIn: readonly BuiltIn[];
  readonly uses: Pick<PluginUses, "all">;
  readonly reports: () => readonly ProcessReport[];
}

export type CatalogItem = { readonly builtIn: BuiltIn } | { readonly entry: KeptEntry };

export class PluginCatalog {
  readonly #parts: PluginCatalogParts;

  constructor(parts: PluginCatalogParts) {
    this.#parts = parts;
  }

  get registering(): Registering {
    return this.#parts.registering;
  }

  /** By type, name and version. */
  all(types: readonly PluginType[] = PLUGIN_TYPES): CatalogItem[] {
    const { catalog, builtIn } = this.#parts;
    const own = builtIn.filter(({ type }) => types.includes(type)).map((one) => ({ builtIn: one }));
    const registered = catalog.entries(types).map((entry) => ({ entry }));
    return [...own, ...registered].toSorted((a, b) => {
      const [one, other] = [idOf(a), idOf(b)];
      return (
        compare(one.type, other.type) ||
        compare(one.name, other.name) ||
        compareVersions(one.version, other.version)
      );
    });
  }

  /** Names that stand for something without a version. */
  names(type: PluginType): string[] {
    const named = this.all([type]).filter((one) => "builtIn" in one || one.entry.version === "");
    return [...new Set(named.map((one) => idOf(one).name))];
  }

  /** With what to tell of it besides. Throws where there is none, and where it is not clear which one is meant. */
  read(
    type: PluginType,
    name: string,
    wanted: string | undefined,
  ): { readonly item: CatalogItem; readonly warnings: readonly string[] } {
    checkPluginName(name);
    const { catalog, builtIn } = this.#parts;
    const own = builtIn.find((one) => one.type === type && one.name === name) ?? null;
    if (wanted !== undefined && wanted !== "") {
      if (own !== null && isBuiltInVersion(wanted) && wanted === own.version)
        return { item: { builtIn: own }, warnings: [] };
      if (isBuiltInVersion(wanted)) throw failures.noSuchPlugin();
      const entry = catalog.find({ type, name, version: canonicalVersion(wanted) });
      if (entry === null) throw failures.noSuchPlugin();
      return { item: { entry }, warnings: [] };
    }
    const versions = catalog.versions(type, name);
    const plain = versions.find(({ version }) => version === "");
    if (plain !== undefined) return { item: { entry: plain }, warnings: [] };
    if (own !== null) return { item: { builtIn: own }, warnings: [] };
    const [only] = versions;
    if (only === undefined) throw failures.noSuchPlugin();
    if (versions.length > 1)
      throw failures.versionNeeded(
        name,
        versions.map(({ version }) => version),
      );
    return {
      item: { entry: only },
      warnings: [`no version was named: this is ${only.version}, the only one`],
    };
  }

  /** What there is to tell whoever deletes it. */
  async delete(type: PluginType, name: string, wanted: string): Promise<string[]> {
    checkPluginName(name);
    if (isBuiltInVersion(wanted)) throw failures.builtInKept(wanted);
    const { catalog, registering } = this.#parts;
    const id = { type, name, version: canonicalVersion(wanted) };
    const users = await registering.usersOf(id);
    const askers = await this.#askersOf(id, users);
    const before = catalog.find(id);
    await catalog.delete(id);
    if (before === null) return this.#others(id);
    return [
      ...(users.length === 0
        ? []
        : [
            `the plugin is in use at ${someNames(users)}, which goes on until its process ends or the server is unsealed again, and is not started any more`,
          ]),
      ...(askers.length === 0
        ? []
        : [
            `this version is asked for at ${someNames(askers)}, where the pinned one runs instead: without the pin nothing is started there`,
          ]),
    ];
  }

  /** What has this version of its own, and is started by the pinned one instead. */
  async #askersOf({ type, name, version }: PluginId, users: readonly string[]): Promise<string[]> {
    if (version === "") return [];
    return (await this.#parts.uses.all())
      .filter((use) => use.isPlugin && use.type === type && use.name === name)
      .filter((use) => use.version === version && !users.includes(use.place))
      .map(({ place }) => place)
      .toSorted();
  }

  /** What uses it, by the paths from root on. */
  async usesOf(item: CatalogItem): Promise<PluginUse[]> {
    const { catalog, uses } = this.#parts;
    if ("entry" in item) return await usersOf(catalog, uses, item.entry);
    const { type, name } = item.builtIn;
    return (await uses.all())
      .filter((use) => !use.isPlugin && use.type === type && use.name === name)
      .toSorted((a, b) => compare(a.place, b.place));
  }

  /** What runs, or is to run again, of an entry in this cluster. */
  processesOf(item: CatalogItem): ProcessReport[] {
    if (!("entry" in item)) return [];
    const { type, name, version } = item.entry;
    return this.#parts
      .reports()
      .filter(
        (report) => report.type === type && report.name === name && report.version === version,
      );
  }

  /** Whoever deletes what is not there may have meant one of these. */
  #others({ type, name, version }: PluginId): string[] {
    const others = this.#parts.catalog
      .versions(type, name)
      .map((entry) => entry.version || "one without a version");
    if (others.length === 0) return [];
    const which = version === "" ? "without a version" : `of version ${version}`;
    return [`there is no ${type} ${name} ${which}; registered: ${someNames(others)}`];
  }
}

export function idOf(item: CatalogItem): PluginId {
  return "entry" in item ? item.entry : item.builtIn;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
