// Enabling, reading and listing mounts, what overlaps, what is protected,
// and which requests go where.

import assert from "node:assert/strict";
import test from "node:test";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import {
  absent,
  dataOf,
  done,
  engineServer,
  grants,
  HOUR,
  refused,
} from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";
import { startServer } from "../../support/servers/test-server.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

test("a mount is enabled without an answer and shown with all its members", async (t) => {
  const server = await engineServer(t);
  await server.enable("store", "kv", { description: "for apps" });
  const mount = dataOf(await server.ask("GET", "sys/mounts/store"));
  const { accessor, uuid, ...rest } = mount;
  assert.match(String(accessor), /^kv_[0-9a-f]{8}$/);
  assert.match(String(uuid), UUID);
  assert.deepEqual(rest, {
    type: "kv",
    description: "for apps",
    local: false,
    seal_wrap: false,
    external_entropy_access: false,
    options: { version: "2" },
    config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
    plugin_version: "",
    running_plugin_version: "v1.0.0+builtin",
    running_sha256: "",
    deprecation_status: "supported",
  });
  const all = await server.ask("GET", "sys/mounts");
  assert.deepEqual(dataOf(all)["store/"], mount);
  assert.deepEqual(at(all, "store/"), mount, "older clients read it at the top");
  assert.equal((dataOf(all)["cubbyhole/"] as { type: string }).type, "cubbyhole");
  // A slash at the end of what is asked for means the same mount.
  await server.enable("with/several/segments", "kv", { options: { version: "1" } });
  const several = dataOf(await server.ask("GET", "sys/mounts/with/several/segments"));
  assert.deepEqual(several["options"], { version: "1" });
  assert.ok("with/several/segments/" in dataOf(await server.ask("GET", "sys/mounts")));
});

test("what a mount is told at its making is kept, durations in seconds", async (t) => {
  const server = await engineServer(t);
  const config = {
    default_lease_ttl: "90m",
    max_lease_ttl: 7200,
    force_no_cache: true,
    audit_non_hmac_request_keys: ["a"],
    audit_non_hmac_response_keys: ["b", "c"],
    listing_visibility: "unauth",
    passthrough_request_headers: ["X-One"],
    allowed_response_headers: ["X-Two"],
  };
  await server.enable("store", "kv", { config, local: true });
  const mount = dataOf(await server.ask("GET", "sys/mounts/store"));
  assert.equal(mount["local"], true);
  assert.deepEqual(mount["config"], { ...config, default_lease_ttl: 5400 });
});

test("a mount may not equal, lie inside or contain another, nor be a namespace: 409", async (t) => {
  const server = await engineServer(t);
  await server.enable("a/b", "kv");
  await server.namespaces("team");
  for (const path of ["a/b", "a", "a/b/c", "a/b/c/d", "team", "team/x"]) {
    const answer = await server.ask("POST", `sys/mounts/${path}`, { type: "kv" });
    // Below a namespace's path the request is that namespace's own.
    if (path === "team/x") assert.notEqual(answer.status, 204);
    else assert.equal(answer.status, 409, `${path}: ${answer.text}`);
  }
  for (const path of ["a/bc", "a/c", "ab"]) await server.enable(path, "kv");
  // And the reverse: a namespace may not take the path of a mount.
  for (const path of ["ab", "a"]) {
    const answer = await server.ask("POST", `sys/namespaces/${path}`, {});
    assert.ok([400, 409].includes(answer.status), `${path}: ${answer.text}`);
  }
  const { keys } = dataOf(await server.ask("LIST", "sys/namespaces"));
  assert.deepEqual(keys, ["team/"]);
});

test("protected names cannot be mounted on, removed or tuned: 403", async (t) => {
  const server = await engineServer(t);
  const before = dataOf(await server.ask("GET", "sys/mounts"));
  for (const name of ["sys", "auth", "audit", "cubbyhole", "identity", "acl"]) {
    for (const path of [name, `${name}/x`]) {
      const answer = await server.ask("POST", `sys/mounts/${path}`, { type: "kv" });
      assert.equal(answer.status, 403, `${path}: ${answer.text}`);
    }
  }
  for (const [method, path] of [
    ["DELETE", "sys/mounts/cubbyhole"],
    ["POST", "sys/mounts/cubbyhole/tune"],
  ] as const) {
    const answer = await server.ask(
      method,
      path,
      method === "POST" ? { description: "x" } : undefined,
    );
    assert.ok([400, 403].includes(answer.status), `${method} ${path}: ${answer.text}`);
  }
  assert.deepEqual(dataOf(await server.ask("GET", "sys/mounts")), before);
  await server.enable("system", "kv"); // only the whole segment is protected
});

