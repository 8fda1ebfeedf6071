// A place of its own for every token, that nobody else sees and that goes with it.

import assert from "node:assert/strict";
import test from "node:test";
import {
  absent,
  dataOf,
  done,
  engineServer,
  grants,
  keysOf,
  MINUTE,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";

const NONE = grants("none/such", "read");

test("a free JSON object is written, replaced, read, listed and removed", async (t) => {
  const server = await engineServer(t);
  const token = await server.client(NONE); // what the default policy gives
  const ask = (method: string, path: string, body?: object | string) =>
    server.ask(method, `cubbyhole/${path}`, body, { token });
  const first = { a: "1", path: "p", ttl: "x", data: { b: [1, null, true] }, token: "t" };
  done(await ask("POST", "one", first));
  assert.deepEqual(dataOf(await ask("GET", "one")), first);
  done(await ask("PUT", "one", { only: "this" }));
  assert.deepEqual(dataOf(await ask("GET", "one")), { only: "this" }, "replaced, not merged");
  done(await ask("POST", "deep/er", { c: 1 }));
  done(await ask("POST", "deep/est", { c: 2 }));
  assert.deepEqual(keysOf(await ask("LIST", "")), ["deep/", "one"]);
  assert.deepEqual(keysOf(await ask("LIST", "deep/")), ["er", "est"]);
  assert.deepEqual(keysOf(await ask("GET", "deep?list=true")), ["er", "est"]);
  done(await ask("DELETE", "deep/er"));
  done(await ask("DELETE", "deep/er"));
  absent(await ask("GET", "deep/er"));
  absent(await ask("GET", "none"));
  absent(await ask("LIST", "none/"));
  // Numbers keep the digits they came with.
  done(await ask("POST", "exact", '{"n":12345678901234567890.10}'));
  assert.match((await ask("GET", "exact")).text, /"n":12345678901234567890\.10/);
});

test("no token sees another's, management included", async (t) => {
  const server = await engineServer(t);
  const [a, b] = [await server.client(NONE), await server.client(NONE)];
  for (const [token, of] of [
    [a, "a"],
    [b, "b"],
    [server.root, "root"],
  ] as const) {
    done(await server.ask("POST", "cubbyhole/x", { of }, { token }));
    done(await server.ask("POST", `cubbyhole/only-${of}`, { of }, { token }));
  }
  for (const [token, of] of [
    [a, "a"],
    [b, "b"],
    [server.root, "root"],
  ] as const) {
    const ask = (method: string, path: string) => server.ask(method, path, undefined, { token });
    assert.deepEqual(dataOf(await ask("GET", "cubbyhole/x")), { of });
    assert.deepEqual(keysOf(await ask("LIST", "cubbyhole/")), [`only-${of}`, "x"]);
  }
});

test("it is another one in each namespace", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  done(await server.ask("POST", "cubbyhole/x", { at: "root" }));
  absent(await server.ask("GET", "cubbyhole/x", undefined, { namespace: "team" }));
  done(await server.ask("POST", "cubbyhole/x", { at: "team" }, { namespace: "team" }));
  assert.deepEqual(dataOf(await server.ask("GET", "cubbyhole/x")), { at: "root" });
});

test("it is there after a crash and gone with its token", async (t) => {
  const server = await engineServer(t);
  const kept = await server.clientToken(NONE);
  done(await server.ask("POST", "cubbyhole/x", { a: 1 }, { token: kept.secret }));
  await server.crash();
  const read = await server.ask("GET", "cubbyhole/x", undefined, { token: kept.secret });
  assert.deepEqual(dataOf(read), { a: 1 });
  const rows = () => server.storedKeys(kept.accessor).length;
  assert.ok(rows() > 0);
  await server.must("POST", "auth/token/revoke-accessor", { accessor: kept.accessor });
  await until(() => rows() === 0);
  // A new token with the same accessor would find nothing: there is nothing.
  const brief = await server.clientToken(NONE, { ttl: "5m" });
  done(await server.ask("POST", "cubbyhole/x", { a: 1 }, { token: brief.secret }));
  const briefRows = () =>
    server.storedKeys(brief.accessor).filter((key) => key.includes("cubbyhole")).length;
  assert.ok(briefRows() > 0);
  await server.passUntil(() => briefRows() === 0);
  assert.ok(server.time.clock.elapsed() >= 5n * MINUTE, "not before its time");
});

test("it cannot be removed, moved, tuned or mounted a second time", async (t) => {
  const server = await engineServer(t);
  done(await server.ask("POST", "cubbyhole/x", { a: 1 }));
  for (const [method, path, body] of [
    ["DELETE", "sys/mounts/cubbyhole", undefined],
    ["POST", "sys/mounts/cubbyhole/tune", { default_lease_ttl: "1h" }],
    ["POST", "sys/remount", { from: "cubbyhole", to: "moved" }],
    ["POST", "sys/mounts/second", { type: "cubbyhole" }],
  ] as const) {
    const answer = await server.ask(method, path, body);
    assert.ok([400, 403].includes(answer.status), `${method} ${path}: ${answer.text}`);
  }
  assert.deepEqual(dataOf(await server.ask("GET", "cubbyhole/x")), { a: 1 });
});

test("without a token there is none, and a lease never comes of it", async (t) => {
  const server = await engineServer(t);
  assert.equal((await server.test.call("GET", "/v1/cubbyhole/x")).status, 403);
  done(await server.ask("POST", "cubbyhole/x", { a: 1, ttl: "1h" }));
  const read = await server.ask("GET", "cubbyhole/x");
  assert.deepEqual([at(read, "lease_id"), at(read, "lease_duration")], ["", 0]);
});
