// Runtimes as callers see them.

import { checkRuntime, USUAL_OCI_RUNTIME } from "../catalog/runtime-rules.ts";
import type { Runtimes } from "../catalog/runtimes.ts";
import type { RuntimeEntry } from "../ports.ts";

export interface PluginRuntimesParts {
  readonly runtimes: Runtimes;
  /** Names of plugin_oci_runtimes. */
  readonly allowed: readonly string[];
  /** Whether one of those is there on this machine. */
  readonly isInstalled: (name: string) => Promise<boolean>;
}

export class PluginRuntimes {
  readonly runtimes: Runtimes;
  readonly #parts: PluginRuntimesParts;

  constructor(parts: PluginRuntimesParts) {
    this.#parts = parts;
    this.runtimes = parts.runtimes;
  }

  /** Gives what there is to tell of it. */
  async register(entry: RuntimeEntry): Promise<string[]> {
    const { runtimes, allowed, isInstalled } = this.#parts;
    checkRuntime(entry, allowed);
    await runtimes.register(entry);
    const program = entry.ociRuntime || USUAL_OCI_RUNTIME;
    const missing = !allowed.includes(program) || !(await isInstalled(program));
    if (!missing) return [];
    return [
      `the container runtime ${program} is not installed here, or not named in plugin_oci_runtimes: no plugin is run by it before it is`,
    ];
  }
}
