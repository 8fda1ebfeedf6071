// What is a part of the server, in the eyes of everybody who has to know: the declarations, quotas, audit records,
// names of mounts and of namespaces.

import assert from "node:assert/strict";
import test from "node:test";
import { homeOf, isPart, RESERVED_NAMES } from "../../src/endpoint/parts.ts";
import { surface } from "../../src/surface.ts";
import { auditLines, scene } from "../threats/scene.ts";

const OPEN_KEYS = "identity/oidc/plugins/.well-known/keys";

test("whatever the server declares by itself begins with one of its parts, and each part has something", () => {
  const own = surface.filter(({ file }) => !file.startsWith("engines/"));
  const firsts = new Set(
    own.flatMap(({ endpoints }) => endpoints.map(({ path }) => path.split("/")[1] ?? "")),
  );
  for (const first of firsts) {
    assert.ok(isPart(first), first);
    assert.notEqual(homeOf([first]).point, "", first);
    assert.ok(RESERVED_NAMES.has(first), first);
  }
  assert.deepEqual([...firsts].toSorted(), ["acl", "auth", "identity", "sys"]);
});

test("no mount and no namespace is called like a part", async (t) => {
  const stage = await scene(t);
  for (const name of RESERVED_NAMES) {
    const mount = { token: stage.root, body: { type: "kv" } };
    const mounted = await stage.server.call("POST", `/v1/sys/mounts/${name}`, mount);
    assert.ok([400, 403].includes(mounted.status), name);
    const made = await stage.server.call("POST", `/v1/sys/namespaces/${name}`, {
      token: stage.root,
    });
    assert.equal(made.status, 400, name);
  }
});

test("a rate quota holds on every part, whole or on one path, and records name it", async (t) => {
  const stage = await scene(t);
  const file = await stage.audit();
  const places: readonly [quota: string, request: string, point: string][] = [
    ["acl/", "acl/token/self", "acl/"],
    ["auth/token/", "auth/token/lookup-self", "auth/token/"],
    [OPEN_KEYS, OPEN_KEYS, "identity/"],
    ["identity/", OPEN_KEYS, "identity/"],
    ["sys/", "sys/key-status", "sys/"], // last: it counts its own deletion
  ];
  // No request belongs to the whole of auth/: such a quota would count nothing.
  const all = { token: stage.root, body: { path: "auth/", rate: 3 } };
  assert.equal((await stage.server.call("POST", "/v1/sys/quotas/rate-limit/q", all)).status, 400);
  for (const [path, requestPath, point] of places) {
    const quota = "/v1/sys/quotas/rate-limit/q";
    await stage.must("POST", quota, { body: { path, rate: 3, interval: "1h" } });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const answer = await stage.server.call("GET", `/v1/${requestPath}`, { token: stage.root });
      statuses.push(answer.status);
    }
    assert.ok(statuses.includes(429), `${path}: ${statuses.join(" ")}`);
    assert.ok(statuses[0] !== 429, path);
    if (path !== "sys/") await stage.must("DELETE", quota);
    const records = auditLines(file).filter(({ request }) => request.path === requestPath);
    assert.ok(records.length > 0, requestPath);
    for (const { request } of records) assert.equal(request.mount_point, point);
  }
});
