// What names a region with `?region=` in one that leaves shared data to another one.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";

const GLOBAL = { Type: "client", Policies: ["p"], Global: true };

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.equal(got.status, 200, got.text);
  return got;
}

test("A-115 a write of a global token that names a region that nobody knows is refused, and nothing is done", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const made = await done(b.call("POST", "/v1/acl/token", { token, body: GLOBAL }));
  const id = String(at(made, "AccessorID"));
  const tokens = async () => (await done(a.call("GET", "/v1/acl/tokens", { token }))).json;
  const before = await tokens();
  const body = { ...GLOBAL, AccessorID: id, Name: "changed" };
  const cas = `cas=${String(at(made, "ModifyIndex"))}`;
  for (const server of [b, a]) {
    for (const [verb, path] of [
      ["POST", "/v1/acl/token?region=gamma"],
      ["POST", `/v1/acl/token/${id}?region=gamma`],
      ["POST", `/v1/acl/token/${id}?${cas}&region=gamma`],
      ["DELETE", `/v1/acl/token/${id}?region=gamma`],
      ["DELETE", `/v1/acl/token/${id}?${cas}&region=gamma`],
    ] as const) {
      const sent = verb === "DELETE" ? {} : { body: path.includes(id) ? body : GLOBAL };
      const refused = await server.call(verb, path, { token, ...sent });
      assert.equal(refused.status, 404, `${verb} ${path}: ${refused.text}`);
      assert.match(refused.text, /No path to region/);
      assert.equal(refused.headers["x-service-error"], "no_region_path");
    }
  }
  assert.deepEqual(await tokens(), before);
});

test("A-115 the same with the primary out of reach: an unknown region is told from one that is not reached", async (t) => {
  const regions = await twoRegions(t);
  const { b, root: token } = regions;
  await regions.cut();
  const create = (region: string) =>
    b.call("POST", `/v1/acl/token?region=${region}`, { token, body: GLOBAL });
  assert.equal((await create("gamma")).status, 404);
  for (const region of ["a", "b"]) {
    const refused = await create(region);
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.headers["x-service-error"], "primary_unreachable");
    assert.equal(refused.headers["retry-after"], "5");
  }
});

test("what names the other region and is to be wrapped is wrapped in the region that was asked", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const headers = { "X-Service-Wrap-TTL": "60" };
  const body = { Type: "client", Policies: ["p"] };
  for (const [verb, path, sent] of [
    ["GET", "/v1/acl/token/self?region=a", {}],
    ["POST", "/v1/acl/token?region=a", { body }],
  ] as const) {
    const wrapped = await done(b.call(verb, path, { token, headers, ...sent }));
    assert.ok(!wrapped.text.includes("SecretID"));
    const wrapping = String(at(wrapped, "wrap_info", "token"));
    const elsewhere = await a.call("POST", "/v1/sys/wrapping/unwrap", { token: wrapping });
    assert.equal(elsewhere.status, 400, "the first region has nothing of it");
    const inside = await done(b.call("POST", "/v1/sys/wrapping/unwrap", { token: wrapping }));
    const secret = String(at(inside, "data", "SecretID"));
    await done(a.call("GET", "/v1/acl/token/self", { token: secret }));
  }
});

test("whose answer of the other region cannot be kept here is refused before anything is done", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const fields = { Type: "management", Policies: [] };
  const made = await done(a.call("POST", "/v1/acl/token", { token: root, body: fields }));
  const token = String(at(made, "SecretID")); // nobody in the second region
  const body = { Type: "client", Policies: ["p"] };
  const count = async () =>
    ((await done(a.call("GET", "/v1/acl/tokens", { token: root }))).json as unknown[]).length;
  const before = await count();
  const headers = { "X-Service-Wrap-TTL": "60" };
  const refused = await b.call("POST", "/v1/acl/token?region=a", { token, body, headers });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /leave X-Service-Wrap-TTL out/);
  const long = { "X-Service-Wrap-TTL": "100000h" };
  const late = { token: root, body, headers: long };
  assert.equal((await b.call("POST", "/v1/acl/token?region=a", late)).status, 400);
  assert.equal(await count(), before);
  await done(b.call("POST", "/v1/acl/token?region=a", { token, body }));
});

test("what the other region answers has the index of that region", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const body = { Type: "client", Policies: ["p"] };
  for (let i = 0; i < 5; i++) await done(b.call("POST", "/v1/acl/token", { token, body }));
  const rules = { Name: "p", Rules: 'path "sys/mounts" { capabilities = ["read"] }' };
  await done(b.call("POST", "/v1/acl/policy/p", { token, body: rules }));
  for (const path of ["/v1/acl/policies", "/v1/acl/policy/p", "/v1/acl/replication"]) {
    const index = async (server: typeof a, at: string) =>
      (await done(server.call("GET", at, { token }))).headers["x-service-index"];
    const [there, here] = [await index(a, path), await index(b, path)];
    assert.notEqual(here, there, "else nothing is compared");
    assert.equal(await index(b, `${path}?region=a`), there);
  }
});

test("two credentials are refused alike, whichever region is named", async (t) => {
  const { b, root: token } = await twoRegions(t);
  const headers = { Authorization: "Bearer another" };
  for (const path of ["/v1/acl/token/self", "/v1/acl/token/self?region=a"]) {
    const refused = await b.call("GET", path, { token, headers });
    assert.equal(refused.status, 400, refused.text);
  }
});

test("what is wrong with the primary has the same word on /acl/ as elsewhere", async (t) => {
  const regions = await twoRegions(t);
  const { b, root: token } = regions;
  await regions.cut();
  const refused = [
    await b.call("POST", "/v1/acl/token", { token, body: GLOBAL }),
    await b.call("GET", "/v1/acl/tokens?region=a", { token }),
    await b.call("POST", "/v1/sys/policies/acl/p", { token, body: { policy: "" } }),
  ];
  assert.deepEqual(
    refused.map(({ status, headers }) => [status, headers["x-service-error"]]),
    refused.map(() => [503, "primary_unreachable"]),
  );
});
