// How often a database is logged in to where it turns the login away: over HTTP, with the real PostgreSQL and with a server
// that says nothing.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { errorsOf } from "../../support/http-client.ts";
import { connection, MountedDatabase } from "../../support/databases/mounted-database.ts";
import { PostgresServer } from "../../support/databases/postgres-server.ts";
import { until } from "../../support/until.ts";

let database: PostgresServer;

before(async () => {
  database = await PostgresServer.start();
});

after(async () => {
  await database.stop();
});

test("a login that the database refuses is not tried again for each request, and is when it may succeed", async (t) => {
  const { server } = await MountedDatabase.start(t, database);
  await database.asRoot(
    async (sql) => await sql.unsafe("CREATE ROLE locked WITH LOGIN SUPERUSER PASSWORD 'Another-1'"),
  );
  const login = { username: "locked", password: "Wrong-one-1" };
  const config = { ...connection(database, login), verify_connection: false };
  await server.ok("POST", "database/config/pg", config);
  const refused = () => database.log.split('authentication failed for user "locked"').length - 1;
  const ask = async () => {
    const answer = await server.call("GET", "database/creds/app");
    assert.equal(answer.status, 400, answer.text);
    return String(errorsOf(answer));
  };
  const began = performance.now();
  const first = await Promise.all(Array.from({ length: 40 }, ask));
  for (const words of first) assert.match(words, /password authentication failed/);
  for (let i = 0; i < 40; i++) await ask();
  const seconds = (performance.now() - began) / 1000;
  // At most as many at once as it may have sessions; then after 1, 2, 4 … seconds.
  const most = 4 + Math.floor(Math.log2(seconds + 1));
  assert.ok(refused() >= 1 && refused() <= most, `${refused()} in ${seconds} s`);
  assert.match(await ask(), /a login is not tried again for \d+ s/);
  await database.asRoot(
    async (sql) => await sql.unsafe("ALTER ROLE locked WITH PASSWORD 'Wrong-one-1'"),
  );
  await until(async () => (await server.call("GET", "database/creds/app")).status === 200);
});

test("a server that closes without a word is tried once at each of its hosts", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const { server } = client;
  let came = 0;
  const mute = createServer((socket) => {
    came++;
    socket.on("error", () => {});
    socket.once("data", () => socket.destroy());
  });
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  t.after(() => void mute.close());
  const address = mute.address();
  assert.ok(address !== null && typeof address === "object");
  const place = `127.0.0.1:${address.port}`;
  const hosts = [place, `${place},${place}`, `127.0.0.1:1,${place}`];
  for (const [i, host] of hosts.entries()) {
    came = 0;
    const connection_url = database.url.replace(`127.0.0.1:${database.port}`, host);
    const body = connection(database, { connection_url });
    const answer = await server.call("POST", `database/config/mute${i}`, { body });
    assert.equal(answer.status, 502, answer.text);
    assert.match(String(errorsOf(answer)), /closed the connection/);
    assert.equal(came, host.split(place).length - 1, host);
  }
  // A host that is not there is passed over.
  const connection_url = database.url.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1");
  await server.ok("POST", "database/config/second", connection(database, { connection_url }));
});
