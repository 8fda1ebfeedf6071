// Pins as callers see them.

import { someNames } from "@holdfast/shared/text/some-names";
import type { Catalog, Pin } from "../catalog/catalog.ts";
import { notPinned } from "../catalog/failures.ts";
import { checkPluginName } from "../catalog/names.ts";
import type { PluginType, PluginUses } from "../ports.ts";

export class Pins {
  readonly catalog: Catalog;
  readonly #uses: Pick<PluginUses, "all">;

  constructor(catalog: Catalog, uses: Pick<PluginUses, "all">) {
    this.catalog = catalog;
    this.#uses = uses;
  }

  read(type: PluginType, name: string): Pin {
    checkPluginName(name);
    const version = this.catalog.pinned(type, name);
    if (version === null) throw notPinned();
    return { type, name, version };
  }

  /** Gives what there is to tell of it. */
  async pin(type: PluginType, name: string, version: string): Promise<string[]> {
    const own = (await this.#uses.all()).filter(
      (use) => use.isPlugin && use.type === type && use.name === name,
    );
    const ranBefore = new Map(
      own.map((use) => [use, this.catalog.meant(type, name, use.version)?.version]),
    );
    await this.catalog.pin(type, name, version);
    const now = this.catalog.pinned(type, name);
    const others = own.filter((use) => ranBefore.get(use) !== now).map(({ place }) => place);
    if (others.length === 0) return [];
    return [`what runs at ${someNames(others.toSorted())} goes on as it was until it is reloaded`];
  }
}
