// Databases as clients see them: a whole server, its catalog, leases, and the real PostgreSQL behind our own plugin.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { at } from "../../support/http-client.ts";
import {
  PostgresServer,
  ROOT_PASSWORD,
  ROOT_USER,
} from "../../support/databases/postgres-server.ts";
import {
  connection,
  CREATE,
  MountedDatabase,
  PLUGIN,
} from "../../support/databases/mounted-database.ts";
import { until } from "../../support/until.ts";

let database: PostgresServer;

before(async () => {
  database = await PostgresServer.start();
});

after(async () => {
  await database.stop();
});

/** Of all that run here: what anybody on this machine can look at. */
function commandLines(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return ""; // it has ended meanwhile
      }
    })
    .join("\n");
}

const started = (t: Parameters<typeof MountedDatabase.start>[0]) =>
  MountedDatabase.start(t, database);

test("DB3, DB13: a lease is given, prolonged, looked up and revoked; no read, record or command line shows a secret", async (t) => {
  const client = await started(t);
  const { server } = client;
  const trail = join(server.test.auditDirectory, "databases.log");
  await server.ok("POST", "sys/audit/file", { type: "file", options: { file_path: trail } });
  await server.ok("POST", "database/config/pg", connection(database));
  const user = await client.creds();
  assert.match(user.lease, /^database\/creds\/app\//);
  assert.ok(await database.canLogIn(user.username, user.password));
  const first = await database.expiry(user.username);
  const renewed = await server.ok("POST", "sys/leases/renew", {
    lease_id: user.lease,
    increment: "2h",
  });
  assert.equal(at(renewed, "lease_duration"), 7200);
  assert.ok(((await database.expiry(user.username)) ?? 0) - (first ?? 0) >= 3590);
  const config = await server.data("database/config/pg");
  assert.deepEqual(config, {
    plugin_name: PLUGIN,
    plugin_version: "",
    allowed_roles: ["*"],
    root_credentials_rotate_statements: [],
    password_policy: "",
    connection_details: { connection_url: database.url, username: ROOT_USER },
  });
  const everywhere = [readFileSync(trail, "utf8"), server.test.lines.join("\n"), commandLines()];
  assert.ok(everywhere[0]?.includes("database/creds/app") && everywhere[2]?.includes(".mjs"));
  for (const secret of [user.password, ROOT_PASSWORD]) {
    for (const text of everywhere) assert.ok(!text.includes(secret));
  }
  await server.ok("POST", "sys/leases/revoke", { lease_id: user.lease, sync: true });
  assert.ok(!(await database.canLogIn(user.username, user.password)));
  assert.deepEqual(await database.users(), []);
});

test("DB4, DB8: a role that is gone, or that the connection lists no more, leaves what it gave revocable", async (t) => {
  const client = await started(t);
  const { server } = client;
  const user = await client.creds();
  await server.ok("POST", "database/config/pg", { allowed_roles: ["another"] });
  assert.match(await client.refused("GET", "database/creds/app"), /not in allowed_roles/);
  const deleted = await server.ok("DELETE", "database/roles/app");
  assert.match(String(at(deleted, "warnings")), /1 leases of the role live on/);
  assert.match(
    await client.refused("POST", "sys/leases/renew", { lease_id: user.lease }),
    /no longer exists/,
  );
  await server.ok("POST", "database/config/other", connection(database));
  const made = { db_name: "other", creation_statements: CREATE };
  assert.match(
    await client.refused("POST", "database/roles/app", made),
    /1 live leases of the role/,
  );
  await server.ok("POST", "sys/leases/revoke", { lease_id: user.lease, sync: true });
  assert.deepEqual(await database.users(), []);
  await server.ok("POST", "database/roles/app", made);
});

test("DB10, DB12: a connection in use leads nowhere else and stays; with force it ends what uses it first", async (t) => {
  const client = await started(t);
  const { server } = client;
  await client.creds();
  await client.creds();
  const elsewhere = connection(database, {
    connection_url: database.url.replace("127.0.0.1", "localhost"),
  });
  assert.match(
    await client.refused("POST", "database/config/pg", elsewhere),
    /would lead elsewhere while it is in use: 2 live leases/,
  );
  await server.ok("POST", "database/config/pg", { max_open_connections: 2 });
  assert.match(await client.refused("DELETE", "database/config/pg"), /1 role, 2 live leases/);
  assert.equal((await database.users()).length, 2);
  await server.ok("DELETE", "database/config/pg?force=true");
  assert.deepEqual(await database.users(), []);
  assert.equal((await server.call("GET", "database/config/pg")).status, 404);
  assert.equal((await server.call("GET", "database/roles/app")).status, 404);
});

test("DB5, DB12: while the database is down a connection with leases stays with force too, and goes when it is back", async (t) => {
  const client = await started(t);
  const { server } = client;
  const user = await client.creds();
  await database.down();
  assert.equal((await server.call("GET", "database/creds/app")).status, 502);
  const renewal = await server.call("POST", "sys/leases/renew", {
    body: { lease_id: user.lease },
  });
  assert.equal(renewal.status, 502);
  const body = { lease_id: user.lease, sync: true };
  assert.equal((await server.call("POST", "sys/leases/revoke", { body })).status, 502);
  await database.up();
  await server.ok("POST", "sys/leases/revoke", body);
  await until(async () => (await database.users()).length === 0);
  await server.ok("DELETE", "database/config/pg?force=true");
});

test("a mount with static roles is not disabled without a word", async (t) => {
  const client = await started(t);
  const { server } = client;
  await database.asRoot(
    async (sql) => await sql.unsafe("CREATE ROLE kept WITH LOGIN PASSWORD 'x'"),
  );
  await server.ok("POST", "database/static-roles/kept", {
    db_name: "pg",
    username: "kept",
    rotation_period: "1h",
  });
  const creds = await server.data("database/static-creds/kept");
  assert.ok(await database.canLogIn("kept", String(creds["password"])));
  assert.deepEqual(Object.keys(creds).toSorted(), [
    "last_rotation",
    "last_vault_rotation",
    "password",
    "rotation_period",
    "rotation_schedule",
    "rotation_window",
    "ttl",
    "username",
  ]);
  assert.match(
    await client.refused("DELETE", "sys/mounts/database"),
    /1 static role: kept \(user kept\)/,
  );
  await server.ok("DELETE", "database/static-roles/kept");
  await server.ok("DELETE", "sys/mounts/database");
});
