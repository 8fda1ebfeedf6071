// What is stored of a connection goes only where it was given for, and is shown to nobody: over HTTP, with the real
// PostgreSQL, and somebody who listens beside it.

import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { connection, MountedDatabase } from "../../support/databases/mounted-database.ts";
import {
  PostgresServer,
  ROOT_PASSWORD,
  ROOT_USER,
} from "../../support/databases/postgres-server.ts";

let database: PostgresServer;

before(async () => {
  database = await PostgresServer.start();
});

after(async () => {
  await database.stop();
});

/** Takes whoever comes for a client of a database, and asks for the password as it is. */
class Thief {
  readonly heard: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => {
    this.#sockets.add(socket);
    this.heard.push("");
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      this.heard.push(bytes.toString("latin1"));
      if (bytes.length === 8) return void socket.write("N"); // no TLS
      if (bytes[0] !== 0x70) socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
      else socket.destroy();
    });
  });

  static async start(t: { after(call: () => Promise<void>): void }): Promise<Thief> {
    const thief = new Thief();
    const server = thief.#server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(async () => {
      for (const socket of thief.#sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    return thief;
  }

  get place(): string {
    const address = this.#server.address();
    assert.ok(address !== null && typeof address === "object");
    return `127.0.0.1:${address.port}`;
  }
}

test("a stored password goes nowhere that it was not given for: whatever says where and how is changed with it alone", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const { server } = client;
  const thief = await Thief.start(t);
  const before = await server.data("database/config/pg");
  const url = database.url;
  const changes: object[] = [
    { username: `x@${thief.place}/postgres?sslmode=disable#`, disable_escaping: true },
    { disable_escaping: true },
    { username: "somebody" },
    { connection_url: url.replace(`127.0.0.1:${database.port}`, thief.place) },
    { connection_url: url.replace("sslmode=disable", "sslmode=prefer") },
    { connection_url: `${url}&application_name=x@${thief.place}/postgres` },
    { connection_url: `${url}&host=127.0.0.1&port=${thief.place.split(":")[1]}` },
    { connection_url: `${url}&h%6fst=127.0.0.1&port=${thief.place.split(":")[1]}` },
    { connection_url: url.replace("/postgres?", "/{{password}}?") },
    { connection_url: `${url}&application_name={{password}}` },
    {
      connection_url: `host=${thief.place.replace(":", " port=")} user={{username}} password={{password}}`,
    },
    { tls_ca: "-----BEGIN CERTIFICATE-----" },
    { password_authentication: "password" },
    { root_rotation_statements: ["SELECT '{{password}}'"] },
  ];
  for (const change of changes) {
    for (const more of [{}, { verify_connection: false }]) {
      const words = await client.refused("POST", "database/config/pg", { ...change, ...more });
      assert.match(words, /give password in the same write/, JSON.stringify(change));
      assert.doesNotMatch(words, /Root-pass/);
    }
  }
  await client.creds();
  assert.deepEqual(await server.data("database/config/pg"), before);
  assert.deepEqual(thief.heard, []);
  // What says how much it is used, and for whom, needs nothing; nor does what is there already.
  await server.ok("POST", "database/config/pg", { max_open_connections: 3 });
  await server.ok("POST", "database/config/pg", { allowed_roles: ["app"], connection_url: url });
  await server.ok("POST", "database/config/pg", { username: ROOT_USER, password: ROOT_PASSWORD });
  // So it is with every secret that the connection has.
  const key = { private_key: "K".repeat(40), tls_certificate: "C", verify_connection: false };
  const requiring = {
    connection_url: url.replace("=disable", "=require"),
    password: ROOT_PASSWORD,
  };
  await server.ok("POST", "database/config/keyed", { ...connection(database, requiring), ...key });
  const moved = { connection_url: url, password: ROOT_PASSWORD, verify_connection: false };
  const words = await client.refused("POST", "database/config/keyed", moved);
  assert.match(words, /give private_key in the same write/);
});

