// Runtimes of plugins: by what containers are run, and with which limits. One that a registered plugin needs stays: each
// such need is a row of its own, written with the plugin, so that who deletes a runtime sees them in one look.

import type { Tx, View } from "../../barrier/view.ts";
import type { PluginId, RuntimeEntry } from "../ports.ts";
import * as failures from "./failures.ts";
import { checkRuntimeName, isRuntimeName } from "./names.ts";
import { RUNTIMES, runtimeCodec, useCodec, useKey, userOf, usesOf } from "./rows.ts";

const MAX_RUNTIMES = 200;
const MAX_NAMED = 20;

/** Of an image for which none was named. */
const USUAL: RuntimeEntry = {
  name: "",
  ociRuntime: "",
  rootless: false,
  cgroupParent: "",
  cpuNanos: 0,
  memoryBytes: 0,
};

export class Runtimes {
  readonly #view: View;

  /** shared/plugins/ */
  constructor(view: View) {
    this.#view = view;
  }

  /** Sorted by name. */
  list(): RuntimeEntry[] {
    const names = this.#view.list(RUNTIMES, { limit: MAX_RUNTIMES });
    return names.flatMap((name) => this.find(name) ?? []);
  }

  find(name: string): RuntimeEntry | null {
    if (!isRuntimeName(name)) return null;
    const found = this.#view.get(RUNTIMES + name, runtimeCodec);
    return found === null ? null : { ...found, name };
  }

  /** What an image is run with. Throws where it is not there. */
  needed(name: string): RuntimeEntry {
    const found = name === "" ? USUAL : this.find(name);
    if (found === null) throw failures.runtimeUnknown(name);
    return found;
  }

  /** Registers it, or puts this one in its place. */
  async register({ name, ...runtime }: RuntimeEntry): Promise<void> {
    checkRuntimeName(name);
    await this.#view.write((tx) => {
      const isNew = tx.get(RUNTIMES + name, runtimeCodec) === null;
      const known = isNew ? tx.keys(RUNTIMES, { limit: MAX_RUNTIMES }).length : 0;
      if (known >= MAX_RUNTIMES) throw failures.tooManyRuntimes(MAX_RUNTIMES);
      tx.put(RUNTIMES + name, runtime, runtimeCodec);
    });
  }

  async delete(name: string): Promise<void> {
    checkRuntimeName(name);
    await this.#view.write((tx) => {
      if (tx.get(RUNTIMES + name, runtimeCodec) === null) throw failures.noSuchRuntime();
      const uses = tx.keys(usesOf(name), { limit: MAX_NAMED });
      const plugins = [...new Set(uses.map(userOf))].toSorted();
      if (plugins.length > 0) throw failures.runtimeUsed(name, plugins);
      tx.delete(RUNTIMES + name);
    });
  }

  /** In the transaction that registers the plugin: from now on the runtime stays. */
  use(tx: Tx, name: string, plugin: PluginId): void {
    if (name === "") return;
    const known = isRuntimeName(name) && tx.get(RUNTIMES + name, runtimeCodec) !== null;
    if (!known) throw failures.runtimeUnknown(name);
    tx.put(useKey(name, plugin), {}, useCodec);
  }

  /** In the transaction after which it no longer needs it. */
  leave(tx: Tx, name: string, plugin: PluginId): void {
    if (name !== "") tx.delete(useKey(name, plugin));
  }
}
