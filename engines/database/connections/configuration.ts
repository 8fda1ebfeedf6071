// Writes of connections, and their opening anew: a new one is opened before the old one is closed, and where that fails
// nothing has changed.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { Failure } from "@holdfast/shared/failure";
import type { Waiting } from "@holdfast/shared/waiting";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import { regions } from "../../cloud/leases-elsewhere.ts";
import * as failures from "../failures.ts";
import { checkTemplate } from "../roles/names.ts";
import {
  changedConnection,
  type Connection,
  type ConnectionChange,
  connectionCodec,
  connectionKey,
  secretsOf,
} from "./connection.ts";
import type { Connections, Opening } from "./connections.ts";
import { isElsewhere } from "./places.ts";
import { connectionLock } from "./root-rotation.ts";
import { usesOf } from "./uses.ts";

export interface ConfigurationParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly connections: Connections;
}

const PAGE = 500;

export class Configuration {
  readonly #parts: ConfigurationParts;

  constructor(parts: ConfigurationParts) {
    this.#parts = parts;
  }

  async write(
    name: string,
    change: ConnectionChange,
    { verify, request }: { readonly verify: boolean; readonly request: Waiting },
  ): Promise<void> {
    const { needs, locks, connections } = this.#parts;
    if (change.usernameTemplate !== undefined) checkTemplate(change.usernameTemplate, needs);
    await locks.run(connectionLock(name), request, async () => {
      const before = await connections.find(name);
      const wanted = changedConnection(before, change);
      if (needs.databases.choose(wanted.plugin, wanted.pluginVersion) === null) {
        throw failures.noPlugin(wanted.plugin, wanted.pluginVersion);
      }
      if (before !== null && isElsewhere(before, wanted)) await this.#checkUnused(name);
      const opening = await this.#open(wanted, verify);
      try {
        checkTemplate(wanted.usernameTemplate, needs, opening.maxUsername);
        await this.#store(name, wanted, opening);
      } catch (error) {
        await opening.instance.close();
        throw error;
      }
      connections.put(name, opening);
    });
    await needs.leases.retryStuck();
  }

  async #open(wanted: Connection, verify: boolean): Promise<Opening> {
    try {
      return await this.#parts.connections.open(wanted, { verify });
    } catch (error) {
      throw failures.errorOfConfig(error, "opening the connection", secretsOf(wanted));
    }
  }

  async #store(name: string, wanted: Connection, opening: Opening): Promise<void> {
    const { secretFields, maxUsername, password } = opening;
    const isSettled = wanted.nextPassword !== null;
    await this.#parts.needs.storage.write((tx) => {
      const said = { ...wanted, secretFields, maxUsername };
      const after = isSettled ? { ...said, password, nextPassword: null } : said;
      tx.put(connectionKey(name), after, connectionCodec);
    });
  }

  /** What was made where it led before would not be found where it leads to. */
  async #checkUnused(name: string): Promise<void> {
    const { count, silent, staticRoles } = await usesOf(this.#parts.needs, name);
    const what = [
      ...(count === 0 ? [] : [`${count} live leases`]),
      ...(silent === 0 ? [] : [`${regions(silent)} not said what it has given`]),
      ...(staticRoles.length === 0 ? [] : [`${staticRoles.length} static roles`]),
    ].join(", ");
    if (what === "") return;
    throw failures.connectionInUse(
      `the connection would lead elsewhere while it is in use: ${what}; end that first, or write another connection`,
    );
  }

  async reset(name: string, request: Waiting): Promise<void> {
    const { locks, connections } = this.#parts;
    await locks.run(connectionLock(name), request, async () => {
      const connection = await connections.read(name);
      try {
        connections.put(name, await connections.open(connection, { verify: false }));
      } catch (error) {
        throw failures.errorForCaller(error, "opening the connection", secretsOf(connection));
      }
    });
  }

  async reload(
    plugin: string,
    request: Waiting,
  ): Promise<{ readonly connections: readonly string[]; readonly warnings: readonly string[] }> {
    const { storage } = this.#parts.needs;
    const done: string[] = [];
    const warnings: string[] = [];
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const found = await storage.records("config/", connectionCodec, page);
      for (const { key, value } of found) {
        if (value.plugin !== plugin) continue;
        const name = key.slice("config/".length);
        try {
          await this.reset(name, request);
          done.push(name);
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          warnings.push(
            `connection ${name} was not opened anew: ${error.texts[0] ?? error.message}`,
          );
        }
      }
      after = found.at(-1)?.key;
      if (found.length < PAGE || after === undefined) break;
    }
    return { connections: done, warnings };
  }
}
