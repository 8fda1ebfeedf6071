// A mount of databases that two regions share, with the real PostgreSQL behind both: each makes users of its own, and one of
// them alone replaces passwords.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connection, CREATE, FILE, PLUGIN } from "../../support/databases/mounted-database.ts";
import { PostgresServer } from "../../support/databases/postgres-server.ts";
import { putPlugin } from "../../support/databases/postgresql-plugin.ts";
import { at } from "../../support/http-client.ts";
import { PluginPlace } from "../../support/plugins/plugin-place.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import type { TestServer } from "../../support/servers/test-server.ts";
import { until } from "../../support/until.ts";

let database: PostgresServer;

before(async () => {
  database = await PostgresServer.start();
});

after(async () => {
  await database.stop();
});

/** How often the password of a user was set, by what the database itself has noted. */
function rotationsOf(user: string): number {
  return database.log.split(`ALTER ROLE "${user}" WITH PASSWORD`).length - 1;
}

test("DB7: a secondary gives users by leases of its own, also while its primary is away; passwords of static roles are the primary's to replace", async (t) => {
  const place = new PluginPlace();
  const settings = {
    plugin_directory: place.directory,
    plugin_tmpdir: place.temporary,
    plugin_isolation: "none",
  };
  const regions = await twoRegions(t, { a: { settings }, b: { settings } });
  t.after(() => place.remove());
  const { a, b, root: token } = regions;
  const call = (server: TestServer, method: string, path: string, body?: object) =>
    server.call(method, `/v1/${path}`, { token, ...(body === undefined ? {} : { body }) });
  const ok = async (server: TestServer, method: string, path: string, body?: object) => {
    const answer = await call(server, method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const leases = async (server: TestServer) => {
    const listed = await call(server, "LIST", "sys/leases/lookup/database/creds/app");
    return listed.status === 404 ? 0 : (at(listed, "data", "keys") as unknown[]).length;
  };
  const staticPassword = async (server: TestServer) =>
    String(at(await ok(server, "GET", "database/static-creds/batch"), "data", "password"));

  await database.asRoot(async (sql) => {
    await sql.unsafe("CREATE ROLE batch WITH LOGIN PASSWORD 'x'");
  });
  await ok(a, "POST", `sys/plugins/catalog/database/${PLUGIN}`, {
    sha256: putPlugin(place),
    command: FILE,
  });
  await ok(a, "POST", "sys/mounts/database", { type: "database" });
  await until(async () => (await call(b, "LIST", "database/roles")).status < 500);
  // Written in the second, by the first.
  await ok(b, "POST", "database/config/pg", connection(database));
  await ok(b, "POST", "database/roles/app", { db_name: "pg", creation_statements: CREATE });
  const role = { db_name: "pg", username: "batch", rotation_period: "5s" };
  await ok(b, "POST", "database/static-roles/batch", role);
  const first = await staticPassword(b);
  assert.ok(await database.canLogIn("batch", first));
  assert.equal(first, await staticPassword(a));

  // Each by its own plugin, with a lease of its own.
  const issued = await ok(b, "GET", "database/creds/app");
  const { username, password } = at(issued, "data") as { username: string; password: string };
  assert.ok(await database.canLogIn(username, password));
  await ok(a, "GET", "database/creds/app");
  assert.deepEqual([await leases(a), await leases(b)], [1, 1]);
  const lease = { lease_id: String(at(issued, "lease_id")) };
  assert.equal((await call(a, "POST", "sys/leases/lookup", lease)).status, 400);
  assert.equal(
    at(await ok(b, "POST", "sys/leases/renew", { ...lease, increment: "2h" }), "lease_duration"),
    7200,
  );

  // By hand it is done by the primary, wherever it is asked for.
  await ok(b, "POST", "database/rotate-role/batch");
  await until(async () => (await staticPassword(b)) !== first);
  assert.equal(await staticPassword(b), await staticPassword(a));

  await regions.cut();
  regions.hold();
  const known = await staticPassword(b);
  const alone = await ok(b, "GET", "database/creds/app");
  assert.deepEqual([await leases(a), await leases(b)], [1, 2]);
  assert.equal((await call(b, "POST", "database/rotate-role/batch")).status, 503);
  const own = { lease_id: String(at(alone, "lease_id")), sync: true };
  for (const body of [own, { ...lease, sync: true }])
    await ok(b, "POST", "sys/leases/revoke", body);
  assert.deepEqual([await leases(a), await leases(b)], [1, 0]);
  assert.equal((await database.users()).length, 1);

  // It is due in both regions by now, and replaced by one.
  const before = rotationsOf("batch");
  const passwords = new Set<string>();
  await until(async () => passwords.add(await staticPassword(a)).size > 2);
  assert.ok(await database.canLogIn("batch", await staticPassword(a)));
  assert.ok(Math.abs(rotationsOf("batch") - before - (passwords.size - 1)) <= 1);
  assert.equal(await staticPassword(b), known, "it has heard of none");
  const tried = b.lines.filter((line) => line.includes("static role"));
  assert.deepEqual(tried, [], "and has not tried any");
  await regions.join();
  await regions.release();
  await until(async () => (await staticPassword(b)) === (await staticPassword(a)));
  assert.ok(await database.canLogIn("batch", await staticPassword(b)));
});
