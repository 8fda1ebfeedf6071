// The engine for databases with our own plugin, as a process, against the real PostgreSQL.

import assert from "node:assert/strict";
import { kill } from "node:process";
import { after, before, test } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { DatabasePlugins } from "@holdfast/plugin-sdk/database";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import { CutOff } from "../../support/databases/cut-off.ts";
import { PostgresServer } from "../../support/databases/postgres-server.ts";
import {
  DatabasePlace,
  PLUGIN,
  type TestedDatabase,
} from "../../support/databases/postgresql-plugin.ts";
import { until } from "../../support/until.ts";

const CREATE =
  `CREATE ROLE "{{name}}" WITH LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'; ` +
  `GRANT SELECT ON things TO "{{name}}"`;
const CONNECTION = "hf_connection";
const FIRST_PASSWORD = "First-password-1";
const NEVER = new AbortController().signal;

let server: PostgresServer;
let place: DatabasePlace;

before(async () => {
  [server, place] = await Promise.all([PostgresServer.start(), DatabasePlace.open()]);
});

after(async () => {
  await place.close();
  await server.stop();
});

/** Who it logs in as: made anew, with the rights that the manual names. */
async function newRoot(name: string, password = FIRST_PASSWORD): Promise<void> {
  await server.asRoot(async (sql) => {
    await sql.unsafe(`CREATE ROLE "${name}" WITH LOGIN SUPERUSER PASSWORD '${password}'`);
  });
}

function configOf(username: string, more: JsonObject = {}): JsonObject {
  return {
    plugin_name: PLUGIN,
    connection_url: server.url,
    username,
    password: FIRST_PASSWORD,
    allowed_roles: "*",
    ...more,
  };
}

async function configured({
  databases,
  name = CONNECTION,
}: { databases?: DatabasePlugins; name?: string } = {}): Promise<TestedDatabase> {
  const there = await server.users(name);
  if (!there.includes(name)) await newRoot(name);
  const engine = await place.engine(place.storage(), databases);
  await engine.ask("POST", "config/pg", { body: configOf(name) });
  return engine;
}

async function withRole(engine: TestedDatabase, more: JsonObject = {}): Promise<TestedDatabase> {
  const body = { db_name: "pg", creation_statements: CREATE, default_ttl: "1h", max_ttl: "24h" };
  await engine.ask("POST", "roles/app", { body: { ...body, ...more } });
  return engine;
}

interface MadeUser {
  readonly username: string;
  readonly password: string;
  readonly internal: JsonObject;
  readonly records: readonly string[];
}

async function issued(engine: TestedDatabase, role = "app"): Promise<MadeUser> {
  const { data, lease } = await engine.ask("GET", `creds/${role}`);
  const { username, password } = data as { username: string; password: string };
  assert.ok(lease !== null);
  // The lease settles them.
  for (const id of lease.settles ?? []) await engine.parts.storage.writeAhead.drop(id);
  return { username, password, internal: lease.internal, records: lease.settles ?? [] };
}

function leaseOf({ internal }: MadeUser) {
  const issuedAt = place.world.clock.now();
  return { leaseId: "x", internal, issued: issuedAt, expires: issuedAt + HOUR };
}

async function revoked(engine: TestedDatabase, user: MadeUser): Promise<void> {
  const revoke = engine.parts.type.secrets?.["user"]?.revoke;
  assert.ok(revoke !== undefined);
  await revoke(engine.parts.engine, leaseOf(user), NEVER);
}

async function closed(engine: TestedDatabase): Promise<void> {
  await engine.parts.type.close?.(engine.parts.engine);
}

