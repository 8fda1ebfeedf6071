// Threats of several letters where a second region has what is shared of the first: what is changed in one counts in the other, what is
// of one is nothing in the other, and nobody gets the rights of the cluster that passes a request on.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test, { type TestContext } from "node:test";
import { everyEndpoint } from "../../src/surface.ts";
import { type Answer, at, type CallOptions } from "../support/http-client.ts";
import type { Cluster } from "../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  regionInSync,
  startPerformancePrimaryBehind,
} from "../support/replication/performance.ts";
import type { TcpProxy } from "../support/replication/tcp-proxy.ts";
import { twoRegions } from "../support/replication/regions/two-regions.ts";
import type { TestServer } from "../support/servers/test-server.ts";
import { until } from "../support/until.ts";
import { rule } from "./scene.ts";

const SECRET = "/v1/secret/data/x";
const READS = rule("secret/data/*", ["read"]);
const DENIES = rule("secret/data/*", ["deny"]);

interface Regions {
  readonly a: Cluster;
  readonly b: Cluster;
  readonly way: TcpProxy;
  /** Of both. */
  readonly root: string;
}

/** With a secret that is shared. */
async function regions(t: TestContext): Promise<Regions> {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  await a.put("x", { n: "1" });
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  return { a, b, way, root: a.token };
}

async function must(
  server: TestServer,
  token: string,
  path: string,
  body: object,
): Promise<Answer> {
  const answer = await server.call("POST", path, { token, body });
  assert.ok(answer.status < 300, `${path}: ${answer.text}`);
  return answer;
}

function writePolicy(server: TestServer, token: string, policy: string): Promise<Answer> {
  return must(server, token, "/v1/sys/policies/acl/p", { policy });
}

async function newToken(server: TestServer, token: string, fields: object = {}): Promise<string> {
  const body = { Type: "client", Policies: ["p"], Global: true, ...fields };
  return String(at(await must(server, token, "/v1/acl/token", body), "SecretID"));
}

async function statusOf({ server }: Cluster, token: string, path = SECRET): Promise<number> {
  return (await server.call("GET", path, { token })).status;
}

test("T-A20: a policy that is changed or deleted counts in the other region with the first look at it, and after a cut when it is healed", async (t) => {
  const { a, b, way, root } = await regions(t);
  await writePolicy(a.server, root, READS);
  const token = await newToken(a.server, root);
  await until(async () => (await statusOf(b, token)) === 200);
  const text = async () => {
    const read = await b.server.call("GET", "/v1/sys/policies/acl/p", { token: root });
    return read.status === 404 ? null : at(read, "data", "policy");
  };
  await writePolicy(a.server, root, DENIES);
  await until(async () => (await text()) === DENIES);
  assert.equal(await statusOf(b, token), 403, "whoever sees the text is judged by it");
  await writePolicy(b.server, root, READS); // at the primary, and visible at return
  assert.equal(await statusOf(b, token), 200);
  way.cut();
  await writePolicy(a.server, root, DENIES);
  assert.equal(await statusOf(b, token), 200, "a cut does not stop a region: what it knows last");
  way.heal();
  await until(async () => (await statusOf(b, token)) === 403);
  await writePolicy(a.server, root, READS);
  await until(async () => (await statusOf(b, token)) === 200);
  const gone = await a.server.call("DELETE", "/v1/sys/policies/acl/p", { token: root });
  assert.equal(gone.status, 204, gone.text);
  await until(async () => (await text()) === null);
  assert.equal(await statusOf(b, token), 403);
});

test("T-B02: a token of one region is nobody in another, also while nothing can be sent on, and as a parent or by its accessor", async (t) => {
  const { a, b, way, root } = await regions(t);
  await writePolicy(a.server, root, READS);
  await regionInSync(a, b);
  const own = new Map<Cluster, string>();
  for (const one of [a, b]) own.set(one, await newToken(one.server, root, { Global: false }));
  const looks = async () => {
    for (const [home, token] of own) {
      const foreign = home === a ? b : a;
      assert.equal(await statusOf(home, token), 200);
      for (const path of [SECRET, "/v1/acl/token/self", "/v1/auth/token/lookup-self"]) {
        assert.equal(await statusOf(foreign, token, path), 403, path);
      }
      const body = { data: { n: "2" } };
      const written = await foreign.server.call("POST", SECRET, { token, body });
      assert.equal(written.status, 403, "before anybody is asked");
    }
  };
  await looks();
  const ofA = own.get(a)!;
  const passed = await b.server.call("GET", "/v1/acl/token/self?region=a", { token: ofA });
  assert.equal(passed.status, 200, "the region that it is of knows it");
  const named = await b.server.call("GET", "/v1/acl/token/self?region=a", { token: own.get(b)! });
  assert.equal(named.status, 403);
  const accessor = String(at(passed, "AccessorID"));
  const read = await b.server.call("GET", `/v1/acl/token/${accessor}`, { token: root });
  assert.equal(read.status, 404);
  way.cut();
  await looks();
});