test("a user name or a password is nothing but that, whatever it holds: none of it says where", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const { server } = client;
  const thief = await Thief.start(t);
  const pairs = `host=127.0.0.1 port=${database.port} dbname=postgres sslmode=disable user={{username}} password={{password}}`;
  const names = [
    `x@${thief.place}/postgres?a=`,
    `x' host=127.0.0.1 port=${thief.place.split(":")[1]} user='y`,
    `x host=${thief.place}`,
  ];
  for (const connection_url of [database.url, pairs]) {
    for (const disable_escaping of [true, false]) {
      for (const name of names) {
        for (const login of [{ username: name }, { password: name }]) {
          const how = connection(database, { connection_url, disable_escaping, ...login });
          const words = await client.refused("POST", "database/config/odd", how);
          assert.match(words, /password authentication failed/, JSON.stringify(how));
        }
      }
    }
  }
  assert.deepEqual(thief.heard, []);
  const elsewhere = [
    database.url.replace("127.0.0.1", "{{username}}"),
    database.url.replace("127.0.0.1", "{{password}}"),
    `${database.url}&application_name={{ password }}`,
    `${pairs} options={{password}}`,
  ];
  for (const connection_url of elsewhere) {
    const words = await client.refused(
      "POST",
      "database/config/odd",
      connection(database, { connection_url }),
    );
    assert.match(words, /stands for the/, connection_url);
  }
  // While something lives that was made there, a name that others could take for a host counts as another place.
  await client.creds();
  const raw = { username: `x@${thief.place}/postgres?a=`, disable_escaping: true };
  const change = connection(database, { ...raw, verify_connection: false });
  assert.match(await client.refused("POST", "database/config/pg", change), /would lead elsewhere/);
  const other = { username: "somebody", verify_connection: false };
  await server.ok("POST", "database/config/pg", connection(database, other));
  await server.ok("POST", "database/config/pg", connection(database));
});

test("a password in the text of an address is refused, however it is written, and where it stands in a list or an object", async (t) => {
  const client = await MountedDatabase.start(t, database);
  const refused = async (details: object) => {
    const body = { ...connection(database, details), verify_connection: false };
    const words = await client.refused("POST", "database/config/shown", body);
    assert.match(words, /holds a password, which reads would show/, JSON.stringify(details));
    assert.doesNotMatch(words, /hunter/);
  };
  for (const connection_url of [
    "postgresql://u:hunter@h/db",
    "POSTGRESQL://u:h%75nter@h/db",
    "postgresql://u%3Ahunter@h/db",
    "postgresql://u:hun/ter@h:1/db",
    "postgresql://u:hun//ter@h:1/db",
    "postgresql://u:hun?x=ter@h/db",
    "postgresql://u:hun ter@h/db",
    "postgresql://{{username}}:{{password}}@h1:1,root:hunter@h2:2/db",
    "postgresql://{{username}}:{{password}}hunter@h/db",
    "postgresql://h/db?user=u&PASSWORD=hunter",
    "postgresql://h/db?user=u&p%2561ssword=hunter",
    "postgresql://h/db?sslpassword=hunter",
    "host=h PASSWORD = hunter",
    "host=h password\n=\n'hunter two'",
    "host=h password='{{password}} hunter'",
    "host=h password=\\ hunter",
    "host=h password={{password}},hunter",
    "Server=h;User Id=u;Pwd=hunter;",
    "u/hunter@h:1521/service",
    "jdbc:oracle:thin:u/hunter@//h:1521/service",
    "jdbc:sqlserver://h:1433;user=u;password=hunter",
    "mongodb://:hunter@h",
    '{"password": "hunter"}',
  ]) {
    await refused({ connection_url });
  }
  await refused({ hosts: ["postgresql://u:hunter@h/db"] });
  await refused({ reader: { address: "postgresql://u:hunter@h/db" } });
  await refused({ note: encodeURIComponent("Hunter 2 (%)"), password: "Hunter 2 (%)" });
  // What has its places is none, nor is what only looks a little like it.
  for (const connection_url of [
    "postgresql://{{ username }}:{{ password }}@h1:1,h2:2,[::1]:3/db?target_session_attrs=read-write",
    "host=/tmp port=1 user='{{username}}' password='{{password}}' dbname=postgres",
    "postgresql://h:5432/db?user={{username}}&password={{password}}",
  ]) {
    const body = { ...connection(database, { connection_url }), verify_connection: false };
    await client.server.ok("POST", "database/config/shown", body);
  }
});
