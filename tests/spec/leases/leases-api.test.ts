// The lease endpoints as they are on the wire, under both of their paths: shapes,
// statuses and texts. What leases do by themselves is tested in src/leases/.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { Failure } from "@holdfast/shared/failure";
import {
  absent,
  dataOf,
  done,
  engineServer,
  grants,
  keysOf,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";

const DOWN = () => new Failure("upstream", "down", "the provider is down");

test("a lease is looked up, renewed and revoked by its id", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 3600 });
  const { id, seconds, renewable } = await server.issue();
  assert.deepEqual([seconds, renewable], [3600, true]);
  await server.time.pass(MINUTE);
  const found = dataOf(await server.lookup(id));
  assert.deepEqual(found, {
    id,
    path: "count/creds/r",
    issue_time: "2026-01-01T00:00:00Z",
    expire_time: "2026-01-01T01:00:00Z",
    last_renewal: null,
    renewable: true,
    ttl: 3540,
    namespace_path: "",
    revoke_error: "",
  });
  const renewed = await server.renew(id, { increment: 120 });
  assert.equal(renewed.status, 200, renewed.text);
  assert.deepEqual(
    ["lease_id", "renewable", "lease_duration", "data", "warnings"].map((name) =>
      at(renewed, name),
    ),
    [id, true, 120, null, null],
  );
  assert.equal(dataOf(await server.lookup(id))["last_renewal"], "2026-01-01T00:01:00Z");
  done(await server.revoke(id, { sync: true }));
  refused(await server.lookup(id), 400, "invalid lease");
  refused(await server.renew(id), 400, "lease not found");
  assert.equal((await server.revoke(id)).status, 202);
  done(await server.revoke(id, { sync: true }));
  assert.deepEqual(server.outside.objects, []);
});

test("every change works under its own path and under the older one, with the id in body or path", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  for (const base of ["sys/leases", "sys"]) {
    const { id } = await server.issue();
    const renew = async (path: string, body: object) =>
      at(await server.must("POST", path, body), "lease_duration");
    assert.equal(await renew(`${base}/renew`, { lease_id: id, increment: "90s" }), 90);
    assert.equal(await renew(`${base}/renew/${id}`, { increment: 60 }), 60);
    done(await server.ask("PUT", `${base}/revoke/${id}`, { sync: true }));
    const second = await server.issue();
    done(await server.ask("POST", `${base}/revoke`, { lease_id: second.id, sync: true }));
    await server.issue();
    done(await server.ask("POST", `${base}/revoke-prefix/count/creds`, { sync: true }));
    await server.issue();
    done(await server.ask("POST", `${base}/revoke-force/count`));
    await server.issue();
    const queued = await server.ask("POST", `${base}/revoke-prefix/count`);
    assert.equal(queued.status, 202, queued.text);
    await until(() => server.outside.objects.length === 0);
  }
});

test("lists show parts of paths and ids one level down; nothing there is 404", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  absent(await server.ask("LIST", "sys/leases/lookup/count"));
  absent(await server.ask("LIST", "sys/leases/lookup"));
  const { id } = await server.issue();
  assert.deepEqual(keysOf(await server.ask("LIST", "sys/leases/lookup")), ["count/"]);
  assert.deepEqual(keysOf(await server.ask("LIST", "sys/leases/lookup/count/")), ["creds/"]);
  const below = await server.ask("GET", "sys/leases/lookup/count/creds/r?list=true");
  assert.deepEqual(keysOf(below), [id.slice("count/creds/r/".length)]);
});

test("listing, revoking below a path and reading the irrevocable need sudo, under every path", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  const { id } = await server.issue();
  const all = ["create", "read", "update", "list"];
  // The built-in default policy has rules of its own for some of these paths.
  const alone = { no_default_policy: true };
  const without = await server.client(grants("sys/*", ...all), alone);
  const withSudo = await server.client(grants("sys/*", ...all, "sudo"), alone);
  const requests = [
    ["LIST", "sys/leases/lookup"],
    ["LIST", "sys/leases/lookup/count"],
    ["GET", "sys/leases?type=irrevocable"],
    ["POST", "sys/leases/revoke-prefix/none"],
    ["POST", "sys/leases/revoke-force/none"],
    ["POST", "sys/revoke-prefix/none"],
    ["POST", "sys/revoke-force/none"],
  ] as const;
  for (const [method, path] of requests) {
    const body = method === "POST" ? {} : undefined;
    refused(await server.ask(method, path, body, { token: without }), 403, "permission denied");
    const { status, text } = await server.ask(method, path, body, { token: withSudo });
    assert.ok(status < 300, `${path}: ${text}`);
  }
  assert.equal((await server.lookup(id, { token: without })).status, 200);
});

test("a revocation that fails is 502 with its cause; force forgets, with a warning", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  const { id } = await server.issue();
  server.outside.fail("revoke", DOWN);
  const failed = await server.revoke(id, { sync: true });
  refused(failed, 502, /could not be revoked and will be tried again: the provider is down$/);
  assert.equal(dataOf(await server.lookup(id))["revoke_error"], "the provider is down");
  refused(await server.renew(id), 400, "lease expired");
  const below = await server.ask("POST", "sys/leases/revoke-prefix/count", { sync: true });
  refused(
    below,
    502,
    /^stopped after 0 revoked leases: count\/creds\/r\/\w+: the provider is down$/,
  );
  const forced = await server.ask("POST", "sys/leases/revoke-force/count/creds");
  assert.equal(forced.status, 200, forced.text);
  assert.deepEqual(at(forced, "warnings"), [
    `${id}: the provider is down; what it stands for may remain`,
  ]);
  assert.equal(await server.isThere(id), false);
});