test("T-B04: whoever shows no token, or one that nobody knows, is nobody wherever a request is passed on", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const open = new Set<string>(["open", "ceremony"]);
  const before = a.server.store.index;
  let count = 0;
  for (const endpoint of everyEndpoint) {
    const { method, path, access } = endpoint;
    if (open.has(access.kind) || path.startsWith("/sys/replication/dr/secondary/")) continue;
    const filled = path.replaceAll(/:[a-z_]+\+?/gi, "x");
    const region = path.startsWith("/acl/") ? "?region=a" : "";
    const body = method === "POST" ? { body: {} } : {};
    for (const token of [undefined, randomUUID()]) {
      for (const target of new Set([filled, filled + region])) {
        const options: CallOptions = { token, ...body };
        const answer = await b.call(method, `/v1${target}`, options);
        const here = await a.call(method, `/v1${filled}`, options);
        const what = `${method} ${target}: ${answer.text}`;
        assert.equal(answer.status, here.status, what);
        assert.ok(answer.status >= 400, what);
        count++;
      }
    }
  }
  assert.ok(count > 400, `${count}`);
  assert.equal(a.server.store.index, before, "nothing was written");
  const denied = await b.call("POST", "/v1/sys/policies/acl/p", { body: { policy: READS } });
  assert.equal(denied.status, 403);
  const written = await b.call("POST", "/v1/sys/policies/acl/p", {
    token: root,
    body: { policy: READS },
  });
  assert.ok(written.status < 300, "the same with a token is sent on and done");
  assert.notEqual(a.server.store.index, before);
});

test("T-C02: the very first request in another region is judged by a program that has come, also after it was sealed, and when it is promoted", async (t) => {
  const { a, b, root } = await regions(t);
  await writePolicy(a.server, root, READS);
  const token = await newToken(a.server, root);
  const program = (path: string) => ({
    policy: `request.path != "secret/data/${path}"`,
    enforcement_level: "hard-mandatory",
    paths: ["*"],
  });
  const write = (path: string) => must(a.server, root, "/v1/sys/policies/egp/e", program(path));
  const text = async () =>
    String(
      at(await b.server.call("GET", "/v1/sys/policies/egp/e", { token: root }), "data", "policy"),
    );
  await until(async () => (await statusOf(b, token)) === 200);
  await write("x");
  await until(async () => (await text()) === program("x").policy);
  assert.equal(await statusOf(b, token), 403);
  await write("y");
  await until(async () => (await text()) === program("y").policy);
  assert.deepEqual(
    [await statusOf(b, token), await statusOf(b, token, "/v1/secret/data/y")],
    [200, 403],
  );
  await write("x");
  await regionInSync(a, b);
  const firstAfterUnseal = async () => {
    const sealed = await b.server.call("POST", "/v1/sys/seal", { token: root });
    assert.equal(sealed.status, 204, sealed.text);
    assert.equal(await statusOf(b, token), 503);
    await b.server.unseal(a.opened.shares);
    assert.equal(await statusOf(b, token), 403);
  };
  await firstAfterUnseal();
  await regionInSync(a, b);
  assert.equal((await perf(a, "primary/demote")).status, 200);
  const promoted = await perf(b, "secondary/promote", {}, root);
  assert.equal(promoted.status, 200, promoted.text);
  assert.equal(await statusOf(b, token), 403, "the first one that it judges as a primary");
  assert.equal(await statusOf(b, token, "/v1/secret/data/y"), 404);
  await firstAfterUnseal();
});

test("T-F11: nothing that is stored in another region can be read there, whatever it is of", async (t) => {
  const { a, b, root } = await regions(t);
  const word = (n: number) => `canary${String(n).padStart(6, "0")}q`;
  await a.put("y", { [word(1)]: word(2) });
  await writePolicy(a.server, root, rule(`secret/data/${word(3)}`, ["read"]));
  await must(a.server, root, "/v1/sys/auth/userpass", { type: "userpass" });
  await must(a.server, root, `/v1/auth/userpass/users/${word(4)}`, { password: word(5) });
  const token = await newToken(a.server, root, { Name: word(6) });
  await regionInSync(a, b);
  await must(b.server, root, `/v1/secret/data/${word(7)}`, { data: { n: word(8) } });
  const own = await newToken(b.server, root, { Name: word(9), Global: false });
  const kept = await b.server.call("POST", `/v1/cubbyhole/${word(10)}`, {
    token: own,
    body: { n: word(11) },
  });
  assert.ok(kept.status < 300 || kept.status === 403, kept.text);
  await must(b.server, root, `/v1/cubbyhole/${word(10)}`, { n: word(11) });
  const secrets = [token, own, root, ...a.opened.shares];
  const { store } = b.server.server;
  const all = { limit: Number.MAX_SAFE_INTEGER };
  const rows = ["shared/", "local/", "core/"].flatMap((prefix) => store.rows(prefix, all));
  const values = [
    ...rows.map(({ value }) => value),
    ...store.logs(store.tail!.first, Infinity).map(({ entry }) => entry),
  ];
  assert.ok(rows.length > 50 && values.length > rows.length);
  const texts = values.map((bytes) => Buffer.from(bytes).toString("latin1"));
  // A word that any row had would be found: here is one that has.
  const looks = (some: readonly string[], word: string) =>
    some.some((text) =>
      ["utf8", "base64", "hex"].some((form) =>
        text.includes(
          Buffer.from(word)
            .toString(form as BufferEncoding)
            .replace(/=+$/, ""),
        ),
      ),
    );
  assert.ok(looks([...texts, `x${word(2)}`], word(2)));
  for (let n = 1; n <= 11; n++) {
    // Names of secrets are part of keys, which entries of the log have as well.
    if ([4, 7, 10].includes(n)) continue;
    assert.equal(looks(texts, word(n)), false, word(n));
  }
  for (const secret of secrets) assert.equal(looks(texts, secret), false, "a secret");
});
