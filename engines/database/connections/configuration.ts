// Writes of connections, and their opening anew: a new one is opened before the old one is closed, and where that fails
// nothing has changed.

import type { EngineNeeds, UsedPlugin } from "@holdfast/plugin-sdk/engine";
import { Failure } from "@holdfast/shared/failure";
import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
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
  CONNECTIONS,
  secretsOf,
} from "./connection.ts";
import type { Connections, Opening } from "./connections.ts";
import { isElsewhere, isOpenedSo } from "./places.ts";
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

  /** Gives warnings. */
  async write(
    name: string,
    change: ConnectionChange,
    { verify, request }: { readonly verify: boolean; readonly request: Waiting },
  ): Promise<string[]> {
    const { needs, locks, connections } = this.#parts;
    if (change.usernameTemplate !== undefined) checkTemplate(change.usernameTemplate, needs);
    const written = await locks.run(connectionLock(name), request, async () => {
      const before = await connections.find(name);
      const wanted = this.#ofVersion(changedConnection(before, change), change);
      if (before !== null && isElsewhere(before, wanted)) await this.#checkUnused(name);
      if (before !== null && change.password === undefined && isOpenedSo(before, wanted)) {
        checkTemplate(wanted.usernameTemplate, needs, wanted.maxUsername);
        await needs.storage.write((tx) => tx.put(connectionKey(name), wanted, connectionCodec));
        return wanted;
      }
      const isKnown = before !== null && before.plugin === wanted.plugin;
      if (verify) await this.#checkTemplate(wanted, isKnown ? before.maxUsername : null);
      const opening = await this.#open(wanted, verify);
      try {
        checkTemplate(wanted.usernameTemplate, needs, opening.maxUsername);
        await this.#store(name, wanted, opening);
      } catch (error) {
        await opening.instance.close();
        throw error;
      }
      connections.put(name, opening);
      return wanted;
    });
    await needs.leases.retryStuck();
    return this.warningsOn(written);
  }

  /** What is stored, and is not what runs. */
  warningsOn({ plugin, pluginVersion }: Connection): string[] {
    const pinned = pluginVersion === "" ? null : this.#parts.needs.databases.choose(plugin, "");
    if (pinned === null || !pinned.isPinned || pinned.version === pluginVersion) return [];
    return [
      `plugin_version is ${pluginVersion}, and what runs is ${pinned.version}, to which the plugin is pinned`,
    ];
  }

  /** With its version in the one form that it has. */
  #ofVersion(wanted: Connection, { pluginVersion: wish = "" }: ConnectionChange): Connection {
    const { plugin, pluginVersion } = wanted;
    const chosen = this.#parts.needs.databases.choose(plugin, pluginVersion);
    if (chosen === null) throw failures.noPlugin(plugin, pluginVersion);
    if (wish !== "" && chosen.isPinned) throw failures.versionPinned(plugin, chosen.version);
    return wish === "" ? wanted : { ...wanted, pluginVersion: chosen.version };
  }

  /** Before the database is asked anything. `max`: null where its plugin has not said it yet. */
  async #checkTemplate(wanted: Connection, max: number | null): Promise<void> {
    if (wanted.usernameTemplate === "") return;
    let longest = max;
    if (longest === null) {
      const { instance, maxUsername } = await this.#open(wanted, false);
      await instance.close();
      longest = maxUsername;
    }
    checkTemplate(wanted.usernameTemplate, this.#parts.needs, longest);
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
    const done: string[] = [];
    const warnings: string[] = [];
    for (const [name, connection] of await this.#all()) {
      if (connection.plugin !== plugin) continue;
      try {
        await this.reset(name, request);
        done.push(name);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        warnings.push(`connection ${name} was not opened anew: ${error.texts[0] ?? error.message}`);
      }
    }
    return { connections: done, warnings };
  }

  /** By the paths of the connections. */
  async plugins(): Promise<UsedPlugin[]> {
    const all = await this.#all();
    return all.map(([name, { plugin, pluginVersion: version }]) => ({
      type: "database",
      name: plugin,
      version,
      place: connectionKey(name),
    }));
  }

  /** The connection at one of those paths. */
  async reloadAt(place: string): Promise<void> {
    await this.reset(place.slice(CONNECTIONS.length), OWN_WORK);
  }

  async #all(): Promise<(readonly [name: string, connection: Connection])[]> {
    const { storage } = this.#parts.needs;
    const all: (readonly [string, Connection])[] = [];
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const found = await storage.records(CONNECTIONS, connectionCodec, page);
      all.push(...found.map(({ key, value }) => [key.slice(CONNECTIONS.length), value] as const));
      after = found.at(-1)?.key;
      if (found.length < PAGE || after === undefined) return all;
    }
  }
}
