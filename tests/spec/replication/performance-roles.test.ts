// Cases of docs/cases/replication.md with the kind performance: promotion, demotion, another primary, leaving.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { type Cluster, inSync, joined } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  performanceOf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  startPerformancePrimaryBehind,
  withRoot,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

async function put(cluster: Cluster, path: string, token: string): Promise<Answer> {
  const body = { data: { n: "1" } };
  return await cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body });
}

async function read(cluster: Cluster, path: string, token: string): Promise<Answer> {
  return await cluster.server.call("GET", `/v1/secret/data/${path}`, { token });
}

async function pair(t: TestContext) {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  return { a, b, root: a.token };
}

function warnings(answer: Answer): string {
  return JSON.stringify(at(answer, "warnings"));
}

test("R-5: what belongs to a performance primary is refused on its secondary, and enabling it names promotion", async (t) => {
  const { b, root } = await pair(t);
  const enable = await perf(b, "primary/enable", {}, root);
  is(enable, 400, "replication_promote_instead");
  assert.match(enable.text, /performance\/secondary\/promote/);
  const token = await perf(b, "primary/secondary-token", { id: "c" }, root);
  is(token, 400, "replication_not_primary");
  assert.match(token.text, /performance replication/);
  for (const path of ["primary/demote", "primary/disable"]) {
    is(await perf(b, path, {}, root), 400, "replication_not_primary");
  }
  is(await perf(b, "primary/revoke-secondary", { id: "c" }, root), 400, "replication_not_primary");
  is(await perf(b, "secondary/enable", { token: "x" }, root), 400, "replication_role_taken");
});

test("R-5: what belongs to a performance secondary is refused on a primary", async (t) => {
  const a = await startPerformancePrimary(t);
  for (const path of ["secondary/promote", "secondary/disable"]) {
    is(await perf(a, path), 400, "replication_not_secondary");
  }
  for (const token of ["", "no token"]) {
    is(await perf(a, "secondary/update-primary", { token }), 400, "replication_not_secondary");
  }
});

test("a write of shared data at a secondary is done by the primary, and is to be seen at both", async (t) => {
  const { a, b, root } = await pair(t);
  is(await put(b, "through", root), 200);
  is(await read(b, "through", root), 200);
  is(await read(a, "through", root), 200);
});

test("R-47, R-49: a performance secondary is not promoted beside its primary; after the demotion it is, writes, and its epoch is the next", async (t) => {
  const { a, b, root } = await pair(t);
  const beside = await perf(b, "secondary/promote", {}, root);
  is(beside, 400, "replication_promotion_refused");
  assert.match(beside.text, /primary-gone/);
  const demoted = await perf(a, "primary/demote");
  is(demoted, 200);
  assert.match(warnings(demoted), /region-b/);
  const waits = await perfStatus(a);
  assert.deepEqual(
    [waits["mode"], waits["state"], waits["secondary_id"], waits["primaries"]],
    ["secondary", "idle", "", []],
  );
  is(await put(a, "refused", root), 503, "no_primary");
  await until(async () => (await perfStatus(b))["forwards_writes"] === false);
  is(await b.server.call("GET", "/v1/acl/tokens?region=a", { token: root }), 503);
  is(await read(a, "x", root), 404);
  is(await perf(b, "secondary/promote", {}, root), 200);
  const status = await perfStatus(b);
  assert.deepEqual(
    [status["mode"], status["state"], status["epoch"], status["known_secondaries"]],
    ["primary", "running", 2, []],
  );
  is(await put(b, "x", root), 200);
  const token = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token }, root), 200);
  await regionInSync(b, a);
  is(await read(a, "x", root), 200);
  is(await put(a, "y", root), 200);
  is(await read(b, "y", root), 200);
});

/** Entries that no other region is sent: its indexes are behind then. */
async function writeLocally(cluster: Cluster, token: string): Promise<void> {
  for (let i = 0; i < 60; i++) {
    is(await cluster.server.call("POST", "/v1/auth/token/create", { token, body: {} }), 200);
  }
}

