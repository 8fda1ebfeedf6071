// The plugin for PostgreSQL as a file in a plugin directory, and engines that use it by the real parts: processes, their
// wire, and the database. Time is a test's own, and begins at that of the machine.

import { join } from "node:path";
import { ProcessDatabases } from "../../../src/plugins/databases/database-plugins.ts";
import type { PluginChoice, Program } from "../../../src/plugins/ports.ts";
import type { PluginProcesses } from "../../../src/plugins/process/plugin-processes.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { databaseType } from "@holdfast/engines/database/database";
import type { DatabasePlugins } from "@holdfast/plugin-sdk/database";
import { DrivenWorld, MemoryStorage, openEngine } from "@holdfast/plugin-sdk/testing";
import { bundle } from "../../../scripts/bundle-plugin.ts";
import { PluginPlace } from "../plugins/plugin-place.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
export const PLUGIN = "postgresql-holdfast";
const FILE = "postgresql.mjs";

/** As an operator makes it: one file. Gives its sum. */
export function putPlugin(place: PluginPlace): string {
  return place.put(FILE, bundle(join(ROOT, "plugins", "postgresql", "main.ts")));
}

export type TestedDatabase = Awaited<ReturnType<DatabasePlace["engine"]>>;

export class DatabasePlace {
  readonly place = new PluginPlace();
  readonly world = new DrivenWorld();
  readonly processes: PluginProcesses;
  readonly program: Program;
  readonly plugins: DatabasePlugins;

  private constructor(place: PluginPlace, processes: PluginProcesses) {
    this.place = place;
    this.processes = processes;
    this.program = place.program({
      type: "database",
      name: PLUGIN,
      command: FILE,
      sha256: putPlugin(place),
    });
    const choice: PluginChoice = {
      choose: (type, name, version) =>
        type === "database" && name === PLUGIN && version === ""
          ? { program: this.program, isPinned: false }
          : null,
    };
    this.plugins = new ProcessDatabases({ choice, processes, random: new SystemRandom() });
  }

  static async open(): Promise<DatabasePlace> {
    const place = new PluginPlace();
    const made = new DatabasePlace(place, await place.open());
    await made.world.advance(BigInt(Date.now()) * 1_000_000n - made.world.clock.now());
    return made;
  }

  async close(): Promise<void> {
    await this.processes.close();
    this.place.remove();
  }

  storage(): MemoryStorage {
    return new MemoryStorage(this.world);
  }

  /** `databases`: in place of the plugins themselves, such as one that lets a call fail. */
  async engine(storage: MemoryStorage = this.storage(), databases: DatabasePlugins = this.plugins) {
    const { world } = this;
    return await openEngine(databaseType, { storage, world, services: { databases } });
  }
}