async function refusal(asking: Promise<Reply>): Promise<Failure> {
  try {
    await asking;
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  throw new Error("it was not refused");
}

const kindOf = async (asking: Promise<Reply>) => (await refusal(asking)).kind;

test("DB1: what a connection is refused for, and that nothing has changed then", async () => {
  const engine = await configured();
  const write = (more: JsonObject) =>
    engine.ask("POST", "config/pg", { body: configOf(CONNECTION, more) });
  const config = async () => (await engine.ask("GET", "config/pg")).data;
  const before = await config();
  for (const url of [
    server.url.replace("{{password}}", "Some-password-1"),
    `host=127.0.0.1 port=${server.port} dbname=postgres user={{username}} password=Some-password-1`,
    `${server.url}&p%61ssword=Some-password-1`,
    `{{username}}:Some-password-1@tcp(127.0.0.1)/x`,
  ]) {
    const { code, message } = await refusal(write({ connection_url: url }));
    assert.equal(code, "connection-invalid", url);
    assert.doesNotMatch(message, /Some-password/);
  }
  assert.equal((await refusal(write({ plugin_name: "nobody" }))).code, "plugin-unknown-database");
  assert.equal((await refusal(write({ plugin_version: "v9.0.0" }))).kind, "invalid");
  const wrong = await refusal(write({ password: "Wrong-password-1" }));
  assert.equal(wrong.kind, "invalid");
  assert.match(wrong.texts.join(), /password authentication failed/);
  assert.doesNotMatch(wrong.message, /authentication/); // its words are for the caller alone
  const unknown = await refusal(write({ surprise: "x" }));
  assert.match(unknown.texts.join(), /surprise is not known.*max_open_connections/);
  assert.equal(await kindOf(write({ password_policy: "strict" })), "invalid");
  assert.equal(await kindOf(write({ username_template: "always-the-same" })), "invalid");
  assert.deepEqual(await config(), before);
  // The password goes nowhere that it was not given for.
  const moved = { connection_url: server.url.replace("127.0.0.1", "localhost") };
  const elsewhere = engine.ask("POST", "config/pg", { body: moved });
  assert.match((await refusal(elsewhere)).message, /give password in the same write/);
  await write({ password: "Wrong-password-1", verify_connection: false });
  await withRole(engine);
  assert.match(
    (await refusal(engine.ask("GET", "creds/app"))).texts.join(),
    /authentication failed/,
  );
  await write({});
  await revoked(engine, await issued(engine));
  await closed(engine);
});

test("DB2: rotate-root, cut off at every step: what is stored logs in", async () => {
  for (const cut of [1, 2].flatMap((at) => [false, true].map((done) => ({ at, done })))) {
    const name = `hf_rotated_${cut.at}_${cut.done}`;
    const first = await withRole(await configured({ name }));
    const { storage } = first.parts;
    await first.ask("POST", "reset/pg");
    await closed(first);
    // The opening of the connection is not among them: it is opened by what came before.
    const plugins = new CutOff(place.plugins, { at: cut.at + 1, done: cut.done });
    const cutOff = await place.engine(storage, plugins);
    await cutOff.ask("POST", "reset/pg");
    void cutOff.ask("POST", "rotate-root/pg").catch(() => {});
    await plugins.reached;
    const next = await place.engine(storage);
    await revoked(next, await issued(next));
    await next.parts.engine.settle();
    const stored = await next.parts.engine.connections.read("pg");
    assert.equal(stored.nextPassword, null);
    assert.ok(await server.canLogIn(name, stored.password), JSON.stringify(cut));
    await next.ask("POST", "rotate-root/pg");
    const rotated = await next.parts.engine.connections.read("pg");
    assert.notEqual(rotated.password, stored.password);
    assert.ok(await server.canLogIn(name, rotated.password));
    assert.ok(!(await server.canLogIn(name, stored.password)));
    await closed(next);
  }
});

test("DB3: a user is made, logs in until it is to end, is prolonged, and is gone with its sessions", async () => {
  const engine = await withRole(await configured());
  const user = await issued(engine);
  assert.match(user.username, /^v-token-app-\w{20}-\d{10}$/);
  assert.match(user.password, /^[A-Za-z0-9][A-Za-z0-9-]{19}$/);
  for (const one of [/[A-Z]/, /[a-z]/, /[0-9]/, /-/]) assert.match(user.password, one);
  const { clock } = place.world;
  const seconds = (at: bigint) => Number(at / SECOND);
  assert.equal(await server.expiry(user.username), seconds(clock.now() + HOUR + 5n * SECOND));
  const { renew } = engine.parts.type.secrets?.["user"] ?? {};
  const renewal = await renew?.(engine.parts.engine, leaseOf(user), 2n * HOUR);
  assert.deepEqual([renewal?.ttl, renewal?.maxTtl], [HOUR, DAY]);
  assert.equal(await server.expiry(user.username), seconds(clock.now() + 2n * HOUR + 5n * SECOND));
  const ended = server.asUser(user.username, user.password, async (sql) => {
    assert.equal((await sql.unsafe("SELECT id FROM things")).length, 1);
    await revoked(engine, user);
    await sql.unsafe("SELECT 1");
  });
  // As far as it was told before its end; or by the one that is opened in its place.
  await assert.rejects(ended, /terminat|CONNECTION_CLOSED|ECONNRESET|authentication failed/i);
  assert.deepEqual(await server.users(), []);
  await revoked(engine, user); // and once more: it is gone already
  await closed(engine);
});

test("DB4: a role that the connection does not list gives nothing; what it has given can be ended", async () => {
  const engine = await withRole(await configured());
  const user = await issued(engine);
  await engine.ask("POST", "config/pg", { body: { allowed_roles: ["other", "ap-*"] } });
  assert.equal((await refusal(engine.ask("GET", "creds/app"))).code, "role-not-allowed");
  await engine.ask("POST", "config/pg", { body: { allowed_roles: "a*" } });
  await revoked(engine, await issued(engine));
  await engine.ask("POST", "config/pg", { body: { allowed_roles: [] } });
  assert.equal((await refusal(engine.ask("GET", "creds/app"))).code, "role-not-allowed");
  await revoked(engine, user);
  assert.deepEqual(await server.users(), []);
  await closed(engine);
});

test("DB5: a database that is down is told so, and what is to be ended is when it is back", async () => {
  const engine = await withRole(await configured());
  const user = await issued(engine);
  await server.down();
  const { renew } = engine.parts.type.secrets?.["user"] ?? {};
  const attempts = [
    () => engine.ask("GET", "creds/app"),
    () => renew?.(engine.parts.engine, leaseOf(user), HOUR),
    () => revoked(engine, user),
  ];
  for (const attempt of attempts) {
    const caught = await Promise.resolve(attempt()).catch((error: unknown) => error);
    assert.ok(caught instanceof Failure);
    assert.deepEqual([caught.kind, caught.code], ["upstream", "database-unreachable"]);
  }
  await server.up();
  await revoked(engine, user);
  // What may have been made, and was not, is looked for once more.
  assert.equal(await engine.undoAll(), 1);
  await revoked(engine, await issued(engine));
  assert.deepEqual(await server.users(), []);
  await closed(engine);
});

test("DB6: a plugin that is killed while it makes a user leaves none, whether the database had done it or not", async () => {
  const engine = await withRole(await configured(), {
    creation_statements: [`${CREATE}; SELECT pg_sleep(600)`],
  });
  const pidOf = () => place.processes.reports().find(({ pid }) => pid !== null)?.pid ?? 0;
  const asking = engine.ask("GET", "creds/app");
  const sleeping = () =>
    server.asRoot(
      async (sql) => await sql`SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'`,
    );
  await until(async () => (await sleeping()).length === 1);
  kill(pidOf(), "SIGKILL");
  const { kind, code } = await refusal(asking);
  assert.deepEqual([kind, code], ["upstream", "database-unreachable"]);
  const [left] = await sleeping();
  await server.asRoot(
    async (sql) => await sql`SELECT pg_terminate_backend(${Number(left?.["pid"])})`,
  );
  assert.equal(await engine.undoAll(), 1);
  assert.deepEqual(await server.users(), []);
  // The same where it was made, and nobody heard of it.
  await withRole(engine, { creation_statements: CREATE });
  const done = new CutOff(place.plugins, { at: 2, done: true });
  const cutOff = await place.engine(engine.parts.storage, done);
  void cutOff.ask("GET", "creds/app").catch(() => {});
  await done.reached;
  assert.equal((await server.users()).length, 1);
  await closed(engine);
  const next = await place.engine(engine.parts.storage);
  assert.equal(await next.undoAll(), 1);
  assert.deepEqual(await server.users(), []);
  await closed(next);
});

test("DB7: where a statement fails nothing of the user is left, and the caller has the words of the database", async () => {
  const engine = await withRole(await configured(), {
    creation_statements: [
      `CREATE ROLE "{{name}}" WITH LOGIN PASSWORD '{{password}}'`,
      `GRANT SELECT ON nothing_of_the_kind TO "{{name}}"`,
    ],
    rollback_statements: [`INSERT INTO things VALUES (7)`],
  });
  const { kind, texts, message } = await refusal(engine.ask("GET", "creds/app"));
  assert.equal(kind, "invalid");
  assert.match(texts.join(), /relation "nothing_of_the_kind" does not exist \(SQLSTATE 42P01\)/);
  assert.doesNotMatch(message, /nothing_of_the_kind/);
  assert.deepEqual(await server.users(), []);
  assert.deepEqual(engine.parts.storage.noted, []);
  const rolledBack = await server.asRoot(async (sql) => await sql`DELETE FROM things WHERE id = 7`);
  assert.equal(rolledBack.count, 1);
  await closed(engine);
});

test("DB8: a static role: when it is due, by hand, cut off half-way, and its user gone", async () => {
  await server.asRoot(async (sql) => {
    await sql.unsafe(
      "CREATE ROLE batch WITH LOGIN PASSWORD 'x'; CREATE ROLE own WITH LOGIN PASSWORD 'Own-password-1'",
    );
  });
  const engine = await configured();
  const { world } = place;
  const password = async (of = engine, role = "batch") =>
    ((await of.ask("GET", `static-creds/${role}`)).data as { password: string }).password;
  const body = { db_name: "pg", username: "batch", rotation_period: "5s" };
  assert.equal(
    await kindOf(
      engine.ask("POST", "static-roles/batch", { body: { ...body, rotation_period: "4s" } }),
    ),
    "invalid",
  );
  await engine.ask("POST", "static-roles/batch", { body });
  const first = await password();
  assert.ok(await server.canLogIn("batch", first));
  const { type } = engine.parts;
  type.lead?.(engine.parts.engine, { tookOverAt: null });
  await world.advance(4n * SECOND);
  assert.equal(await password(), first);
  await world.advance(2n * SECOND);
  await until(async () => (await password()) !== first);
  assert.ok(await server.canLogIn("batch", await password()));
  await type.rest?.(engine.parts.engine);
  // A schedule takes the place of the period; by hand at any time.
  await engine.ask("POST", "static-roles/batch", {
    body: { rotation_schedule: "0 3 * * *", rotation_window: "1h" },
  });
  const scheduled = (await engine.ask("GET", "static-creds/batch")).data as JsonObject;
  assert.deepEqual(
    [scheduled["rotation_period"], scheduled["rotation_schedule"]],
    [0, "0 3 * * *"],
  );
  const before = await password();
  await engine.ask("POST", "rotate-role/batch");
  assert.notEqual(await password(), before);
  assert.ok(await server.canLogIn("batch", await password()));
  for (const name of ["other_name"]) {
    const changed = engine.ask("POST", "static-roles/batch", { body: { username: name } });
    assert.equal((await refusal(changed)).code, "static-user-fixed");
  }
  const { storage } = engine.parts;
  await closed(engine);
  // Cut off before and after the database has done it.
  for (const done of [false, true]) {
    const plugins = new CutOff(place.plugins, { at: 2, done });
    const cutOff = await place.engine(storage, plugins);
    void cutOff.ask("POST", "rotate-role/batch").catch(() => {});
    await plugins.reached;
    const next = await place.engine(storage);
    const reply = await next.ask("GET", "static-creds/batch");
    assert.match(reply.warnings.join(), /interrupted/);
    next.parts.type.lead?.(next.parts.engine, { tookOverAt: null });
    await world.advance(SECOND);
    const settled = async () => (await next.ask("GET", "static-creds/batch")).warnings.length === 0;
    await until(settled);
    assert.ok(await server.canLogIn("batch", await password(next)));
    await next.parts.type.rest?.(next.parts.engine);
    await closed(next);
  }
  const last = await place.engine(storage);
  // By the user's own password, without any right of the connection over it.
  const own = { db_name: "pg", username: "own", rotation_period: "1h" };
  await last.ask("POST", "static-roles/own", {
    body: { ...own, self_managed_password: "Own-password-1" },
  });
  const made = await password(last, "own");
  assert.ok(made !== "Own-password-1" && (await server.canLogIn("own", made)));
  await last.ask("POST", "rotate-role/own");
  assert.ok(await server.canLogIn("own", await password(last, "own")));
  // Somebody has dropped the user.
  await server.asRoot(async (sql) => await sql.unsafe("DROP ROLE batch; DROP ROLE own"));
  const gone = await refusal(last.ask("POST", "rotate-role/batch"));
  assert.match(gone.texts.join(), /role "batch" does not exist/);
  await closed(last);
});

test("DB9: two hundred at once on one connection: all work, by as many sessions as it may have", async () => {
  const engine = await withRole(await configured({ name: "hf_many" }));
  let most = 0;
  let isDone = false;
  const counted = (async () => {
    await server.asRoot(async (sql) => {
      while (!isDone) {
        const rows =
          await sql`SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'hf_many'`;
        most = Math.max(most, Number(rows[0]?.["n"]));
      }
    });
  })();
  const all = await Promise.all(Array.from({ length: 200 }, () => issued(engine)));
  assert.equal(new Set(all.map(({ username }) => username)).size, 200);
  assert.equal((await server.users()).length, 200);
  const some = all.filter((_, i) => i % 40 === 0);
  for (const { username, password } of some) assert.ok(await server.canLogIn(username, password));
  await Promise.all(all.map((user) => revoked(engine, user)));
  isDone = true;
  await counted;
  assert.ok(most >= 2 && most <= 4, String(most));
  assert.deepEqual(await server.users(), []);
  await closed(engine);
});

test("DB11: names that are taken, too long, or full of quotes", async () => {
  const engine = await withRole(await configured());
  const template = (username_template: string) =>
    engine.ask("POST", "config/pg", { body: { username_template } });
  await template('{{ printf "v-%s" (random 1 | lowercase) }}');
  const taken: MadeUser[] = [];
  for (let i = 0; i < 8; i++) taken.push(await issued(engine));
  assert.equal(new Set(taken.map(({ username }) => username)).size, 8);
  for (const user of taken) await revoked(engine, user);
  // Longer than the database takes: cut as the plugin says, and never by the database without a word.
  await template(
    '{{ printf "v-%s-%s" (random 10) "0123456789012345678901234567890123456789012345678901234567890123456789" }}',
  );
  const long = await issued(engine);
  assert.equal(long.username.length, 63);
  assert.ok(await server.canLogIn(long.username, long.password));
  await revoked(engine, long);
  assert.equal(
    await kindOf(
      template(
        '{{ printf "v-0123456789012345678901234567890123456789012345678901234567890123456789-%s" (random 10) }}',
      ),
    ),
    "invalid",
  );
  const odd = `v-"; DROP TABLE things; --'$$ {{ random 8 }}`;
  await template(odd);
  const renew = engine.parts.type.secrets?.["user"]?.renew;
  await withRole(engine, {
    creation_statements: [CREATE, `COMMENT ON ROLE {{name}} IS 'of {{name}} until {{expiration}}'`],
    renew_statements: [`ALTER ROLE {{ name }} VALID UNTIL {{expiration}}`],
  });
  const quoted = await issued(engine);
  assert.ok(quoted.username.startsWith(`v-"; DROP TABLE things; --'$$ `));
  assert.ok(await server.canLogIn(quoted.username, quoted.password));
  await renew?.(engine.parts.engine, leaseOf(quoted), HOUR);
  await revoked(engine, quoted);
  assert.equal((await server.asRoot(async (sql) => await sql`SELECT * FROM things`)).length, 1);
  assert.deepEqual(await server.users(), []);
  await closed(engine);
});

test("DB13: no secret in what is read, logged or kept by the database", async () => {
  const { world } = place;
  const engine = await withRole(await configured({ name: "hf_secret" }));
  await engine.ask("POST", "rotate-root/pg");
  const user = await issued(engine);
  await server.asRoot(async (sql) => await sql.unsafe("CREATE ROLE quiet WITH LOGIN PASSWORD 'x'"));
  await engine.ask("POST", "static-roles/quiet", {
    body: { db_name: "pg", username: "quiet", rotation_period: "1h" },
  });
  const { password } = (await engine.ask("GET", "static-creds/quiet")).data as { password: string };
  const root = (await engine.parts.engine.connections.read("pg")).password;
  const reads = await Promise.all(
    ["config/pg", "roles/app", "static-roles/quiet"].map(
      async (path) => (await engine.ask("GET", path)).data,
    ),
  );
  const all = [
    JSON.stringify(reads),
    world.lines.join("\n"),
    place.place.lines.join("\n"),
    server.log,
  ];
  for (const secret of [root, user.password, password]) {
    assert.ok(secret.length === 20);
    for (const text of all) assert.ok(!text.includes(secret));
  }
  assert.ok(!all[1]?.includes("CREATE ROLE") && !all[2]?.includes("CREATE ROLE"));
  assert.match(
    server.log,
    /CREATE ROLE "v-token-app-\w+-\d+" WITH LOGIN PASSWORD 'SCRAM-SHA-256\$/,
  );
  await revoked(engine, user);
  await closed(engine);
});

/** A plugin that was killed twice within a minute is held back for a moment. */
async function whenStarted<T>(work: () => Promise<T>): Promise<T> {
  let result: { readonly value: T } | null = null;
  await until(async () => {
    try {
      result = { value: await work() };
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "plugin-waiting") throw error;
    }
    return result !== null;
  });
  assert.ok(result !== null);
  return (result as { readonly value: T }).value;
}