test("R-49: the indexes of one that was promoted come behind all that its primary has used", async (t) => {
  const { a, b, root } = await pair(t);
  await writeLocally(a, root);
  is(await put(a, "last", root), 200);
  await regionInSync(a, b);
  const last = a.index;
  assert.ok(b.index < last, `${b.index} before ${last}`);
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  assert.ok(b.index > last, `${b.index} after ${last}`);
  is(await read(b, "last", root), 200);
});

test("R-46, R-48: one that is behind its primary is not promoted but by force, which says what it goes without", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  const root = a.token;
  way.cut();
  const refused = await perf(b, "secondary/promote", {}, root);
  is(refused, 400, "replication_promotion_refused");
  assert.equal((await perfStatus(b))["mode"], "secondary");
  const tried = await perf(b, "secondary/promote", { dry_run: true }, root);
  is(tried, 200);
  assert.equal(at(tried, "data", "ready"), false);
  const forced = await perf(b, "secondary/promote", { force: true }, root);
  is(forced, 200);
  assert.match(warnings(forced), /primary-gone/);
  is(await put(b, "x", root), 200);
});

test("a primary in whose place another was promoted hears of it when it is reached again, and leaves what is shared", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  const root = a.token;
  way.cut();
  is(await perf(b, "secondary/promote", { force: true }, root), 200);
  way.heal();
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  is(await put(a, "x", root), 503, "replication_fenced");
  const body = { Type: "client", Policies: ["p"], Global: true };
  is(
    await a.server.call("POST", "/v1/acl/token", { token: root, body }),
    503,
    "replication_fenced",
  );
  is(await a.server.call("GET", "/v1/sys/health"), 473);
  is(await put(b, "x", root), 200);
  is(await perf(a, "primary/demote", {}, root), 200);
  const token = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token }, root), 200);
  await regionInSync(b, a);
  is(await read(a, "x", root), 200);
});

test("R-54: what only the old performance primary has written of what is shared is counted, listed and kept, and the rest of its data stays", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = await joinedRegion(t, a);
  const root = a.token;
  is(await put(a, "both", root), 200);
  await regionInSync(a, b);
  way.cut();
  const fork = Number(performanceOf(b).applied);
  for (let i = 0; i < 10; i++) is(await put(a, `apart-${i}`, root), 200);
  is(await a.server.call("POST", "/v1/auth/token/create", { token: root, body: {} }), 200);
  is(await perf(b, "secondary/promote", { force: true }, root), 200);
  is(await put(b, "x", root), 200);
  way.heal();
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  is(await perf(a, "primary/demote", {}, root), 200);
  const token = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token }, root), 200);
  await regionInSync(b, a);
  is(await read(a, "x", root), 200);
  is(await read(a, "apart-0", root), 404);
  assert.equal((await perfStatus(a))["divergent_entries"], 10);
  const listed = await a.server.call("GET", "/v1/sys/replication/divergent", { token: root });
  is(listed, 200);
  const [tail, ...more] = at(listed, "data", "tails") as Record<string, unknown>[];
  assert.deepEqual([tail?.["kind"], tail?.["entries"], more], ["performance", 10, []]);
  assert.ok(Number(tail?.["fork"]) >= fork);
  const path = `/v1/sys/replication/divergent/${String(tail?.["id"])}`;
  const exported = await a.server.call("GET", path, { token: root });
  is(exported, 200);
  assert.equal(at(exported, "data", "more"), false);
  const entries = at(exported, "data", "entries") as { changed: string[] }[];
  assert.equal(entries.length, 10);
  const keys = entries.flatMap(({ changed }) => changed);
  assert.ok(keys.length >= 10 && keys.every((key) => key.startsWith("shared/")), keys.join());
  // What the next primary has applied here since is nobody's surplus: it is looked at once.
  is(await put(b, "later", root), 200);
  const again = await performanceToken(b, a, "region-a2", root);
  is(await perf(a, "secondary/update-primary", { token: again }, root), 200);
  await regionInSync(b, a);
  assert.equal((await perfStatus(a))["divergent_entries"], 10);
});

