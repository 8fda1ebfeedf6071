// Threats D with a surface in mounts and leases: what belongs to one namespace is never reached from
// another, and nothing is forgotten outside when a namespace or a token ends.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import {
  dataOf,
  engineServer,
  type EngineServer,
  grants,
} from "../support/servers/engine-server.ts";
import { until } from "../support/until.ts";
import { at } from "../support/http-client.ts";

const EVERYTHING = ["create", "read", "update", "patch", "delete", "list", "sudo"];

async function twoTeams(t: Parameters<typeof engineServer>[0]): Promise<EngineServer> {
  const server = await engineServer(t);
  await server.namespaces("a", "b", "a/below");
  for (const namespace of ["a", "b"]) await server.counting("count", { ttl: 3600 }, namespace);
  return server;
}

test("T-D02: a lease of one namespace is nothing in another, through every route and alias", async (t) => {
  const server = await twoTeams(t);
  const { id, object } = await server.issue("count/creds/r", { namespace: "b" });
  const insider = await server.client(grants("*", ...EVERYTHING), {}, "a");
  const bare = id.slice(0, id.lastIndexOf("."));
  const before = dataOf(await server.lookup(id, { namespace: "b" }));
  for (const [token, namespace] of [
    [insider, "a"],
    [server.root, "a"],
    [insider, "a/below"],
  ] as const) {
    const ask = (method: string, path: string, body?: object) =>
      server.ask(method, path, body, { token, namespace });
    for (const sent of [id, bare]) {
      for (const [method, path, body] of [
        ["POST", "sys/leases/lookup", { lease_id: sent }],
        ["POST", "sys/leases/renew", { lease_id: sent }],
        ["POST", `sys/leases/renew/${sent}`, {}],
        ["POST", "sys/renew", { lease_id: sent }],
        ["POST", `sys/renew/${sent}`, {}],
        ["POST", "sys/leases/revoke", { lease_id: sent, sync: true }],
        ["POST", `sys/leases/revoke/${sent}`, { sync: true }],
        ["POST", "sys/revoke", { lease_id: sent, sync: true }],
        ["POST", `sys/revoke/${sent}`, { sync: true }],
        ["POST", `sys/leases/revoke-prefix/${sent}`, { sync: true }],
        ["POST", `sys/leases/revoke-force/${sent}`, {}],
        ["POST", `sys/revoke-prefix/${sent}`, { sync: true }],
        ["POST", `sys/revoke-force/${sent}`, {}],
      ] as const) {
        const answer = await ask(method, path, body);
        // The whole id says whose it is; of a part nobody knows. Revoking what one does not know is a
        // success, of nothing.
        const revokes = path.includes("revoke");
        const whole = sent === id && !/prefix|force/.test(path);
        const allowed = whole ? [403] : revokes ? [202, 204, 400, 403, 404] : [400, 403, 404];
        assert.ok(allowed.includes(answer.status), `${method} ${path}: ${answer.text}`);
        if (!revokes) assert.ok(!answer.text.includes("expire_time"), answer.text);
      }
    }
    const listed = await ask("LIST", "sys/leases/lookup/count/creds/r");
    assert.ok(!listed.text.includes(id.split("/").at(-1) ?? ""), listed.text);
  }
  for (let i = 0; i < 10; i++) await server.ask("GET", "sys/health");
  assert.equal(server.outside.has(object), true);
  assert.deepEqual(dataOf(await server.lookup(id, { namespace: "b" })), before, "untouched");
});

