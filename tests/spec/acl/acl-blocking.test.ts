// Blocking queries through HTTP: what wakes them, what does not, who is told
// what, and what becomes of those that nobody waits for. The table of conformance has the rest.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import test from "node:test";
import { SystemRandom } from "../../../src/system/random.ts";
import {
  aclServer,
  type AclServer,
  denied,
  HOUR,
  indexOf,
  MINUTE,
  refused,
  staysParked,
  tokenOf,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";
import { until } from "../../support/until.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import type { Instant } from "@holdfast/shared/world";

/** How many queries wait on the server, by what it says itself. */
async function parked(server: AclServer): Promise<number> {
  const answer = await server.manage("GET", "/v1/sys/in-flight-req");
  assert.equal(answer.status, 200, answer.text);
  const running = at(answer, "data") as Record<string, { readonly endpoint: string }>;
  const names = ["listTokens", "readToken", "readSelfToken"];
  return Object.values(running).filter(({ endpoint }) => names.includes(endpoint)).length;
}

async function listIndex(server: AclServer, namespace?: string): Promise<string> {
  return String(indexOf(await server.manage("GET", "/acl/tokens", { namespace })));
}

/** A request whose answer nobody will read. */
async function impatient(server: AclServer, path: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(server.test.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nX-Service-Token: ${token}\r\n\r\n`,
  );
  return socket;
}

/** A wall clock that is set, while the steady one goes on. */
class MovableClock extends SystemClock {
  ahead = 0n;

  override now(): Instant {
    return super.now() + this.ahead;
  }
}

test("a client that ends its side after the question has its answer at once, and nobody waits for it", async (t) => {
  const server = await aclServer(t);
  const index = await listIndex(server);
  const socket = await impatient(server, `/acl/tokens?index=${index}&wait=300s`, server.management);
  t.after(() => void socket.destroy());
  await until(async () => (await parked(server)) === 1);
  const ended = once(socket, "end");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.end();
  await ended;
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(text, new RegExp(`x-service-index: ${index}\r\n`, "i"));
  assert.match(text, /connection: close\r\n/i);
  assert.equal(await parked(server), 0);
});

test("one-time tokens, policies and tokens of other namespaces wake no list", async (t) => {
  const server = await aclServer(t);
  await server.manage("POST", "/v1/sys/namespaces/team");
  const index = await listIndex(server);
  const waiting = server.list({ index, wait: "60s" });
  const body = { Type: "client", Policies: ["readonly"] };
  await server.manage("POST", "/acl/token/onetime");
  await server.writePolicy("other", 'path "x" { capabilities = ["read"] }');
  const other = await server.manage("POST", "/acl/token", { namespace: "team", body });
  assert.equal(other.status, 200, other.text);
  assert.ok(await staysParked(server, waiting));
  const made = await server.create();
  const answer = await waiting;
  assert.equal(indexOf(answer), BigInt(made.CreateIndex));
  assert.ok(answer.text.includes(made.AccessorID));
});

test("create, update, delete and collection wake a list, each with its index", async (t) => {
  const clock = new MovableClock();
  const server = await aclServer(t, { world: { clock } });
  const turns: readonly (() => Promise<unknown>)[] = [
    () => server.create({ ExpirationTTL: "1h" }),
    async () => server.update(await server.create(), { Name: "n" }),
    async () => server.manage("DELETE", `/acl/token/${(await server.create()).AccessorID}`),
    () => server.upload("aabbccdd-eeff-4011-8233-445566778899"),
    () => {
      clock.ahead += 2n * HOUR;
      return server.manage("POST", "/acl/gc");
    },
  ];
  for (const turn of turns) {
    const index = await listIndex(server);
    const waiting = server.list({ index });
    assert.ok(await staysParked(server, waiting));
    await turn();
    const answer = await waiting;
    assert.equal(answer.status, 200, answer.text);
    assert.ok(indexOf(answer) > BigInt(index));
  }
});

test("a read of what is not there waits for the table, and finds what is uploaded", async (t) => {
  const server = await aclServer(t);
  const id = "aabbccdd-eeff-4011-8233-445566778899";
  const missing = await server.manage("GET", `/acl/token/${id}`);
  refused(missing, 404, "ACL token not found", "token_not_found");
  const path = `/acl/token/${id}?index=${indexOf(missing)}`;
  const waiting = server.manage("GET", path);
  assert.ok(await staysParked(server, waiting));
  const made = await server.upload(id);
  assert.deepEqual(tokenOf(await waiting), made);
});

test("who may not read a token is refused at once, there or not, and not parked", async (t) => {
  const server = await aclServer(t);
  const [client, other] = [await server.create(), await server.create()];
  for (const id of [other.AccessorID, UNKNOWN]) {
    const options = { token: client.SecretID };
    denied(await server.ask("GET", `/acl/token/${id}?index=99999`, options));
  }
});

test("an index from the future waits for its time, and the answer says the true one", async (t) => {
  const server = await aclServer(t);
  const index = await listIndex(server);
  const began = performance.now();
  const answer = await server.list({ index: "18446744073709551615", wait: "300ms" });
  assert.ok(performance.now() - began >= 300);
  assert.equal(answer.status, 200);
  assert.equal(String(indexOf(answer)), index);
  refused(await server.list({ index: "18446744073709551616" }), 400, "Invalid index");
  refused(await server.list({ index: "-1" }), 400, "Invalid index");
});

test("zero, negative and missing waits are the default; without an index they do nothing", async (t) => {
  const server = await aclServer(t);
  const index = await listIndex(server);
  for (const wait of ["0s", "-5s", ""]) {
    assert.equal((await server.list({ wait })).status, 200);
    const waiting = server.list({ index, wait });
    assert.ok(await staysParked(server, waiting), wait);
  }
  refused(await server.list({ wait: "10" }), 400, "Invalid wait time", "invalid_parameter");
});

test("T-B05: a credential that expires while it waits is told so within a second", async (t) => {
  const clock = new MovableClock();
  const server = await aclServer(t, { world: { clock } });
  const client = await server.create({ ExpirationTTL: "1m" });
  const manager = await server.createManagement({ ExpirationTTL: "1m" });
  const index = await listIndex(server);
  const self = server.ask("GET", `/acl/token/self?index=${index}`, { token: client.SecretID });
  const list = server.list({ index }, manager.SecretID);
  const safe = server.list({ index });
  for (const one of [self, list, safe]) assert.ok(await staysParked(server, one));
  const began = performance.now();
  clock.ahead += 2n * MINUTE; // less than anybody waits
  denied(await self, "ACL token expired");
  refused(await list, 403, "Permission denied", "token_expired");
  // Not by the end of their wait, after minutes; the second is held to with a clock in our hand.
  assert.ok(performance.now() - began < 15_000);
  assert.ok(await staysParked(server, safe));
});

test("who is no longer management gets no list", async (t) => {
  const server = await aclServer(t);
  const manager = await server.createManagement();
  const list = server.list({ index: await listIndex(server) }, manager.SecretID);
  assert.ok(await staysParked(server, list));
  await server.update(manager, { Type: "client", Policies: ["readonly"] });
  denied(await list);
});

test("T-D07: a credential of the root namespace that waits in a child is watched as well", async (t) => {
  const server = await aclServer(t);
  await server.manage("POST", "/v1/sys/namespaces/team");
  const body = { Type: "client", Policies: ["readonly"] };
  await server.manage("POST", "/acl/token", { namespace: "team", body });
  const manager = await server.createManagement();
  const index = await listIndex(server, "team");
  const options = { namespace: "team", token: manager.SecretID };
  const list = server.ask("GET", `/acl/tokens?index=${index}`, options);
  assert.ok(await staysParked(server, list));
  await server.manage("DELETE", `/acl/token/${manager.AccessorID}`);
  denied(await list);
});

test("the 65th query of one token is refused, and a client that hangs up frees its place", async (t) => {
  const server = await aclServer(t);
  const { SecretID, ModifyIndex } = await server.create();
  const path = `/acl/token/self?index=${ModifyIndex}&wait=5m`;
  const sockets = await Promise.all(
    Array.from({ length: 64 }, () => impatient(server, path, SecretID)),
  );
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  await until(async () => (await parked(server)) === 64);
  const refusal = await server.ask("GET", path, { token: SecretID });
  refused(refusal, 429, /too many blocking queries with this token/, "too_many_blocking_queries");
  assert.ok(Number(refusal.headers["retry-after"]) > 0);
  // Without an index nobody waits, so it is answered; and another token has places of its own.
  assert.equal((await server.self(SecretID)).status, 200);
  assert.equal((await server.list({ index: await listIndex(server), wait: "10ms" })).status, 200);
  sockets[0]?.destroy();
  await until(async () => (await parked(server)) === 63);
  const waiting = server.ask("GET", path, { token: SecretID });
  assert.ok(await staysParked(server, waiting));
  for (const socket of sockets) socket.destroy();
  await until(async () => (await parked(server)) === 1);
});

test("sealing answers everybody who waits with 503, at once", async (t) => {
  const server = await aclServer(t);
  const { SecretID, ModifyIndex } = await server.create();
  const waiting = [
    server.list({ index: await listIndex(server) }),
    server.ask("GET", `/acl/token/self?index=${ModifyIndex}`, { token: SecretID }),
  ];
  await until(async () => (await parked(server)) === 2);
  const sealed = await server.manage("POST", "/v1/sys/seal");
  assert.equal(sealed.status, 204, sealed.text);
  for (const one of waiting) refused(await one, 503, "service is sealed", "sealed");
  assertNobodyWasWaitedFor(server);
  await server.test.unseal(server.shares);
  const again = server.list({ index: await listIndex(server) });
  assert.ok(await staysParked(server, again));
  await server.create();
  assert.equal((await again).status, 200);
});

test("stopping the server ends them too", async () => {
  let stop = (): Promise<void> | void => {};
  const server = await aclServer({ after: (call) => (stop = call) });
  const waiting = server.list({ index: await listIndex(server) });
  await until(async () => (await parked(server)) === 1);
  await stop();
  assert.equal((await waiting).status, 503);
  assertNobodyWasWaitedFor(server);
});

/** Sealing gives requests ten seconds to end, and says so of those that did not. */
function assertNobodyWasWaitedFor(server: AclServer): void {
  const late = server.test.lines.filter((line) => line.includes("requests still run"));
  assert.deepEqual(late, [], "queries that wait for a change are ended before sealing waits");
}

test("the switch shows the anonymous token to those without a credential, and to no other", async (t) => {
  const clock = new MovableClock();
  const server = await aclServer(t, {
    world: { clock },
    settings: { acl: { anonymous_self: true } },
  });
  const nobody = await server.ask("GET", "/acl/token/self");
  assert.equal(nobody.status, 200, nobody.text);
  assert.deepEqual(nobody.json, {
    AccessorID: "anonymous",
    SecretID: "",
    Name: "Anonymous Token",
    Type: "client",
    Policies: ["anonymous"],
    Roles: null,
    Global: false,
    Hash: "",
    CreateTime: "0001-01-01T00:00:00Z",
    ExpirationTime: null,
    ExpirationTTL: "",
    CreateIndex: 0,
    ModifyIndex: 0,
  });
  denied(await server.self(UNKNOWN));
  const client = await server.create({ ExpirationTTL: "10m" });
  assert.equal(tokenOf(await server.self(client.SecretID)).AccessorID, client.AccessorID);
  clock.ahead += 11n * MINUTE;
  denied(await server.self(client.SecretID), "ACL token expired");
});

test("failed exchanges from one address come to an end, and those on this machine do not", async (t) => {
  const server = await aclServer(t);
  const exchange = (headers: Readonly<Record<string, string>>): Promise<Answer> => {
    const body = { OneTimeSecretID: new SystemRandom().uuid() };
    return server.ask("POST", "/acl/token/onetime/exchange", { headers, body });
  };
  const local = await Promise.all(Array.from({ length: 80 }, () => exchange({})));
  for (const answer of local) denied(answer);
  const behind = { "X-Forwarded-For": "192.0.2.7" };
  const statuses: number[] = [];
  // Ten a second come back meanwhile, so that it takes a few more on a slow machine.
  while (statuses.at(-1) !== 429 && statuses.length < 500) {
    statuses.push((await exchange(behind)).status);
  }
  assert.deepEqual(
    statuses.slice(0, 50),
    Array.from({ length: 50 }, () => 403),
  );
  assert.equal(statuses.at(-1), 429);
});
