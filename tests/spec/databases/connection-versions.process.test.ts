// Connections and the catalog of plugins: which version runs, and what the catalog says of what uses it. Over HTTP.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
  connection,
  CREATE,
  FILE,
  MountedDatabase,
  PLUGIN,
} from "../../support/databases/mounted-database.ts";
import { PostgresServer } from "../../support/databases/postgres-server.ts";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";

const ENTRY = `sys/plugins/catalog/database/${PLUGIN}`;
const PIN = `sys/plugins/pins/database/${PLUGIN}`;

let database: PostgresServer;

before(async () => {
  database = await PostgresServer.start();
});

after(async () => {
  await database.stop();
});

test("the version of a connection is kept in its one form; what is none is refused, with what is accepted", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const { server } = client;
  await client.register("v1.2.0");
  const write = { plugin_version: "1.2" };
  await server.ok("POST", "database/config/pg", write);
  assert.equal((await server.data("database/config/pg"))["plugin_version"], "v1.2.0");
  await client.creds();
  for (const plugin_version of ["latest", "../v1.2.0", "v1.2.0/x", "-", "v1..2", "v1.2.0 "]) {
    const trimmed = plugin_version.endsWith(" ");
    if (trimmed) await server.ok("POST", "database/config/pg", { plugin_version });
    else {
      const words = await client.refused("POST", "database/config/pg", { plugin_version });
      assert.match(words, /not a valid semantic version: expected up to three numbers/);
    }
  }
  for (const plugin_version of ["v9", "v1.0.0+builtin"]) {
    const words = await client.refused("POST", "database/config/pg", { plugin_version });
    assert.match(words, /no database plugin "postgresql" of version/);
  }
  assert.equal((await server.data("database/config/pg"))["plugin_version"], "v1.2.0");
  const body = { ...connection(database), plugin_name: "../secret/x" };
  assert.match(await client.refused("POST", "database/config/odd", body), /no database plugin/);
});

test("a pinned version is what runs: another one cannot be asked for, and one that was is known not to run", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const { server } = client;
  for (const version of ["v1.0.0", "v2.0.0"]) await client.register(version);
  await server.ok("POST", "database/config/pg", { plugin_version: "v2" });
  const warning = await client.warned("POST", PIN, { version: "v1.0.0" });
  assert.match(warning, /what runs at database\/config\/pg goes on as it was until it is reloaded/);
  for (const plugin_version of ["v2.0.0", "1.0.0", "nothing"]) {
    const words = await client.refused("POST", "database/config/pg", { plugin_version });
    assert.match(
      words,
      /cannot specify plugin_version for database plugin "postgresql", as it is pinned to version v1.0.0/,
    );
  }
  const overruled =
    /plugin_version is v2.0.0, and what runs is v1.0.0, to which the plugin is pinned/;
  assert.match(await client.warned("GET", "database/config/pg"), overruled);
  assert.match(
    await client.warned("POST", "database/config/pg", { allowed_roles: "app" }),
    overruled,
  );
  await server.ok("POST", "database/config/new", connection(database));
  const runs = () =>
    server.test.server.plugins.processes
      .reports()
      .filter(({ users }) => users > 0)
      .map(({ version, users }) => `${version}: ${users}`)
      .toSorted();
  assert.deepEqual(runs(), ["v1.0.0: 1", "v2.0.0: 1"]);
  const reload = await server.ok("POST", `sys/plugins/reload/database/${PLUGIN}`);
  assert.deepEqual(at(reload, "data", "mounts"), [
    { path: "database/config/new", error: "" },
    { path: "database/config/pg", error: "" },
  ]);
  await until(() => isDeepStrictEqual(runs(), ["v1.0.0: 2"]));
  await client.creds();
  await server.ok("DELETE", PIN);
  assert.equal(await client.warned("GET", "database/config/pg"), "[]");
});

test("the catalog tells which connections use a plugin, warns whoever changes or removes it, and reloads them", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const { server } = client;
  await server.ok("POST", "sys/namespaces/team", {});
  await server.ok("POST", "team/sys/mounts/people", { type: "database" });
  await server.ok("POST", "team/people/config/main", connection(database));
  await client.register("v1.0.0");
  await server.ok("POST", "database/config/versioned", {
    ...connection(database),
    plugin_version: "v1.0.0",
  });
  const mounts = async (version: string) => (await server.data(`${ENTRY}${version}`))["mounts"];
  assert.deepEqual(await mounts(""), [
    { path: "database/config/pg", namespace: "", version: "" },
    { path: "team/people/config/main", namespace: "team", version: "" },
  ]);
  assert.deepEqual(await mounts("?version=v1.0.0"), [
    { path: "database/config/versioned", namespace: "", version: "v1.0.0" },
  ]);
  const entry = { sha256: client.sha256, command: FILE };
  assert.match(
    await client.warned("POST", ENTRY, entry),
    /what runs at database\/config\/pg, team\/people\/config\/main goes on as it was/,
  );
  const reload = await server.ok("POST", "sys/plugins/reload/backend", {
    mounts: ["database/config/pg", "/team/people/config/main/"],
  });
  assert.deepEqual(at(reload, "data", "mounts"), [
    { path: "database/config/pg", error: "" },
    { path: "team/people/config/main", error: "" },
  ]);
  assert.match(
    await client.warned("DELETE", `${ENTRY}?version=v1.0.0`),
    /the plugin is in use at database\/config\/versioned, which goes on until its process ends/,
  );
  await server.ok("DELETE", "database/config/versioned");
  await server.ok("DELETE", "team/people/config/main");
  assert.deepEqual(await mounts(""), [{ path: "database/config/pg", namespace: "", version: "" }]);
});

test("allowed_roles, and what else is only kept, are changed while the database is down", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const { server } = client;
  await client.creds();
  await database.down();
  t.after(() => database.up());
  await server.ok("POST", "database/config/pg", { allowed_roles: ["another"] });
  await server.ok("POST", "database/config/pg", {
    plugin_name: PLUGIN,
    connection_url: database.url,
    username_template: "v-{{ random 20 }}",
  });
  assert.match(await client.refused("GET", "database/creds/app"), /not in allowed_roles/);
  const fixed = { username_template: "always-the-same" };
  assert.match(await client.refused("POST", "database/config/pg", fixed), /gives the same name/);
  // What is refused by what was written is refused before the database is asked.
  const new_one = connection(database, fixed);
  assert.match(await client.refused("POST", "database/config/new", new_one), /gives the same name/);
  const long = connection(database, {
    username_template: `{{ printf "${"x".repeat(70)}%s" (random 9) }}`,
  });
  for (const name of ["pg", "new"]) {
    const words = await client.refused("POST", `database/config/${name}`, long);
    assert.match(words, /the same name each time within the 63 bytes/);
  }
  const roles = { db_name: "pg", creation_statements: CREATE };
  await server.ok("POST", "database/roles/another", roles);
});
