// Plugins that the configuration declares: what it says is registered, what it no longer says goes. Whoever leaves the
// shared data to another cluster leaves the catalog to that one's configuration.

import { describe, Failure } from "@holdfast/shared/failure";
import type { PluginId } from "../ports.ts";
import type { Catalog } from "./catalog.ts";
import { declaredTwice } from "./failures.ts";
import { type Entry, type EntryInput, readEntry } from "./entry-rules.ts";
import type { Registering } from "./registering.ts";
import type { KeptEntry } from "./rows.ts";

export interface Reconciled {
  /** In words, for a log: what is not as it was declared. */
  readonly problems: readonly string[];
  /** What has changed or gone. */
  readonly changed: readonly PluginId[];
}

export async function reconcile(
  catalog: Catalog,
  registering: Registering,
  declared: readonly EntryInput[],
): Promise<Reconciled> {
  const problems: string[] = [];
  const changed: PluginId[] = [];
  const wanted = new Set<string>();
  const attempt = async (id: Omit<PluginId, "version">, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      problems.push(`plugin "${id.type}" "${id.name}": ${describe(error)}`);
    }
  };
  for (const input of declared) {
    await attempt(input, async () => {
      const entry = readEntry(input);
      if (wanted.has(keyOf(entry))) throw declaredTwice(entry.version);
      wanted.add(keyOf(entry));
      const before = catalog.find(entry);
      const isSame = before !== null && isDeclaredSo(before, entry);
      if (!isSame) changed.push(entry);
      const trouble = isSame
        ? await registering.fileTrouble(before)
        : await registering.declare(entry);
      if (trouble !== null) problems.push(`plugin "${entry.type}" "${entry.name}": ${trouble}`);
    });
  }
  // Of one that cannot be read nobody knows which entry it was: nothing goes before all of them can.
  if (wanted.size === declared.length) {
    const left = catalog.entries().filter((entry) => entry.declared && !wanted.has(keyOf(entry)));
    for (const entry of left) {
      await attempt(entry, async () => {
        await catalog.delete(entry, "configuration");
        changed.push(entry);
      });
    }
  }
  return { problems, changed };
}

function isDeclaredSo(kept: KeptEntry, entry: Entry): boolean {
  return kept.declared && JSON.stringify(shapeOf(kept)) === JSON.stringify(shapeOf(entry));
}

function shapeOf({ sha256, command, args, env, ociImage, runtime, network }: Entry) {
  return [sha256, command, args, env, ociImage, runtime, network];
}

function keyOf({ type, name, version }: PluginId): string {
  return JSON.stringify([type, name, version]);
}
