// A server with a mount of databases, and the real PostgreSQL behind it, which outlives every server.

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "../../scripts/bundle-plugin.ts";
import {
  connection,
  CREATE,
  FILE,
  PLUGIN,
} from "../../tests/support/databases/mounted-database.ts";
import { PostgresServer } from "../../tests/support/databases/postgres-server.ts";
import { at } from "../../tests/support/http-client.ts";
import { scratch } from "../child.ts";
import { ServerSite } from "../server-site.ts";
import { ArmedDeath } from "./deaths.ts";

export const CREDS = "database/creds/app";
/** Whom the connection logs in as: nobody else's password is rotated. */
const ROOT = "hf_rotated";
const FIRST_PASSWORD = "First-password-1";

export class DatabaseSite extends ServerSite {
  readonly database: PostgresServer;
  readonly death: ArmedDeath;
  readonly #programs: string;
  readonly #deaths: string;

  private constructor(directory: string, database: PostgresServer) {
    const [programs, runs, deaths] = ["plugins", "runs", "deaths"].map((name) =>
      join(directory, name),
    ) as [string, string, string];
    super({
      directory,
      settings: `plugin_directory = ${JSON.stringify(programs)}
plugin_tmpdir = ${JSON.stringify(runs)}
plugin_isolation = "none"
`,
      target: { deaths },
    });
    for (const path of [programs, runs, deaths]) mkdirSync(path, { mode: 0o755 });
    this.#programs = programs;
    this.#deaths = deaths;
    this.death = new ArmedDeath(deaths);
    this.database = database;
  }

  /** An initialised server with a connection and a role, running. */
  static async open(name: string): Promise<DatabaseSite> {
    const site = new DatabaseSite(scratch(name), await PostgresServer.start());
    try {
      await site.initialise();
      await site.#configure();
    } catch (error) {
      await site.close();
      throw error;
    }
    return site;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.database.stop();
  }

  async #configure(): Promise<void> {
    await this.newUser(ROOT, FIRST_PASSWORD, "SUPERUSER");
    const program = bundle(join(import.meta.dirname, "dying-plugin.ts"));
    writeFileSync(join(this.#programs, FILE), program, { mode: 0o755 });
    const registered = {
      sha256: createHash("sha256").update(program).digest("hex"),
      command: FILE,
      args: [this.#deaths],
    };
    const role = {
      db_name: "pg",
      creation_statements: CREATE,
      default_ttl: "24h",
      max_ttl: "240h",
    };
    for (const [path, body] of [
      [`sys/plugins/catalog/database/${PLUGIN}`, registered],
      ["sys/mounts/database", { type: "database" }],
      [
        "database/config/pg",
        connection(this.database, { username: ROOT, password: FIRST_PASSWORD }),
      ],
      ["database/roles/app", role],
    ] as const) {
      await this.api.expect([200, 204], "POST", path, { body });
    }
  }

  /** That was there before. */
  async newUser(name: string, password: string, rights = ""): Promise<void> {
    await this.database.asRoot(async (sql) => {
      await sql.unsafe(`CREATE ROLE "${name}" WITH LOGIN ${rights} PASSWORD '${password}'`);
    });
  }

  /** Users of the database without a lease, or leases without a user; null where there are none. */
  async imbalance(): Promise<string | null> {
    const users = await this.database.users();
    const leases = await this.leases(CREDS);
    return users.length === leases.length
      ? null
      : `there are ${users.length} users for ${leases.length} leases`;
  }

  /** With the password that is stored a user is made, who logs in, and is gone with the lease. */
  async works(): Promise<string | null> {
    const issued = await this.api.call("GET", CREDS);
    if (issued.status !== 200) return `no user is made: ${issued.status} ${issued.text}`;
    const { username, password } = at(issued, "data") as { username: string; password: string };
    if (!(await this.database.canLogIn(username, password))) return "a user does not log in";
    const body = { lease_id: at(issued, "lease_id"), sync: true };
    await this.api.expect([204], "POST", "sys/leases/revoke", { body });
    return null;
  }
}