test("T-D03: a namespace that is deleted revokes what it had issued, also after a crash at any step", async (t) => {
  const server = await twoTeams(t);
  const leases = [];
  for (let i = 0; i < 30; i++) leases.push(await server.issue("count/creds/r", { namespace: "a" }));
  const others = await server.issue("count/creds/r", { namespace: "b" });
  await server.must("DELETE", "sys/namespaces/a/below");
  await until(async () => (await server.ask("GET", "sys/namespaces/a/below")).status === 404);
  // It dies after each few revocations, and once before the first.
  for (const [round, after] of [0, 7, 8, 9].entries()) {
    let left = after;
    server.outside.happen("revoke", () => (left-- <= 0 ? server.outside.stuck() : undefined));
    if (round === 0) {
      assert.equal((await server.ask("DELETE", "sys/namespaces/a")).status, 202);
    } else {
      await server.restart(); // it goes on by itself
    }
    await until(() => left < 0);
    for (const path of ["a/count/roles/r", "a/count/creds/r", "a/sys/mounts"]) {
      const meanwhile = await server.ask("GET", path);
      assert.ok([403, 404].includes(meanwhile.status), `${path}: ${meanwhile.text}`);
    }
    await server.die();
  }
  await server.restart();
  await until(() => server.outside.objects.length === 1);
  assert.deepEqual(server.outside.objects, [others.object]);
  for (const { object } of leases) assert.equal(server.outside.removals(object), 1);
  const kept = () =>
    server.storedKeys("count/creds").filter((key) => !key.includes("/receipts/")).length;
  await until(() => kept() <= 8);
  const again = await server.lookup(others.id, { namespace: "b" });
  assert.equal(again.status, 200);
});

test("T-D04: a token of a child namespace takes its leases with it, in each namespace", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("a", "a/below");
  for (const namespace of ["a", "a/below"]) await server.counting("count", {}, namespace);
  const rules = grants("count/creds/r", "read") + grants("below/count/creds/r", "read");
  const token = await server.clientToken(rules, {}, "a");
  const issued: string[] = [];
  for (const namespace of ["a", "a/below"]) {
    const answer = await server.ask("GET", "count/creds/r", undefined, {
      namespace,
      token: token.secret,
    });
    assert.equal(answer.status, 200, answer.text);
    issued.push(String(at(answer, "lease_id")));
  }
  assert.equal(server.outside.objects.length, 2);
  const body = { accessor: token.accessor };
  await server.must("POST", "auth/token/revoke-accessor", body, { namespace: "a" });
  await until(() => server.outside.objects.length === 0);
  for (const [i, namespace] of ["a", "a/below"].entries()) {
    await until(async () => !(await server.isThere(issued[i] ?? "", namespace)));
  }
});

test("T-D08: a bulk delete with one path that is not the caller's is refused as a whole", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("a", "b");
  for (const namespace of ["a", "b"]) {
    await server.enable("kv", "kv", {}, namespace);
    for (const key of ["one", "two"]) {
      await server.must("POST", `kv/data/${key}`, { data: { of: namespace } }, { namespace });
    }
  }
  const token = await server.client(
    grants("kv/bulk-delete", "update", "create") + grants("kv/data/one", "delete"),
    {},
    "a",
  );
  for (const paths of [
    ["one", "two"],
    ["one", "b/kv/data/two"],
    ["one", "../b/two"],
    ["one", ""],
  ]) {
    const answer = await server.ask("POST", "kv/bulk-delete", { paths }, { namespace: "a", token });
    assert.ok([400, 403].includes(answer.status), `${paths.join()}: ${answer.text}`);
  }
  for (const namespace of ["a", "b"]) {
    for (const key of ["one", "two"]) {
      const read = await server.ask("GET", `kv/data/${key}`, undefined, { namespace });
      assert.deepEqual(dataOf(read)["data"], { of: namespace });
    }
  }
});

test("T-D09: the same path of the same kind of mount in two namespaces is never the other's", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("a", "b");
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  for (const namespace of ["a", "b"]) await server.enable("kv", "kv", {}, namespace);
  const at = (namespace: string) => ({ namespace, agent });
  const write = (namespace: string, i: number) =>
    server.must("POST", "kv/data/same", { data: { of: namespace, i } }, at(namespace));
  const read = async (namespace: string) =>
    dataOf(await server.ask("GET", "kv/data/same", undefined, at(namespace)))["data"];
  for (const namespace of ["a", "b"]) await write(namespace, 0);
  for (let i = 1; i <= 100; i++) {
    const [ofA, ofB] = await Promise.all([read("a"), read("b"), write("a", i), write("b", -i)]);
    assert.equal((ofA as { of: string }).of, "a");
    assert.equal((ofB as { of: string }).of, "b");
    assert.deepEqual(await read("a"), { of: "a", i });
    assert.deepEqual(await read("b"), { of: "b", i: -i });
  }
});
