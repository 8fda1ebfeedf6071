// The plugins of the configuration, when the cluster comes up and when the configuration is read again.

import type { Log } from "@holdfast/shared/log";
import type { PluginId } from "../ports.ts";
import type { Catalog } from "./catalog.ts";
import { reconcile } from "./declared.ts";
import type { EntryInput } from "./entry-rules.ts";
import type { Registering } from "./registering.ts";

export interface DeclaredPluginsParts {
  readonly catalog: Catalog;
  readonly registering: Registering;
  readonly reloads: { afterChange(plugins: readonly PluginId[]): Promise<void> };
  readonly log: Log;
  /** Another cluster writes what is shared: then its configuration counts. */
  readonly isWrittenElsewhere: () => boolean;
  readonly declared: readonly EntryInput[];
}

export class DeclaredPlugins {
  readonly #parts: DeclaredPluginsParts;
  #declared: readonly EntryInput[];
  #isLeading = false;
  #reloading: Promise<void> = Promise.resolve();

  constructor(parts: DeclaredPluginsParts) {
    this.#parts = parts;
    this.#declared = parts.declared;
  }

  async lead(): Promise<void> {
    this.#isLeading = true;
    for (const problem of await this.#adopt()) {
      this.#parts.log.error("a declared plugin is not as it was declared", { problem });
    }
  }

  async rest(): Promise<void> {
    this.#isLeading = false;
    await this.#reloading;
  }

  /** The configuration was read again. Gives what is not as it says, in words. */
  async reload(declared: readonly EntryInput[]): Promise<readonly string[]> {
    this.#declared = declared;
    return this.#isLeading ? await this.#adopt() : [];
  }

  async #adopt(): Promise<readonly string[]> {
    const { catalog, registering, reloads, log, isWrittenElsewhere } = this.#parts;
    if (isWrittenElsewhere()) {
      if (this.#declared.length > 0) {
        log.info("plugins of this configuration do not count: the catalog is that of the primary");
      }
      return [];
    }
    const { problems, changed } = await reconcile(catalog, registering, this.#declared);
    // In the background: mounts open after this room, and a plugin may start slowly.
    const before = this.#reloading;
    this.#reloading = before.then(() => reloads.afterChange(changed)).catch(() => {});
    return problems;
  }
}
