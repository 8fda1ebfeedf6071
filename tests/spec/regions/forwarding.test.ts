// What a request does in a region that leaves shared data to another one: cases of docs/cases/replication.md,
// and what else holds for a request that is sent on.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { EMPTY } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Way } from "../../../src/cluster/memory-carrier.ts";
import { answerForwarded } from "../../../src/forwarding/answering.ts";
import type { ForwardedRequest, SentCaller } from "../../../src/forwarding/messages.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  MEMBER,
  type TwoRegions,
  twoRegions,
} from "../../support/replication/regions/two-regions.ts";
import type { TestServer } from "../../support/servers/test-server.ts";

const RULES = 'path "sys/mounts" { capabilities = ["read"] }';
const WRITER = 'path "kv/*" { capabilities = ["create", "read", "update"] }';
const ADDRESS = "192.0.2.7";

function writePolicy(server: TestServer, token: string, policy = RULES, name = "p") {
  return server.call("POST", `/v1/sys/policies/acl/${name}`, { token, body: { policy } });
}

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.ok(got.status === 200 || got.status === 204, got.text);
  return got;
}

/** A token of this region alone, or of all. */
async function newToken(server: TestServer, token: string, fields: object): Promise<string> {
  const body = { Type: "client", Policies: ["p"], ...fields };
  return String(at(await done(server.call("POST", "/v1/acl/token", { token, body })), "SecretID"));
}

/** With a shared key/value mount, and a token of the second region alone that may write there. */
async function withWriter({ a, b, root }: TwoRegions): Promise<string> {
  const body = { type: "kv", options: { version: "1" } };
  await done(a.call("POST", "/v1/sys/mounts/kv", { token: root, body }));
  await done(writePolicy(a, root, WRITER));
  return newToken(b, root, {});
}