test("what cannot be mounted is refused and nothing is left behind", async (t) => {
  const server = await engineServer(t);
  const before = dataOf(await server.ask("GET", "sys/mounts"));
  for (const [path, body] of [
    ["x", {}],
    ["x", { type: "" }],
    ["x", { type: "nothing-such" }],
    ["x", { type: "cubbyhole" }],
    ["x", { type: "kv", options: { version: "3" } }],
    ["x", { type: "kv", options: { colour: "blue" } }],
    ["x", { type: "counting", options: { version: "2" } }],
    ["x", { type: "kv", config: { default_lease_ttl: "2h", max_lease_ttl: "1h" } }],
    ["x", { type: "kv", config: { default_lease_ttl: "-1h" } }],
    ["x", { type: "kv", config: { default_lease_ttl: "soon" } }],
    ["x", { type: "kv", config: { listing_visibility: "everyone" } }],
    ["x", { type: "userpass" }],
    ["x", { type: "kv", config: 5 }],
  ] as const) {
    const answer = await server.ask("POST", `sys/mounts/${path}`, body);
    assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
  }
  assert.deepEqual(dataOf(await server.ask("GET", "sys/mounts")), before);
  absent(await server.ask("GET", "sys/namespaces/x"));
});

test("what is not mounted: reading is 400, removing succeeds", async (t) => {
  const server = await engineServer(t);
  assert.equal((await server.ask("GET", "sys/mounts/none")).status, 400);
  assert.equal((await server.ask("GET", "sys/mounts/none/tune")).status, 400);
  assert.equal((await server.ask("POST", "sys/mounts/none/tune", {})).status, 400);
  done(await server.ask("DELETE", "sys/mounts/none"));
});

test("a request goes to the mount of its first segments and to no other", async (t) => {
  const server = await engineServer(t);
  for (const path of ["a/b", "a/bc", "z"]) {
    await server.enable(path, "kv", { options: { version: "1" } });
    await server.must("POST", `${path}/key`, { of: path });
  }
  for (const path of ["a/b", "a/bc", "z"]) {
    assert.deepEqual(dataOf(await server.ask("GET", `${path}/key`)), { of: path });
  }
  for (const path of ["a/key", "a", "b/key", "a/bcd/key", "none/key"]) {
    assert.equal((await server.ask("GET", path)).status, 404, path);
  }
  // Who has no right is not told that there is nothing (6.5 step 1).
  const client = await server.client(grants("a/b/*", "read"));
  refused(
    await server.ask("GET", "none/key", undefined, { token: client }),
    403,
    "permission denied",
  );
  assert.equal((await server.ask("GET", "a/b/key", undefined, { token: client })).status, 200);
  assert.equal((await server.ask("GET", "a/bc/key", undefined, { token: client })).status, 403);
});

test("the same path in two namespaces is two mounts, and neither is seen from the other", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("one", "two", "one/below");
  const uuids = new Set<unknown>();
  for (const namespace of ["one", "two", "one/below"]) {
    await server.enable("kv", "kv", { options: { version: "1" } }, namespace);
    await server.must("POST", "kv/key", { of: namespace }, { namespace });
    const read = await server.ask("GET", "sys/mounts/kv", undefined, { namespace });
    uuids.add(dataOf(read)["uuid"]);
  }
  assert.equal(uuids.size, 3);
  for (const namespace of ["one", "two", "one/below"]) {
    const byHeader = await server.ask("GET", "kv/key", undefined, { namespace });
    const byPath = await server.ask("GET", `${namespace}/kv/key`);
    for (const answer of [byHeader, byPath]) assert.deepEqual(dataOf(answer), { of: namespace });
  }
  assert.equal((await server.ask("GET", "kv/key")).status, 404);
  assert.ok(!("kv/" in dataOf(await server.ask("GET", "sys/mounts"))));
  const listed = await server.ask("GET", "sys/mounts", undefined, { namespace: "one" });
  assert.ok("cubbyhole/" in dataOf(listed), "every namespace has its own");
});

test("mounts, their options and their data are there after a crash", async (t) => {
  const server = await engineServer(t);
  await server.enable("one", "kv", { options: { version: "1" }, description: "first" });
  await server.counting("two", { ttl: 60 });
  await server.must("POST", "one/key", { a: "1" });
  const before = dataOf(await server.ask("GET", "sys/mounts"));
  await server.crash();
  assert.deepEqual(dataOf(await server.ask("GET", "sys/mounts")), before);
  assert.deepEqual(dataOf(await server.ask("GET", "one/key")), { a: "1" });
  assert.equal(dataOf(await server.ask("GET", "two/roles/r"))["ttl"], 60);
});

