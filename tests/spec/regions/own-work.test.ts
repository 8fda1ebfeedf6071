// What a region that leaves shared data to another one does by itself, and never tries to write there.

import assert from "node:assert/strict";
import test from "node:test";
import type { CloudA } from "../../../engines/clouda/engine.ts";
import { oldRoleCodec, oldRoleKey } from "../../../engines/clouda/roles/stored-role.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { type Answer, at } from "../../support/http-client.ts";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { ask, mountCounting } from "../../support/replication/outside-site.ts";
import {
  joinedRegion,
  perf,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";
import { countingEngine } from "../../support/stores/counting-engine.ts";
import { Outside } from "../../support/stores/outside.ts";
import { until } from "../../support/until.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";

const ALARM = "storage.shared-write-refused";

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.ok(got.status === 200 || got.status === 204, got.text);
  return got;
}

async function generated(server: TestServer, shares: readonly string[]): Promise<string> {
  const path = "/v1/sys/generate-root";
  const started = await done(server.call("POST", `${path}/attempt`, { body: {} }));
  const [key] = shares;
  const body = { key, nonce: at(started, "nonce") };
  const made = await done(server.call("POST", `${path}/update`, { body }));
  const token = Buffer.from(String(at(made, "encoded_token")), "base64");
  const pad = Buffer.from(String(at(started, "otp")));
  return token.map((byte, i) => byte ^ (pad[i] ?? 0)).toString();
}

test("generate-root makes a token of this region alone, where another one writes those of all", async (t) => {
  const { a, b, shares } = await twoRegions(t);
  const token = await generated(b, shares);
  assert.equal(at(await done(b.call("GET", "/v1/acl/token/self", { token })), "Global"), false);
  assert.equal((await a.call("GET", "/v1/acl/token/self", { token })).status, 403);
  const body = { policy: 'path "sys/mounts" { capabilities = ["read"] }' };
  const refused = await b.call("POST", "/v1/sys/policies/acl/p", { token, body });
  assert.equal(refused.status, 403);
  assert.match(refused.text, /use a global token/);
  const global = await generated(a, shares);
  assert.equal(
    at(await done(a.call("GET", "/v1/acl/token/self", { token: global })), "Global"),
    true,
  );
  assert.deepEqual(
    b.lines.filter((line) => line.includes(ALARM)),
    [],
  );
});

test("a role of an earlier version is read, and left to who writes it", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const found = a.server.mounts.find(ROOT_NAMESPACE, ["clouda"]);
  assert.ok(found !== null);
  const { storage } = (found.ref.engine as CloudA).needs;
  await storage.write((tx) => tx.put(oldRoleKey("old"), '{ "Statement": [] }', oldRoleCodec));
  const read = await done(b.call("GET", "/v1/clouda/roles/old", { token }));
  assert.equal(at(read, "data", "policy_document"), '{"Statement":[]}');
  assert.deepEqual(
    b.lines.filter((line) => line.includes(ALARM)),
    [],
  );
});

test("a mount of key/value pairs that goes to version 2 is raised by who writes it, and read everywhere", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const body = { type: "kv", options: { version: "1" } };
  await done(a.call("POST", "/v1/sys/mounts/kv", { token, body }));
  await done(b.call("POST", "/v1/kv/a/b", { token, body: { n: 1 } }));
  const options = { version: "2" };
  await done(b.call("POST", "/v1/sys/mounts/kv/tune", { token, body: { options } }));
  for (const region of [a, b]) {
    const read = () => region.call("GET", "/v1/kv/data/a/b", { token });
    await until(async () => (await read()).status === 200);
    assert.deepEqual(at(await read(), "data", "data"), { n: 1 });
  }
  assert.deepEqual(
    b.lines.filter((line) => line.includes(ALARM)),
    [],
  );
});

