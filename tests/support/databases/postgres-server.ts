// The real PostgreSQL of the system, with data of its own in a temporary folder: one for all tests of a file. A machine without
// it fails, and says what to install.

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres, { type Sql } from "postgres";
import { until } from "../until.ts";

const INSTALLED = "/usr/lib/postgresql";

/** The newest that Debian has installed. */
function programs(): string {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const folders = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLED, version, "bin"))
    .filter((folder) => existsSync(join(folder, "initdb")));
  const [folder] = folders;
  assert.ok(
    folder !== undefined,
    `there is no PostgreSQL below ${INSTALLED}: these tests run against the real one (apt-get install postgresql)`,
  );
  return folder;
}

/** It refuses to run as root, who then runs it as the user that its package has made. */
function owner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((one) => one.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  assert.ok(uid !== undefined, "there is no user postgres, whom the package of PostgreSQL makes");
  return { uid: Number(uid), gid: Number(gid) };
}

export const ROOT_USER = "hf_root";
export const ROOT_PASSWORD = "Root-pass-of-the-tests-1";

export class PostgresServer {
  readonly base = mkdtempSync(join(realpathSync(tmpdir()), "hf-pg-"));
  readonly port: number;
  readonly #data = join(this.base, "data");
  readonly #log = join(this.base, "log");
  readonly #bin = programs();
  readonly #as = owner();
  #process: ChildProcess | null = null;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort());
    server.#make();
    await server.up();
    await server.asRoot(async (sql) => {
      await sql.unsafe("CREATE TABLE things (id int); INSERT INTO things VALUES (1)");
    });
    return server;
  }

  #make(): void {
    const { uid, gid } = this.#as;
    chmodSync(this.base, 0o755);
    const secret = join(this.base, "secret");
    writeFileSync(secret, ROOT_PASSWORD, { mode: 0o600 });
    if (uid !== undefined && gid !== undefined) {
      chownSync(this.base, uid, gid);
      chownSync(secret, uid, gid);
    }
    const options = ["-D", this.#data, "-U", ROOT_USER, "-A", "scram-sha-256", "--pwfile", secret];
    const quick = ["--no-sync", "--locale=C", "-E", "UTF8"];
    execFileSync(join(this.#bin, "initdb"), [...options, ...quick], {
      ...this.#as,
      cwd: this.base,
      stdio: "pipe",
    });
  }

  async up(): Promise<void> {
    const settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.base,
      fsync: "off",
      max_connections: "20",
      log_statement: "all",
      log_min_error_statement: "error",
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const log = openSync(this.#log, "a");
    this.#process = spawn(
      join(this.#bin, "postgres"),
      ["-D", this.#data, "-p", String(this.port), ...flags],
      { ...this.#as, cwd: this.base, stdio: ["ignore", log, log] },
    );
    await until(() => this.answers());
  }

  async down(): Promise<void> {
    const child = this.#process;
    if (child === null) return;
    this.#process = null;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill("SIGQUIT");
    await ended;
  }

  async stop(): Promise<void> {
    await this.down();
    rmSync(this.base, { recursive: true, force: true });
  }

  async answers(): Promise<boolean> {
    return await this.canLogIn(ROOT_USER, ROOT_PASSWORD);
  }

  /** With the places of the user and its password. */
  get url(): string {
    return `postgresql://{{username}}:{{password}}@127.0.0.1:${this.port}/postgres?sslmode=disable`;
  }

  /** What it has logged: every statement, as it came. */
  get log(): string {
    return readFileSync(this.#log, "utf8");
  }

  async asUser<T>(user: string, password: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    const sql = postgres({
      host: "127.0.0.1",
      port: this.port,
      database: "postgres",
      user,
      password,
      max: 1,
      fetch_types: false,
      connect_timeout: 5,
      onnotice: () => {},
    });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 0 });
    }
  }

  /** Whoever the root of the tests is by now, its sessions on the socket need no password. */
  asRoot<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.asUser(ROOT_USER, ROOT_PASSWORD, work);
  }

  async canLogIn(user: string, password: string): Promise<boolean> {
    try {
      await this.asUser(user, password, async (sql) => await sql.unsafe("SELECT 1"));
      return true;
    } catch {
      return false;
    }
  }

  /** Names of roles that begin so. */
  async users(prefix = "v-"): Promise<string[]> {
    const rows = await this.asRoot(
      async (sql) => await sql`SELECT rolname FROM pg_roles ORDER BY 1`,
    );
    return rows.map((row) => String(row["rolname"])).filter((name) => name.startsWith(prefix));
  }

  /** In seconds since 1970; null: it does not end. */
  async expiry(user: string): Promise<number | null> {
    const rows = await this.asRoot(
      async (sql) =>
        await sql`SELECT extract(epoch FROM rolvaliduntil) AS at FROM pg_roles WHERE rolname = ${user}`,
    );
    const at = rows[0]?.["at"];
    return at === null || at === undefined ? null : Number(at);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(address !== null && typeof address === "object");
  return address.port;
}