async function recordsOf(server: TestServer, token: string) {
  const path = join(server.auditDirectory, "log");
  const body = { type: "file", local: true, options: { file_path: path } };
  await done(server.call("POST", "/v1/sys/audit/file", { token, body }));
  return (place: string) =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line.includes(`"path":"${place}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("R-65: a policy that is written in the first region is there in the second", async (t) => {
  const { a, b, root } = await twoRegions(t);
  await done(writePolicy(a, root));
  const read = await done(b.call("GET", "/v1/sys/policies/acl/p", { token: root }));
  assert.equal(at(read, "data", "policy"), RULES);
});

test("R-66: a policy that is written in the second region is written once, by the first, and is to be seen at return", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const [there, here] = [await recordsOf(a, root), await recordsOf(b, root)];
  await done(writePolicy(b, root));
  for (const region of [a, b]) {
    const read = await done(region.call("GET", "/v1/sys/policies/acl/p", { token: root }));
    assert.equal(at(read, "data", "policy"), RULES);
  }
  const place = "sys/policies/acl/p";
  const written = (records: Record<string, unknown>[]) =>
    records.filter(({ request }) => (request as { operation: string }).operation === "update");
  const from = (records: Record<string, unknown>[]) =>
    written(records).map(({ type, forwarded_from: name }) => [type, name]);
  assert.deepEqual(from(there(place)), [
    ["request", MEMBER],
    ["response", MEMBER],
  ]);
  assert.deepEqual(from(here(place)), [
    ["request", ""],
    ["response", ""],
  ]);
  const ids = (records: Record<string, unknown>[]) =>
    written(records).map(({ request }) => (request as { id: string }).id);
  assert.deepEqual(ids(there(place)), ids(here(place)), "one request");
});

test("R-67: a write that has not come back in time succeeds, and warns of it", async (t) => {
  const regions = await twoRegions(t);
  const { b, root, primary } = regions;
  regions.hold();
  primary.hurries = true;
  const written = await done(writePolicy(b, root));
  assert.equal(primary.waited, 2n * SECOND);
  assert.match(String(at(written, "warnings", "0")), /not to be seen here yet/);
  assert.equal((await b.call("GET", "/v1/sys/policies/acl/p", { token: root })).status, 404);
  await regions.release();
  await done(b.call("GET", "/v1/sys/policies/acl/p", { token: root }));
});

test("R-67: for how long a write waits until it is to be seen is a setting", async (t) => {
  const settings = { replication: { best_effort_wal_wait: "5s" } };
  const regions = await twoRegions(t, { b: { settings } });
  const { b, root, primary } = regions;
  regions.hold();
  primary.hurries = true;
  await done(writePolicy(b, root));
  assert.equal(primary.waited, 5n * SECOND);
});

test("R-68: with the primary out of reach a write is refused, and not done later; what is local goes on", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  await regions.cut();
  const refused = await writePolicy(b, root);
  assert.equal(refused.status, 503, refused.text);
  assert.equal(refused.headers["x-service-error"], "primary_unreachable");
  assert.equal(refused.headers["retry-after"], "5");
  const token = await newToken(b, root, {});
  await done(b.call("GET", "/v1/acl/token/self", { token }));
  await regions.join();
  await regions.apply();
  for (const region of [a, b]) {
    assert.equal((await region.call("GET", "/v1/sys/policies/acl/p", { token: root })).status, 404);
  }
});

test("R-68: a primary that is lost before it answers is asked once, and nobody claims that nothing was done", async (t) => {
  const lost = Promise.withResolvers<void>();
  let sent = 0;
  let isLost = false;
  const way: Way = {
    connect: async () => {},
    pass: async (to) => {
      if (!isLost) return;
      if (to === "server") sent++;
      else await lost.promise; // the answer never comes
    },
  };
  const regions = await twoRegions(t, { way });
  const { a, b, root } = regions;
  isLost = true;
  const writing = writePolicy(b, root);
  const isThere = () => a.call("GET", "/v1/sys/policies/acl/p", { token: root });
  while ((await isThere()).status !== 200);
  await regions.cut();
  const refused = await writing;
  assert.equal(refused.status, 503);
  assert.equal(refused.headers["x-service-error"], "primary_lost");
  assert.equal(refused.headers["retry-after"], undefined, "nobody is to try it again unseen");
  assert.equal(sent, 1);
  lost.resolve();
});

test("R-69: a local mount of either region is nobody else's", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const body = { type: "kv", local: true, options: { version: "1" } };
  await done(a.call("POST", "/v1/sys/mounts/ofa", { token: root, body }));
  await done(b.call("POST", "/v1/sys/mounts/ofb", { token: root, body }));
  const [one, other] = [{ x: 1 }, { x: 2 }];
  await done(a.call("POST", "/v1/ofa/s", { token: root, body: one }));
  await done(b.call("POST", "/v1/ofb/s", { token: root, body: other }));
  assert.equal((await b.call("GET", "/v1/ofa/s", { token: root })).status, 404);
  assert.equal((await a.call("GET", "/v1/ofb/s", { token: root })).status, 404);
  assert.equal(at(await done(b.call("GET", "/v1/ofb/s", { token: root })), "data", "x"), 2);
});

test("R-71: a global token that is made in the second region is good in both", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const token = await newToken(b, root, { Global: true });
  for (const region of [a, b]) {
    const self = await done(region.call("GET", "/v1/acl/token/self", { token }));
    assert.equal(at(self, "Global"), true);
  }
});

test("R-72: a token of one region is nobody in the other", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const token = await newToken(b, root, {});
  await done(b.call("GET", "/v1/acl/token/self", { token }));
  assert.equal((await a.call("GET", "/v1/acl/token/self", { token })).status, 403);
});

test("R-73: a global token that was deleted elsewhere is refused as soon as that has come", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  const token = await newToken(a, root, { Global: true });
  const self = await done(b.call("GET", "/v1/acl/token/self", { token }));
  await regions.cut();
  regions.hold();
  await done(a.call("DELETE", `/v1/acl/token/${String(at(self, "AccessorID"))}`, { token: root }));
  await done(b.call("GET", "/v1/acl/token/self", { token }));
  await regions.release();
  assert.equal((await b.call("GET", "/v1/acl/token/self", { token })).status, 403);
});

test("R-74: a bootstrap in the second region is refused as it is in the first", async (t) => {
  const { a, b } = await twoRegions(t);
  const [one, other] = [
    await a.call("POST", "/v1/acl/bootstrap"),
    await b.call("POST", "/v1/acl/bootstrap"),
  ];
  assert.equal(one.status, 400);
  assert.deepEqual([other.status, other.text], [one.status, one.text]);
  assert.equal(other.headers["x-service-error"], one.headers["x-service-error"]);
});

test("whoever has a token of the second region writes shared data by the policies that the first has", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  const token = await withWriter(regions);
  await done(b.call("POST", "/v1/kv/s", { token, body: { x: 1 } }));
  for (const region of [a, b]) {
    assert.equal(at(await done(region.call("GET", "/v1/kv/s", { token: root })), "data", "x"), 1);
  }
  regions.hold();
  await done(writePolicy(a, root, RULES));
  const refused = await b.call("POST", "/v1/kv/s", { token, body: { x: 2 } });
  assert.equal(refused.status, 403, "the policy that the second still has would let it");
  assert.equal(at(await done(a.call("GET", "/v1/kv/s", { token: root })), "data", "x"), 1);
});

test("a long body goes on as it came", async (t) => {
  const { a, b, root } = await twoRegions(t);
  await done(
    a.call("POST", "/v1/sys/mounts/kv", {
      token: root,
      body: { type: "kv", options: { version: "1" } },
    }),
  );
  const x = "ä".repeat(200_000);
  await done(b.call("POST", "/v1/kv/s", { token: root, body: { x } }));
  assert.equal(at(await done(a.call("GET", "/v1/kv/s", { token: root })), "data", "x"), x);
});

test("what is done in a namespace is done in it there, whichever way it is named", async (t) => {
  const { a, b, root } = await twoRegions(t);
  await done(b.call("POST", "/v1/sys/namespaces/team", { token: root, body: {} }));
  const body = { policy: RULES };
  const namespace = "team";
  await done(b.call("POST", "/v1/sys/policies/acl/one", { token: root, body, namespace }));
  await done(b.call("POST", "/v1/team/sys/policies/acl/two", { token: root, body }));
  const list = await done(a.call("LIST", "/v1/team/sys/policies/acl", { token: root }));
  const keys = at(list, "data", "keys") as string[];
  assert.ok(keys.includes("one") && keys.includes("two"), list.text);
});

test("A-108 a management token of the second region alone is refused for what is shared, and says which would be taken", async (t) => {
  const { b, root } = await twoRegions(t);
  const token = await newToken(b, root, { Type: "management", Policies: [] });
  const refused = await writePolicy(b, token);
  assert.equal(refused.status, 403);
  assert.match(refused.text, /use a global token/);
  const body = { Type: "client", Policies: ["p"], Global: true };
  const made = await b.call("POST", "/v1/acl/token", { token, body });
  assert.equal(made.status, 403, made.text);
  await done(b.call("POST", "/v1/acl/token", { token, body: { ...body, Global: false } }));
});

test("an answer that is to be wrapped is wrapped in the region that was asked", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const headers = { "X-Service-Wrap-TTL": "60" };
  const body = { Type: "client", Policies: ["p"], Global: true };
  const wrapped = await done(b.call("POST", "/v1/acl/token", { token: root, body, headers }));
  const token = String(at(wrapped, "wrap_info", "token"));
  assert.equal((await a.call("POST", "/v1/sys/wrapping/unwrap", { token })).status, 400);
  const inside = await done(b.call("POST", "/v1/sys/wrapping/unwrap", { token }));
  assert.equal(at(inside, "data", "Global"), true);
});

test("a login runs where it was asked; one whose tokens are global, where those are written", async (t) => {
  const { a, b, root } = await twoRegions(t);
  for (const scope of ["local", "global"]) {
    const config = { token_scope: scope };
    const body = { type: "userpass", config: {}, options: config };
    await done(b.call("POST", `/v1/sys/auth/${scope}`, { token: root, body }));
    const user = { password: "correct horse battery" };
    await done(b.call("POST", `/v1/auth/${scope}/users/me`, { token: root, body: user }));
    const login = await done(b.call("POST", `/v1/auth/${scope}/login/me`, { body: user }));
    const token = String(at(login, "auth", "client_token"));
    await done(b.call("GET", "/v1/auth/token/lookup-self", { token }));
    const { status } = await a.call("GET", "/v1/auth/token/lookup-self", { token });
    assert.equal(status, scope === "global" ? 200 : 403);
  }
});

const NOBODY: ForwardedRequest = {
  id: "8a04cf50-ad40-4ae9-ba6d-0822b0189662",
  verb: "GET",
  target: "/sys/mounts",
  namespace: "",
  credential: "",
  attested: null,
  body: EMPTY,
  contentType: "",
  headers: [],
  address: ADDRESS,
  port: 1,
  wrapTtl: 0n,
  isWrappedAsJwt: false,
  wrapsItself: true,
  policyOverride: false,
  clusterId: "b",
};
const CALLER: SentCaller = {
  accessor: "11111111-2222-4333-8444-555555555555",
  name: "",
  policies: ["p"],
  namespaceId: "root",
  namespacePath: "",
  created: 0n,
  expires: 0n,
  isWithoutDefault: false,
  origin: null,
  terms: null,
};

function forwarded(
  { server }: TestServer,
  request: Partial<ForwardedRequest>,
  { namedRegion = false, signal = new AbortController().signal } = {},
) {
  const sender = { member: MEMBER, signal, namedRegion };
  return answerForwarded(server.forwarded, { ...NOBODY, ...request }, sender);
}

test("R-75: whom a secondary vouches for can do nothing but write what is shared, and nothing that its policies do not let it", async (t) => {
  const regions = await twoRegions(t);
  const { a } = regions;
  await withWriter(regions);
  const body = Buffer.from('{"x":1}');
  const write = { verb: "POST", target: "/kv/s", body, attested: CALLER };
  assert.equal((await forwarded(a, write)).refused, null);
  const codes = await Promise.all(
    [
      { ...write, target: "/sys/policies/acl/p" },
      { ...write, target: "/cubbyhole/s" },
      { verb: "GET", target: "/cubbyhole/s", attested: CALLER },
      { ...write, attested: { ...CALLER, policies: [] } },
      { ...write, attested: { ...CALLER, expires: 1n } },
      { ...write, attested: { ...CALLER, namespaceId: "other" } },
      { ...write, attested: { ...CALLER, namespacePath: "other" } },
      { ...write, attested: null },
    ].map(async (request) => (await forwarded(a, request)).refused?.code),
  );
  assert.deepEqual(codes, [
    "permission-denied",
    "not-attested",
    "not-attested",
    "permission-denied",
    "invalid-token",
    "invalid-token",
    "invalid-token",
    "missing-token",
  ]);
  await assert.rejects(forwarded(a, { ...write, credential: "x" }), /malformed/);
  await assert.rejects(forwarded(a, { ...write, id: "x" }), /malformed/);
  for (const address of [
    "",
    "x",
    "192.0.2.7\n",
    "fe80::1%\n",
    "192.0.2.7:1",
    "1".repeat(300_000),
  ]) {
    await assert.rejects(forwarded(a, { ...write, address }), /malformed/);
  }
  await assert.rejects(forwarded(a, { ...write, wrapsItself: false }), /malformed/); // it is wrapped where it was asked
  await assert.rejects(forwarded(a, write, { namedRegion: true }), /malformed/);
});

test("what a secondary sends on with a token that is known here does nothing but write what is shared, and a region is named in the ACL API alone", async (t) => {
  const { a, root } = await twoRegions(t);
  const body = { type: "kv", local: true, options: { version: "1" } };
  await done(a.call("POST", "/v1/sys/mounts/own", { token: root, body }));
  const credential = root;
  const requests = [
    { verb: "GET", target: "/own/s" },
    { verb: "POST", target: "/own/s", body: Buffer.from('{"x":1}') },
    { verb: "LIST", target: "/own/" },
    { verb: "GET", target: "/acl/tokens" },
    { verb: "POST", target: "/acl/token", body: Buffer.from('{"Type":"management"}') },
    { verb: "POST", target: "/sys/seal" },
    { verb: "GET", target: "/sys/storage/raft/snapshot" },
  ];
  for (const request of requests) {
    const { refused } = await forwarded(a, { ...request, credential });
    assert.match(refused?.code ?? "", /^not.shared$/, request.target);
  }
  const named = { namedRegion: true };
  for (const target of ["/own/s", "/sys/mounts", "/sys/storage/raft/snapshot"]) {
    const { refused } = await forwarded(a, { verb: "GET", target, credential }, named);
    assert.equal(refused?.code, "not-shared", target);
  }
  const tokens = { verb: "GET", target: "/acl/tokens", credential };
  assert.equal((await forwarded(a, tokens, named)).refused, null);
});

test("what a secondary has sent that is a member no more is not written", async (t) => {
  const regions = await twoRegions(t);
  const { a, root } = regions;
  await withWriter(regions);
  const body = Buffer.from('{"x":1}');
  const write = { verb: "POST", target: "/kv/s", body, credential: root };
  const { refused } = await forwarded(a, write, { signal: AbortSignal.abort() });
  assert.equal(refused?.code, "place-changed");
  assert.equal((await a.call("GET", "/v1/kv/s", { token: root })).status, 404);
});

test("a request that was sent on is not sent on again", async (t) => {
  const { b, root } = await twoRegions(t);
  const { refused } = await forwarded(b, { credential: root });
  assert.equal(refused?.kind, "looping");
  assert.equal(refused.code, "forwarded-twice");
});

test("what comes by another cluster is never taken for one from this machine", async (t) => {
  const { a } = await twoRegions(t);
  const started = { verb: "POST", target: "/sys/generate-root/attempt", address: "127.0.0.1" };
  assert.equal((await forwarded(a, started)).refused?.kind, "denied");
});

test("a member says which cluster it is once, at its hello: another one in a request is malformed", async (t) => {
  const { a } = await twoRegions(t);
  const from = { ...a.server.forwarded, clusterOf: (id: string) => (id === MEMBER ? "b" : "") };
  const { signal } = new AbortController();
  const send = (clusterId: string, member = MEMBER) =>
    answerForwarded(from, { ...NOBODY, clusterId }, { member, signal, namedRegion: false });
  assert.equal((await send("b")).refused?.kind, "denied");
  await assert.rejects(send("SPOOFED"), /malformed/);
  await assert.rejects(send("b", "region-c"), /malformed/);
});

test("who tries out tokens through another cluster is slowed down, whatever addresses that invents; who has one is not", async (t) => {
  const { a, root } = await twoRegions(t);
  const named = { namedRegion: true };
  const kinds = new Set<string | undefined>();
  for (let n = 0; n < 200 && !kinds.has("rate-limited"); n++) {
    const request = { credential: `wrong-${n}`, address: `192.0.2.${n}`, wrapsItself: false };
    kinds.add((await forwarded(a, { target: "/acl/token/self", ...request }, named)).refused?.kind);
  }
  assert.deepEqual([...kinds], ["denied", "rate-limited"]);
  const request = { target: "/acl/token/self", credential: root, wrapsItself: false };
  assert.equal((await forwarded(a, request, named)).refused, null);
});
