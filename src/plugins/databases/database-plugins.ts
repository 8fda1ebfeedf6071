// Databases for engines: each connection is an instance of its own in a plugin process, which may serve others too.

import {
  type ChosenDatabase,
  DatabaseError,
  type DatabaseInstance,
  type DatabasePlugins,
} from "@holdfast/plugin-sdk/database";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos, Random } from "@holdfast/shared/world";
import type { PluginChoice, Processes } from "../ports.ts";
import { unknownDatabase } from "./failures.ts";

export interface DatabasePluginsParts {
  readonly choice: PluginChoice;
  readonly processes: Pick<Processes, "hold">;
  readonly random: Pick<Random, "uuid">;
  /** To what takes no time: which kind it is of, and closing. Default 1 s. */
  readonly answersWithin?: Nanos;
}

export class ProcessDatabases implements DatabasePlugins {
  readonly #parts: DatabasePluginsParts;

  constructor(parts: DatabasePluginsParts) {
    this.#parts = parts;
  }

  choose(name: string, version: string): (ChosenDatabase & { readonly isPinned: boolean }) | null {
    const chosen = this.#parts.choice.choose("database", name, version);
    if (chosen === null) return null;
    const { program, isPinned } = chosen;
    return { name, version: program.version, isPinned };
  }

  async open(name: string, version: string, signal: AbortSignal): Promise<DatabaseInstance> {
    const { choice, processes, random, answersWithin } = this.#parts;
    const chosen = choice.choose("database", name, version);
    if (chosen === null) throw unknownDatabase(name, version);
    const { program } = chosen;
    // Two of one connection live side by side while the one takes the place of the other.
    const held = await processes
      .hold(program, `database/${random.uuid()}`, signal)
      .catch((error: unknown) => {
        if (!signal.aborted || error instanceof Failure) throw error;
        const words = "there was no time to start the plugin";
        throw new DatabaseError("unsent", "unreachable", words, { cause: error });
      });
    const { ProcessDatabase } = await import("./process-database.ts"); // with the messages of the wire
    return new ProcessDatabase({ name, version: program.version }, held, answersWithin);
  }
}