test("R-53: after a planned failover the old performance primary has given up nothing, and one that leads again goes by what it has written since", async (t) => {
  const { a, b, root } = await pair(t);
  is(await put(a, "first", root), 200);
  await regionInSync(a, b);
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  const there = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token: there }, root), 200);
  await regionInSync(b, a);
  assert.equal((await perfStatus(a))["divergent_entries"], 0);
  is(await put(b, "second", root), 200);
  await regionInSync(b, a);
  is(await perf(b, "primary/demote", {}, root), 200);
  is(await perf(a, "secondary/promote", {}, root), 200);
  is(await put(a, "third", root), 200);
  const back = await performanceToken(a, b, "region-b", root);
  is(await perf(b, "secondary/update-primary", { token: back }, root), 200);
  await regionInSync(a, b);
  is(await read(b, "third", root), 200);
  assert.equal((await perfStatus(b))["divergent_entries"], 0);
});

test("R-51: a demotion takes no write after its last one, and loses none before it", async (t) => {
  const { a, b, root } = await pair(t);
  const written: string[] = [];
  let isOver = false;
  const writer = (async () => {
    for (let i = 0; !isOver; i++) {
      const answer = await put(a, `w/${i}`, root);
      if (answer.status === 200) written.push(`w/${i}`);
      else assert.equal(answer.status, 503, answer.text);
    }
  })();
  await until(() => written.length > 5);
  is(await perf(a, "primary/demote"), 200);
  isOver = true;
  await writer;
  is(await perf(b, "secondary/promote", {}, root), 200);
  for (const path of written) is(await read(b, path, root), 200);
});

test("R-55: update-primary takes a token or addresses, one of them; an empty token follows nobody, and nobody is dialled", async (t) => {
  const { b, root } = await pair(t);
  const addresses = ["https://127.0.0.1:1"];
  const both = { token: "x", update_primary_addrs: addresses };
  is(await perf(b, "secondary/update-primary", both, root), 400, "replication_primary_named_twice");
  is(await perf(b, "secondary/update-primary", {}, root), 400, "replication_primary_unnamed");
  is(await perf(b, "secondary/update-primary", { token: "" }, root), 200);
  const { state, connection_state: link, secondary_id: id } = await perfStatus(b);
  assert.deepEqual([state, link, id], ["idle", undefined, ""]);
  assert.equal(performanceOf(b).upstream, null);
});

test("R-57: of several addresses the first is taken that proves to be the primary", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a, "b", { settings: { outbound_allow: ["127.0.0.1"] } });
  await regionInSync(a, b);
  const root = a.token;
  const other = await startPerformancePrimary(t);
  const whole = await other.server.call("GET", "/v1/sys/replication/performance/status", {
    token: other.token,
  });
  const foreign = String(at(whole, "data", "cluster_addr"));
  const { primary_cluster_addr: address } = await perfStatus(b);
  assert.ok(typeof address === "string");
  const dead = "https://127.0.0.1:1";
  const move = (...update_primary_addrs: string[]) =>
    perf(b, "secondary/update-primary", { update_primary_addrs }, root);
  const moved = await move(dead, foreign, address);
  is(moved, 200);
  assert.ok(warnings(moved).includes(address));
  await regionInSync(a, b);
  is(await move(dead, foreign), 502);
  await regionInSync(a, b);
});

test("R-58, R-59: a token of a primary that was superseded is refused, and so is one that is not reached; who was followed is still", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const root = a.token;
  const b = await joinedRegion(t, a, "b");
  const c = await joinedRegion(t, a, "c");
  await regionInSync(a, b);
  await regionInSync(a, c);
  const late = await performanceToken(a, c, "again", root);
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  const token = await performanceToken(b, c, "region-c", root);
  is(await perf(c, "secondary/update-primary", { token }, root), 200);
  await regionInSync(b, c);
  is(await perf(c, "secondary/update-primary", { token: late }, root), 400);
  way.cut();
  is(await put(b, "x", root), 200);
  await regionInSync(b, c);
});