test("a connection whose process is gone is opened anew for what was not sent, and noticed within a minute", async () => {
  const engine = await withRole(await configured());
  await revoked(engine, await issued(engine));
  const running = () => place.processes.reports().flatMap(({ pid }) => (pid === null ? [] : [pid]));
  const [first = 0] = running();
  kill(first, "SIGKILL");
  await until(() => !running().includes(first));
  await revoked(engine, await whenStarted(() => issued(engine)));
  const [second = 0] = running();
  assert.notEqual(second, first);
  kill(second, "SIGKILL");
  await until(() => !running().includes(second));
  await place.world.advance(MINUTE);
  await until(() => engine.parts.engine.connections.opened.length === 0);
  await whenStarted(() => engine.ask("POST", "reset/pg"));
  const reloaded = (await engine.ask("POST", `reload/${PLUGIN}`)).data;
  assert.deepEqual(reloaded, { connections: ["pg"], count: 1 });
  assert.deepEqual(engine.parts.engine.connections.opened, ["pg"]);
  await closed(engine);
});

test("what PostgreSQL has not is refused by its plugin", async () => {
  const engine = await withRole(await configured(), { credential_type: "rsa_private_key" });
  const { code, texts } = await refusal(engine.ask("GET", "creds/app"));
  assert.equal(code, "database-unsupported");
  assert.match(texts.join(), /use credential_type password/);
  const body = { credential_type: "client_certificate" };
  assert.match(
    (await refusal(engine.ask("POST", "roles/app", { body }))).message,
    /accepted are password/,
  );
  const { warnings } = await engine.ask("POST", "roles/app", {
    body: { credential_type: "password", creation_statements: "CREATE ROLE fixed" },
  });
  assert.match(warnings.join(), /creation_statements: no statement mentions \{\{name\}\}/);
  await closed(engine);
});
