// A whole server with a mount of databases: our own plugin in its catalog, a connection "pg" and a role "app".

import assert from "node:assert/strict";
import { at, errorsOf } from "../http-client.ts";
import { PluginServer } from "../plugins/mounted-plugins.ts";
import { type PostgresServer, ROOT_PASSWORD, ROOT_USER } from "./postgres-server.ts";
import { putPlugin } from "./postgresql-plugin.ts";

export const PLUGIN = "postgresql";
export const FILE = "postgresql.mjs";
export const CREATE = `CREATE ROLE "{{name}}" WITH LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'`;

export function connection(database: PostgresServer, more: object = {}): object {
  return {
    plugin_name: PLUGIN,
    connection_url: database.url,
    username: ROOT_USER,
    password: ROOT_PASSWORD,
    allowed_roles: ["*"],
    ...more,
  };
}

export interface Leased {
  readonly username: string;
  readonly password: string;
  readonly lease: string;
}

export class MountedDatabase {
  readonly server: PluginServer;
  /** Of the plugin. */
  readonly sha256: string;

  private constructor(server: PluginServer, sha256: string) {
    this.server = server;
    this.sha256 = sha256;
  }

  static async start(
    t: Parameters<typeof PluginServer.start>[0],
    database: PostgresServer,
    options: Parameters<typeof PluginServer.start>[1] = {},
  ): Promise<MountedDatabase> {
    const server = await PluginServer.start(t, options);
    const made = new MountedDatabase(server, putPlugin(server.place));
    await made.register();
    await server.ok("POST", "sys/mounts/database", { type: "database" });
    await server.ok("POST", "database/config/pg", connection(database));
    await server.ok("POST", "database/roles/app", {
      db_name: "pg",
      creation_statements: CREATE,
      default_ttl: "1h",
      max_ttl: "24h",
    });
    return made;
  }

  /** In the catalog; empty: without a version. */
  async register(version = ""): Promise<void> {
    const { server, sha256 } = this;
    await server.register({
      type: "database",
      name: PLUGIN,
      version,
      command: FILE,
      sha256,
      args: [],
    });
  }

  async creds(role = "app"): Promise<Leased> {
    const answer = await this.server.ok("GET", `database/creds/${role}`);
    return {
      username: String(at(answer, "data", "username")),
      password: String(at(answer, "data", "password")),
      lease: String(at(answer, "lease_id")),
    };
  }

  async refused(method: string, path: string, body?: object): Promise<string> {
    const answer = await this.server.call(method, path, body === undefined ? {} : { body });
    assert.equal(answer.status, 400, answer.text);
    return String(errorsOf(answer));
  }

  /** Warnings of what succeeded, as JSON. */
  async warned(method: string, path: string, body?: object): Promise<string> {
    const answer = await this.server.ok(method, path, body);
    return answer.status === 204 ? "[]" : JSON.stringify(at(answer, "warnings") ?? []);
  }
}