test("tune shows what holds, in seconds, and changes what is given", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const system = Number((768n * HOUR) / 1_000_000_000n);
  const first = dataOf(await server.ask("GET", "sys/mounts/count/tune"));
  assert.equal(first["default_lease_ttl"], system);
  assert.equal(first["max_lease_ttl"], system);
  assert.equal(first["force_no_cache"], false);
  assert.equal(first["description"], "");
  done(
    await server.ask("POST", "sys/mounts/count/tune", {
      default_lease_ttl: "10m",
      max_lease_ttl: "1h",
      description: "told",
    }),
  );
  done(await server.ask("POST", "sys/mounts/count/tune", { listing_visibility: "hidden" }));
  const then = dataOf(await server.ask("GET", "sys/mounts/count/tune"));
  assert.equal(then["default_lease_ttl"], 600);
  assert.equal(then["max_lease_ttl"], 3600);
  assert.equal(then["description"], "told");
  assert.equal(then["listing_visibility"], "hidden");
  assert.equal((await server.issue()).seconds, 600);
  for (const body of [
    { max_lease_ttl: "5m" },
    { default_lease_ttl: "2h" },
    { listing_visibility: "loud" },
    { options: { version: "9" } },
  ]) {
    const answer = await server.ask("POST", "sys/mounts/count/tune", body);
    assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
  }
  // 0 gives the system's value back.
  done(
    await server.ask("POST", "sys/mounts/count/tune", { default_lease_ttl: 0, max_lease_ttl: 0 }),
  );
  assert.equal(dataOf(await server.ask("GET", "sys/mounts/count/tune"))["max_lease_ttl"], system);
});

test("a lifetime of a mount is whole seconds: none becomes 0, the server's, or a looser one by rounding", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  done(await server.ask("POST", "sys/auth/people", { type: "userpass" }));
  const refusal = /_lease_ttl must be a number of seconds, .* in whole seconds/;
  for (const ttl of ["500ms", "1ns", "999999999ns", "1500ms", "1.5s"]) {
    for (const field of ["default_lease_ttl", "max_lease_ttl"]) {
      const body = { [field]: ttl };
      refused(await server.ask("POST", "sys/mounts/count/tune", body), 400, refusal);
      refused(await server.ask("POST", "sys/auth/people/tune", body), 400, refusal);
      const made = await server.ask("POST", "sys/mounts/new", { type: "kv", config: body });
      refused(made, 400, refusal);
    }
  }
  done(await server.ask("POST", "sys/mounts/count/tune", { max_lease_ttl: "1000ms" }));
  assert.equal(dataOf(await server.ask("GET", "sys/mounts/count/tune"))["max_lease_ttl"], 1);
});

test("rights on mounts are the capabilities on sys/mounts; auth mounts need sudo besides", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const every = ["create", "read", "update", "delete", "list"];
  const operator = await server.client(
    grants("sys/mounts/*", ...every) + grants("sys/auth/*", ...every),
  );
  const nobody = await server.client(grants("kv/*", ...every));
  const ask = (method: string, path: string, token: string, body?: object) =>
    server.ask(method, path, body, { token });
  done(await ask("POST", "sys/mounts/more", operator, { type: "kv" }));
  done(await ask("POST", "sys/mounts/more/tune", operator, { description: "x" }));
  done(await ask("DELETE", "sys/mounts/more", operator));
  for (const [method, path, body] of [
    ["GET", "sys/mounts", undefined],
    ["GET", "sys/mounts/kv", undefined],
    ["POST", "sys/mounts/more", { type: "kv" }],
    ["POST", "sys/mounts/kv/tune", {}],
    ["DELETE", "sys/mounts/kv", undefined],
  ] as const) {
    refused(await ask(method, path, nobody, body), 403, "permission denied");
  }
  for (const [method, path, body] of [
    ["POST", "sys/auth/people", { type: "userpass" }],
    ["POST", "sys/auth/people/tune", {}],
    ["DELETE", "sys/auth/people", undefined],
    ["POST", "sys/remount", { from: "kv", to: "kw" }],
  ] as const) {
    refused(await ask(method, path, operator, body), 403, "permission denied");
  }
});

test("what is mounted from the start is mounted once: removed, it stays away", async (t) => {
  const disk = new MemoryDisk();
  const dev = { rootToken: null };
  let server = await startServer({ disk, dev });
  t.after(() => server.stop());
  const { token, shares } = await server.open();
  const mounts = async () => {
    const answer = await server.call("GET", "/v1/sys/mounts", { token });
    return Object.keys(dataOf(answer));
  };
  assert.ok((await mounts()).includes("secret/"));
  const read = await server.call("GET", "/v1/sys/mounts/secret", { token });
  assert.deepEqual(dataOf(read)["options"], { version: "2" });
  done(await server.call("DELETE", "/v1/sys/mounts/secret", { token }));
  await server.crash();
  server = await startServer({ disk, dev });
  await server.unseal(shares);
  assert.ok(!(await mounts()).includes("secret/"));
  const plain = await engineServer(t);
  assert.ok(!("secret/" in dataOf(await plain.ask("GET", "sys/mounts"))), "of dev mode alone");
});