test("logins of a region are ended there, and those of all regions by who writes them", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const user = { password: "correct horse battery" };
  const logins: string[] = [];
  for (const scope of ["local", "global"]) {
    const body = { type: "userpass", options: { token_scope: scope } };
    await done(a.call("POST", `/v1/sys/auth/${scope}`, { token, body }));
    await done(a.call("POST", `/v1/auth/${scope}/users/me`, { token, body: user }));
    const login = await done(b.call("POST", `/v1/auth/${scope}/login/me`, { body: user }));
    logins.push(String(at(login, "auth", "client_token")));
  }
  const isGood = async (one: string) =>
    (await b.call("GET", "/v1/acl/token/self", { token: one })).status === 200;
  const path = "/v1/sys/leases/revoke-prefix/auth";
  for (const scope of ["local", "global"]) {
    const body = { sync: true };
    const ended = await b.call("POST", `${path}/${scope}`, { token, body });
    assert.equal(ended.status, 204, ended.text);
    assert.match(String(ended.headers["x-service-warning"]), /ended by the primary/);
  }
  assert.deepEqual(await Promise.all(logins.map(isGood)), [false, true]);
  await done(a.call("POST", `${path}/global`, { token, body: { sync: true } }));
  assert.deepEqual(await Promise.all(logins.map(isGood)), [false, false]);
  await done(b.call("POST", "/v1/acl/gc", { token }));
  assert.deepEqual(
    b.lines.filter((line) => line.includes(ALARM)),
    [],
  );
});

test("a local mount makes no global tokens", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  for (const type of ["userpass", "approle"]) {
    const options = { token_scope: "global" };
    const path = `/v1/sys/auth/${type}`;
    const refused = await server.call("POST", path, {
      token,
      body: { type, options, local: true },
    });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /token_scope must be local where the mount is/);
    await done(server.call("POST", path, { token, body: { type, options } }));
  }
});

test("tokens of all regions have no numbered uses", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  for (const scope of ["local", "global"]) {
    for (const [type, path, fields] of [
      ["userpass", "users/ada", { password: "correct horse battery" }],
      ["approle", "role/app", {}],
    ] as const) {
      const mount = `${type}-${scope}`;
      const options = { token_scope: scope };
      await done(server.call("POST", `/v1/sys/auth/${mount}`, { token, body: { type, options } }));
      const body = { ...fields, token_num_uses: 3 };
      const answer = await server.call("POST", `/v1/auth/${mount}/${path}`, { token, body });
      if (scope === "local") assert.equal(answer.status, 204, answer.text);
      else assert.match(answer.text, /token_num_uses must be 0 where token_scope is global/);
      if (scope === "global") assert.equal(answer.status, 400);
    }
  }
});

test("what an engine does by itself at a shared mount is done where that is written, and after a promotion by who takes over", async (t) => {
  const led: string[] = [];
  const looked = { a: new Set<string>(), b: new Set<string>() };
  const engines = (name: "a" | "b") => {
    const type: ReturnType<typeof countingEngine> = {
      ...countingEngine(new Outside()),
      lead: ({ needs }, { tookOverAt }) =>
        void led.push(`${name} ${needs.mount.path()} ${tookOverAt === null ? "first" : "after"}`),
      periodic: async ({ needs }) => void looked[name].add(needs.mount.path()),
    };
    return { engineTypes: [anyEngine(type)] };
  };
  const a = await startPerformancePrimary(t, engines("a"));
  await mountCounting(a, "count");
  const b = await joinedRegion(t, a, "b", engines("b"));
  await regionInSync(a, b);
  const { token } = a;
  await until(async () => (await ask(b, token, "GET", "count/roles/r")).status === 200);
  const own = await ask(b, token, "POST", "sys/mounts/own", { type: "counting", local: true });
  assert.equal(own.status, 204, own.text);
  assert.deepEqual(led.toSorted(), ["a count/ first", "b own/ first"]);
  await b.server.server.mounts.tick();
  assert.deepEqual([...looked.b], ["own/"]);
  led.length = 0;
  assert.equal((await perf(a, "primary/demote")).status, 200);
  looked.a.clear();
  await a.server.server.mounts.tick();
  assert.deepEqual([led, [...looked.a]], [[], []]);
  const promoted = await perf(b, "secondary/promote", {}, token);
  assert.equal(promoted.status, 200, promoted.text);
  assert.deepEqual(led.toSorted(), ["b count/ after", "b own/ after"]);
  await b.server.server.mounts.tick();
  assert.deepEqual([...looked.b].toSorted(), ["count/", "own/"]);
});