test("irrevocable leases are counted and listed, those of child namespaces when asked for", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  await server.counting();
  await server.counting("count", {}, "team");
  const { id } = await server.issue();
  const child = await server.issue("count/creds/r", { namespace: "team" });
  server.outside.fail("revoke", () => new PermanentFailure("never"));
  await server.revoke(id, { sync: true });
  await server.revoke(child.id, { sync: true }, { namespace: "team" });
  const count = async (query = "") =>
    dataOf(await server.must("GET", `sys/leases/count?type=irrevocable${query}`));
  assert.equal((await count())["lease_count"], 1);
  const both = await count("&include_child_namespaces=true");
  assert.equal(both["lease_count"], 2);
  assert.equal(Object.keys(both["counts"] as object).length, 2);
  const listed = dataOf(await server.must("GET", "sys/leases?type=irrevocable"));
  const [accessor] = Object.keys((await count())["counts"] as object);
  assert.deepEqual(listed, {
    lease_count: 1,
    leases: [{ lease_id: id, mount_id: accessor, error: "never" }],
  });
  const one = "sys/leases?type=irrevocable&include_child_namespaces=true&limit=1";
  const cut = await server.must("GET", one);
  assert.equal((at(cut, "data", "leases") as unknown[]).length, 1);
  assert.deepEqual(at(cut, "warnings"), ["1 more are not shown; raise the limit"]);
  const none = await server.must("GET", one.replace("limit=1", "limit=none"));
  assert.equal((at(none, "data", "leases") as unknown[]).length, 2);
  refused(await server.ask("GET", "sys/leases?type=irrevocable&limit=0"), 400, /^limit must be/);
  refused(await server.ask("GET", "sys/leases/count"), 400, /^type is missing/);
  refused(await server.renew(id), 400, "lease expired and could not be revoked yet");
});

test("tidying is answered at once and goes on in the background", async (t) => {
  const server = await engineServer(t);
  const tidied = await server.ask("POST", "sys/leases/tidy");
  assert.equal(tidied.status, 202, tidied.text);
  assert.match(String(at(tidied, "warnings", 0)), /goes on in the background/);
  await until(() => server.test.lines.some((line) => line.includes("leases are tidied")));
});

test("T-J04: the last use of a token ends the leases that it has got", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  const token = await server.client(grants("count/*", "read"), { num_uses: 2 });
  const { object, id } = await server.issue("count/creds/r", { token });
  assert.equal(server.outside.has(object), true);
  await server.ask("GET", "count/nothing", undefined, { token });
  await until(() => !server.outside.has(object));
  await until(async () => !(await server.isThere(id)));
});

test("T-D04: a token of a child namespace that is deleted takes its leases with it", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  await server.counting("count", {}, "team");
  const rules = grants("count/*", "read");
  const { secret, accessor } = await server.clientToken(rules, {}, "team");
  for (let i = 0; i < 20; i++) {
    await server.issue("count/creds/r", { namespace: "team", token: secret });
  }
  assert.equal(server.outside.objects.length, 20);
  await server.must("POST", "auth/token/revoke-accessor", { accessor }, { namespace: "team" });
  await until(() => server.outside.objects.length === 0);
});

test("a token that expires takes its leases with it within a minute", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  const token = await server.client(grants("count/*", "read"), { ttl: "10m" });
  await server.issue("count/creds/r", { token });
  await server.time.passSlowly(11n * MINUTE, 20n * SECOND);
  await until(() => server.outside.objects.length === 0);
});

test("a token that is deleted while its secret is made gets none, and nothing is left outside", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  const rules = grants("count/*", "read");
  const { secret, accessor } = await server.clientToken(rules);
  const letGo = server.outside.hold("made");
  const answer = server.ask("GET", "count/creds/r", undefined, { token: secret });
  await until(() => server.outside.reached("made") === 1);
  await server.must("POST", "auth/token/revoke-accessor", { accessor });
  letGo();
  refused(await answer, 403, "permission denied", "invalid token");
  assert.deepEqual(server.outside.objects, []);
  absent(await server.ask("LIST", "sys/leases/lookup"));
});

test("leases outlive a crash and are revoked on time after it", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600 });
  const { id } = await server.issue();
  await server.crash();
  assert.equal(await server.isThere(id), true);
  await server.time.pass(10n * MINUTE);
  await until(() => server.outside.objects.length === 0);
  await until(async () => !(await server.isThere(id)));
  assert.equal(server.outside.removals(), 1);
});

test("a prefix may end in a slash, and is judged and recorded as the same path without it", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  for (const base of ["sys/leases", "sys"]) {
    for (const [path, sync] of [
      ["revoke-prefix", { sync: true }],
      ["revoke-force", {}],
    ] as const) {
      const { id } = await server.issue();
      const answer = await server.ask("POST", `${base}/${path}/count/`, sync);
      assert.ok(answer.status < 300, answer.text);
      assert.equal(await server.isThere(id), false);
      const exact = `${base}/${path}/count`;
      const denied = await server.client(
        grants(`${base}/*`, "update", "sudo") + grants(exact, "deny"),
      );
      const granted = await server.client(grants(exact, "update", "sudo"));
      for (const slash of ["", "/"]) {
        refused(
          await server.ask("POST", `${exact}${slash}`, sync, { token: denied }),
          403,
          "permission denied",
        );
        const status = (await server.ask("POST", `${exact}${slash}`, sync, { token: granted }))
          .status;
        assert.ok(status < 300, String(status));
      }
    }
  }
  refused(
    await server.ask("POST", "sys/leases/revoke/count/creds/r/x/", {}),
    400,
    "only lists end in a slash; leave it out, or use LIST or ?list=true",
  );
});