test("R-60, R-61: a performance secondary that is disabled is a cluster of its own with the data that it has", async (t) => {
  const { a, b, root } = await pair(t);
  is(await put(a, "x", root), 200);
  await regionInSync(a, b);
  is(await b.server.call("POST", "/v1/sys/replication/performance/secondary/disable"), 403);
  is(await perf(b, "secondary/disable", {}, root), 200);
  assert.deepEqual(await perfStatus(b), { mode: "disabled" });
  is(await read(b, "x", root), 200);
  is(await put(b, "own", root), 200);
  is(await read(a, "own", root), 404);
  is(await perf(b, "primary/enable", {}, root), 200);
  assert.notEqual((await perfStatus(b))["cluster_id"], (await perfStatus(a))["cluster_id"]);
});

test("R-60: global tokens that are kept when a region leaves its set have a mark there, and nowhere else", async (t) => {
  const { a, b, root } = await pair(t);
  const make = async (cluster: typeof a, fields: object) => {
    const body = { Type: "client", Policies: ["p"], ...fields };
    const made = await cluster.server.call("POST", "/v1/acl/token", { token: root, body });
    is(made, 200);
    return String(at(made, "AccessorID"));
  };
  const kept = await make(a, { Global: true });
  const own = await make(b, {});
  await regionInSync(a, b);
  const marked = async (cluster: typeof a, query = "") => {
    const list = await cluster.server.call("GET", `/v1/acl/tokens${query}`, { token: root });
    is(list, 200);
    const found = list.json as { readonly AccessorID: string; readonly KeptFrom?: string }[];
    return new Map(found.map(({ AccessorID, KeptFrom }) => [AccessorID, KeptFrom]));
  };
  assert.deepEqual([...new Set((await marked(b)).values())], [undefined]);
  is(await perf(b, "secondary/disable", {}, root), 200);
  const later = await make(b, { Global: true });
  const there = await marked(b);
  assert.deepEqual(
    [there.get(kept), there.get(own), there.get(later)],
    ["a", undefined, undefined],
  );
  assert.deepEqual([...new Set((await marked(a)).values())], [undefined]);
  const filter = `?filter=${encodeURIComponent('KeptFrom == "a"')}`;
  const found = await marked(b, filter);
  assert.ok(found.has(kept) && !found.has(own) && !found.has(later));
  const read = await b.server.call("GET", `/v1/acl/token/${kept}`, { token: root });
  assert.equal(at(read, "KeptFrom"), "a");
  is(await b.server.call("DELETE", `/v1/acl/token/${kept}`, { token: root }), 200);
  assert.ok(!(await marked(b, filter)).has(kept));
  is(await a.server.call("GET", `/v1/acl/token/${kept}`, { token: root }), 200);
});

test("a performance secondary is a primary of disaster recovery: who stands in for it has what is shared and what is its own", async (t) => {
  const { a, b, root } = await pair(t);
  is(await b.dr("primary/enable", {}, root), 200);
  const own = withRoot(b, root);
  const standIn = await joined(t, own, "stand-in");
  is(await put(a, "x", root), 200);
  await regionInSync(a, b);
  await inSync(own, standIn);
  assert.deepEqual(await perfStatus(standIn), { mode: "disabled" }); // nothing of its own
  const operator = await standIn.operationToken(a.opened.shares);
  is(await perf(standIn, "secondary/disable", {}, operator), 503, "dr_secondary");
});

test("who stands in for a performance secondary follows it over its promotion, with the indexes that it passes over", async (t) => {
  const { a, b, root } = await pair(t);
  is(await b.dr("primary/enable", {}, root), 200);
  const own = withRoot(b, root);
  const standIn = await joined(t, own, "stand-in");
  await writeLocally(a, root);
  is(await put(a, "last", root), 200);
  await regionInSync(a, b);
  await inSync(own, standIn);
  const before = b.index;
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  assert.ok(b.index > before + 30n, `${b.index} after ${before}`);
  is(await put(b, "x", root), 200);
  await inSync(own, standIn);
});
