// Filters of performance replication: what a secondary is not sent, from the first byte on, and what becomes of what it has.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import test, { type TestContext } from "node:test";
import { hex } from "@holdfast/shared/bytes";
import { namespaceScope } from "../../../src/barrier/scope.ts";
import { SendingToPrimary } from "../../../src/forwarding/sending.ts";
import { WithheldHere } from "../../../src/replication/filters/withheld-here.ts";
import { at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  deleteFilter,
  deny,
  filterOf,
  makeNamespace,
  mountSecret,
  readFilter,
  request,
  scopeOfMount,
  secretAt,
  sharedRows,
  siftedRegion,
  storeOf,
  withheldAt,
} from "../../support/replication/filtered.ts";
import {
  joinedRegion,
  perf,
  performanceToken,
  startPerformancePrimary,
  startRegion,
  withRoot,
} from "../../support/replication/performance.ts";
import { captured } from "../../support/replication/regions/said.ts";
import { until } from "../../support/until.ts";

/** Of nobody. */
const KEY = Buffer.from(
  generateKeyPairSync("x25519").publicKey.export({ format: "der", type: "spki" }).subarray(-32),
).toString("base64");

async function regionOf(t: TestContext, a: Cluster, region = "b"): Promise<Cluster> {
  return withRoot(await joinedRegion(t, a, region), a.token);
}

test("R-76 what is denied before the first copy is never here, and R-78 comes when the filter goes", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  await mountSecret(a, "us");
  const made = await filterOf(a, "region-b", "deny", ["eu/"]);
  assert.equal(made.status, 200, made.text);
  assert.match(String(at(made, "warnings")), /no secondary is known by this id yet/);
  const b = await regionOf(t, a);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(await secretAt(b, "us"), "us");
  assert.equal(await secretAt(b, "eu"), null);
  const before = sharedRows(storeOf(b));
  const gone = await deleteFilter(a);
  assert.equal(gone.status, 204, gone.text);
  await siftedRegion(a, b);
  await until(async () => (await secretAt(b, "eu")) === "eu");
  const after = sharedRows(storeOf(b));
  for (const [key, row] of before) assert.equal(after.get(key), row);
});

test("R-77 what is denied while the region runs is gone there: found by no path, and then not there at all", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  await mountSecret(a, "us");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  assert.equal(await secretAt(b, "eu"), "eu");
  await deny(a, "eu/");
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(await secretAt(b, "eu"), null);
  assert.equal(await secretAt(b, "us"), "us");
  assert.equal(await secretAt(a, "eu"), "eu");
  // What is written later does not come either, and what is allowed does.
  const body = { of: "later" };
  assert.ok((await request(a, "POST", "eu/two", { body })).status < 300);
  assert.ok((await request(a, "POST", "us/one", { body })).status < 300);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(await secretAt(b, "us"), "later");
});

test("R-79 a filter names whole mounts that are shared, and namespaces", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "kv");
  const local = { type: "kv", local: true };
  assert.ok((await request(a, "POST", "sys/mounts/own", { body: local })).status < 300);
  const refused: [string, string[], RegExp][] = [
    ["deny", ["nowhere/"], /neither a shared mount nor a namespace/],
    ["deny", ["kv/one"], /whole mounts/],
    ["deny", ["own/"], /local to this cluster/],
    ["deny", ["sys/"], /built in/],
    ["deny", ["identity/"], /built in/],
    ["deny", ["auth/token/"], /built in/],
    ["deny", ["cubbyhole"], /built in/],
    ["deny", [""], /neither a shared mount/],
    ["sometimes", ["kv/"], /mode must be/],
  ];
  for (const [mode, paths, text] of refused) {
    const answer = await filterOf(a, "region-b", mode, paths);
    assert.equal(answer.status, 400, `${mode} ${paths.join()}: ${answer.text}`);
    assert.match(answer.text, text);
  }
  assert.equal((await readFilter(a)).status, 404);
  const none = await filterOf(a, "region-b", "allow", []);
  assert.equal(none.status, 200, none.text);
  assert.match(String(at(none, "warnings")), /no mount and no namespace is sent/);
});

test("R-80 a filter is read as it was made, and gone when it is deleted", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "kv");
  await makeNamespace(a, "ns1");
  await mountSecret(a, "kv", "ns1");
  assert.equal((await filterOf(a, "region-b", "deny", ["kv", "/ns1/kv/", "ns1"])).status, 200);
  const found = await readFilter(a);
  assert.equal(found.status, 200, found.text);
  assert.deepEqual(at(found, "data"), {
    id: "region-b",
    mode: "deny",
    paths: ["kv/", "ns1/kv/", "ns1/"],
  });
  assert.equal((await deleteFilter(a)).status, 204);
  assert.equal((await readFilter(a)).status, 404);
  assert.equal((await deleteFilter(a)).status, 204);
});

test("R-81 what is made in a denied namespace is withheld from its first byte on, and both sides show it", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "ns1");
  await mountSecret(a, "us");
  await deny(a, "ns1/");
  const b = await regionOf(t, a);
  await until(async () => (await secretAt(b, "us")) === "us");
  await mountSecret(a, "kv", "ns1");
  await makeNamespace(a, "ns1/below");
  await mountSecret(a, "deep", "ns1/below");
  const expected = {
    dynamic_filtered_mounts: ["ns1/below/deep/", "ns1/kv/"],
    dynamic_filtered_namespaces: ["ns1/", "ns1/below/"],
  };
  assert.deepEqual(await withheldAt(a, "primary"), expected);
  await until(async () => {
    const answer = await withheldAt(b, "secondary");
    return JSON.stringify(answer) === JSON.stringify(expected);
  });
  assert.equal(await secretAt(b, "kv", "ns1"), null);
  const other = "sys/replication/performance/secondary/dynamic-filter/region-c";
  assert.equal((await request(b, "GET", other)).status, 404);
});

test("R-81 who mounts all the time in a denied namespace keeps nothing from the region: its session goes on, and so does the log", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "ns1");
  await mountSecret(a, "us");
  await deny(a, "ns1/");
  const b = await regionOf(t, a);
  await until(async () => (await secretAt(b, "us")) === "us");
  const before = b.server.lines.length;
  for (let i = 0; i < 20; i++) {
    const path = `sys/mounts/kv${i}`;
    const where = { namespace: "ns1" };
    // Not waited for: the region is in the middle of it when the next is made.
    await request(a, "POST", path, { ...where, body: { type: "kv" } });
    await request(a, "POST", "us/one", { body: { of: String(i) } });
    if (i % 2 === 0) await request(a, "DELETE", path, where);
  }
  await until(async () => (await secretAt(b, "us")) === "19");
  assert.deepEqual(
    b.server.lines.slice(before).filter((line) => /sync-failed|replication\.idle/.test(line)),
    [],
  );
  assert.deepEqual(
    a.server.lines.filter((line) => line.includes("a call of a peer failed")),
    [],
  );
});

test("R-82 a denied mount that is renamed stays denied, and reading the filter says so", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  await deny(a, "eu/");
  const b = await regionOf(t, a);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  const moved = await request(a, "POST", "sys/remount", { body: { from: "eu", to: "europe" } });
  assert.ok(moved.status < 300, moved.text);
  await until(async () => (await secretAt(a, "europe")) === "eu");
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(await secretAt(b, "europe"), null);
  assert.match(String(at(await readFilter(a), "warnings")), /eu\/ is europe\/ now/);
});

test("R-81 what is made anew at the path of a denied mount or namespace that is gone is withheld from its first byte on, and reading the filter says so", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  await makeNamespace(a, "team");
  const former = await namespaceId(a, "team");
  await deny(a, "eu/", "team/");
  const b = await regionOf(t, a);
  await until(async () => (await request(b, "GET", "sys/mounts")).status === 200);
  assert.ok((await request(a, "DELETE", "sys/mounts/eu")).status < 300);
  assert.ok((await request(a, "DELETE", "sys/namespaces/team")).status < 300);
  assert.match(
    String(at(await readFilter(a), "warnings")),
    /eu\/ is gone; what is made there is withheld as well/,
  );
  const said = captured(t);
  const eu = await mountSecret(a, "eu");
  await until(async () => (await request(a, "GET", "sys/namespaces/team")).status === 404);
  await makeNamespace(a, "team");
  const inner = await mountSecret(a, "kv", "team");
  const us = await mountSecret(a, "us");
  await until(async () => (await secretAt(b, "us")) === "us");
  assert.deepEqual(await withheldAt(a, "primary"), {
    dynamic_filtered_mounts: ["eu/", "team/kv/"],
    dynamic_filtered_namespaces: ["team/"],
  });
  assert.deepEqual([said.has(us), said.has(eu), said.has(inner)], [true, false, false]);
  // The id of the one that is gone stays taken.
  const spaces = [former, await namespaceId(a, "team")].map((id) => hex(namespaceScope(id)));
  await siftedRegion(a, b, [scopeOfMount(eu), scopeOfMount(inner), ...spaces]);
});

test("R-81, R-82 what was made anew at a denied path stays denied when it is moved, also after a start, and reading the filter says so", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  await deny(a, "eu/");
  const b = await regionOf(t, a);
  const said = captured(t);
  assert.ok((await request(a, "DELETE", "sys/mounts/eu")).status < 300);
  const eu = await mountSecret(a, "eu");
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal((await request(a, "POST", "sys/seal")).status, 204);
  await a.server.unseal(a.opened.shares);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  const moved = await request(a, "POST", "sys/remount", { body: { from: "eu", to: "europe" } });
  assert.ok(moved.status < 300, moved.text);
  await until(async () => (await secretAt(a, "europe")) === "eu");
  const us = await mountSecret(a, "us");
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.deepEqual([await secretAt(b, "us"), await secretAt(b, "europe")], ["us", null]);
  assert.deepEqual([said.has(us), said.has(eu)], [true, false]);
  const found = await readFilter(a);
  assert.deepEqual(at(found, "data", "paths"), ["eu/"]);
  assert.match(String(at(found, "warnings")), /eu\/ is europe\/ now/);
});

test("a filter that is nobody's any more keeps no tree, and follows no commit", async (t) => {
  const a = await startPerformancePrimary(t);
  const uuids = [];
  for (const path of ["eu", "us", "asia"]) uuids.push(await mountSecret(a, path));
  const store = storeOf(a);
  const onLeaves = store.onLeaves.bind(store);
  let open = 0;
  store.onLeaves = (call) => {
    const end = onLeaves(call);
    open++;
    return () => {
      open--;
      end();
    };
  };
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  for (const [i, path] of ["eu/", "us/", "asia/"].entries()) {
    await deny(a, path);
    await siftedRegion(a, b, [scopeOfMount(uuids[i]!)]);
    assert.equal(open, 1);
  }
  await deleteFilter(a);
  await siftedRegion(a, b);
  assert.equal(open, 0);
});

test("R-80 a namespace goes along for the sake of a mount that is allowed in it, and no longer than there is that", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "team");
  const id = await namespaceId(a, "team");
  await mountSecret(a, "kv", "team");
  const us = await mountSecret(a, "us");
  assert.ok((await filterOf(a, "region-b", "allow", ["team/kv/", "us/"])).status < 300);
  const b = await regionOf(t, a);
  await until(async () => (await secretAt(b, "kv", "team")) === "kv");
  const gone = await request(a, "DELETE", "sys/mounts/kv", { namespace: "team" });
  assert.ok(gone.status < 300, gone.text);
  await until(async () => {
    const { dynamic_filtered_namespaces: found } = await withheldAt(b, "secondary");
    return JSON.stringify(found) === '["team/"]';
  });
  const isThere = () => [...sharedRows(storeOf(b)).keys()].some((key) => key.includes(`/${id}`));
  await until(() => !isThere());
  const said = captured(t);
  const policy = { policy: 'path "x" { capabilities = ["read"] }' };
  const made = await request(a, "PUT", "sys/policies/acl/later", {
    body: policy,
    namespace: "team",
  });
  assert.ok(made.status < 300, made.text);
  assert.ok((await request(a, "POST", "us/two", { body: { a: 1 } })).status < 300);
  await until(async () => (await request(b, "GET", "us/two")).status === 200);
  assert.deepEqual([said.has(us), said.has(`/${id}/`)], [true, false]);
});

test("R-84 a region that is not sent everything is promoted by force alone", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  await deny(a, "eu/");
  const b = await regionOf(t, a);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal((await perf(a, "primary/demote")).status, 200);
  await until(async () => {
    const answer = await perf(b, "secondary/promote");
    assert.equal(answer.status, 400, answer.text);
    return /a filter withholds/.test(answer.text);
  });
  const forced = await perf(b, "secondary/promote", { force: true });
  assert.equal(forced.status, 200, forced.text);
  assert.match(String(at(forced, "warnings")), /a filter withholds 1 mount/);
});

test("R-85 a filter goes by the id of the secondary, by that of its cluster, and by that of the set where there is one", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  const { status } = await filterOf(a, "region-b", "deny", ["eu/"]);
  assert.equal(status, 200);
  const cluster = b.server.server.performance.status;
  const own = at(await request(b, "GET", "sys/replication/performance/status"), "data");
  const { local_cluster_id: physical, cluster_id: set } = own as Record<string, string>;
  assert.ok(cluster !== null && physical !== undefined && set !== undefined);
  for (const id of [physical, set]) {
    const answer = await readFilter(a, id);
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await filterOf(a, id, "deny", ["eu/"])).status, 200);
  }
  await regionOf(t, a, "c");
  const ambiguous = await filterOf(a, set, "deny", ["eu/"]);
  assert.equal(ambiguous.status, 400, ambiguous.text);
  assert.equal((await filterOf(a, "region-c", "deny", ["eu/"])).status, 200);
});

test("a token for one that comes in the place of another has its filter, where that is asked for", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  await deny(a, "eu/");
  const token = (copy_filter_from: string, id: string) =>
    perf(a, "primary/secondary-token", { id, copy_filter_from, secondary_public_key: KEY });
  const none = await token("region-x", "region-d");
  assert.equal(none.status, 400, none.text);
  assert.match(none.text, /nobody with a filter/);
  assert.equal((await readFilter(a, "region-d")).status, 404);
  assert.equal((await token("region-b", "region-c")).status, 200);
  assert.deepEqual(at(await readFilter(a, "region-c"), "data", "paths"), ["eu/"]);
});

test("who is to follow a primary that withholds something from it is told before, and when it does", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  const other = await startRegion(t, "c");
  await filterOf(a, "region-c", "deny", ["eu/"]);
  const token = await performanceToken(a, other, "region-c");
  const joining = await perf(other, "secondary/enable", { token, dry_run: true });
  assert.match(
    String(at(joining, "warnings")),
    /withholds 1 mount or namespace from this cluster: they are not copied/,
  );
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  assert.equal((await perf(a, "primary/demote")).status, 200);
  assert.equal((await perf(b, "secondary/promote")).status, 200);
  const back = await performanceToken(b, a, "region-a", a.token);
  const follow = (dry_run: boolean) =>
    perf(a, "secondary/update-primary", { token: back, dry_run });
  const WITHHELD = /withholds 1 mount or namespace from this cluster: what is here of them goes/;
  assert.doesNotMatch((await follow(true)).text, WITHHELD);
  // By the id of the cluster, which has not come yet.
  assert.equal((await filterOf(b, await a.clusterId(), "deny", ["eu/"])).status, 200);
  for (const isTrial of [true, false]) {
    const said = await follow(isTrial);
    assert.equal(said.status, 200, said.text);
    assert.match(String(at(said, "warnings")), WITHHELD);
  }
});

test("R-80 a filter that does not say its mode allows what it names, and its answer says so", async (t) => {
  const a = await startPerformancePrimary(t);
  const path = "sys/replication/performance/primary/paths-filter/region-b";
  const unsaid = await request(a, "POST", path, { body: { paths: ["secret/"] } });
  assert.equal(unsaid.status, 200, unsaid.text);
  assert.match(String(at(unsaid, "warnings")), /mode was not said, and is allow/);
  assert.equal(at(await readFilter(a), "data", "mode"), "allow");
  const said = await filterOf(a, "region-b", "allow", ["secret/"]);
  assert.doesNotMatch(said.text, /was not said/);
  // What was to be named may have been an empty variable of a shell.
  const nothing = await filterOf(a, "region-b", "deny", []);
  assert.match(String(at(nothing, "warnings")), /nothing is named: everything is sent/);
});

test("with allow only what is named goes along, and the way to it", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "team");
  await makeNamespace(a, "team/inner");
  await makeNamespace(a, "other");
  await mountSecret(a, "us");
  await mountSecret(a, "kept", "team");
  await mountSecret(a, "named", "team/inner");
  await mountSecret(a, "beside", "team/inner");
  const made = await filterOf(a, "region-b", "allow", ["us/", "team/inner/named/"]);
  assert.equal(made.status, 200, made.text);
  const { dynamic_filtered_mounts: mounts, dynamic_filtered_namespaces: namespaces } =
    await withheldAt(a, "primary");
  const ofTeam = (mounts as string[]).filter((path) => path.startsWith("team/"));
  assert.deepEqual(ofTeam, ["team/inner/beside/", "team/kept/"]);
  assert.ok((mounts as string[]).includes("secret/") && !(mounts as string[]).includes("us/"));
  assert.deepEqual(namespaces, ["other/"]);
  const b = await regionOf(t, a);
  await until(async () => (await secretAt(b, "named", "team/inner")) === "named");
  assert.equal(await secretAt(b, "us"), "us");
  assert.equal(await secretAt(b, "beside", "team/inner"), null);
  assert.equal(await secretAt(b, "kept", "team"), null);
});

test("revoking a secondary takes its filter along", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  const made = await perf(a, "primary/secondary-token", {
    id: "region-b",
    secondary_public_key: KEY,
  });
  assert.equal(made.status, 200, made.text);
  await deny(a, "eu/");
  assert.equal((await perf(a, "primary/revoke-secondary", { id: "region-b" })).status, 204);
  assert.equal((await readFilter(a)).status, 404);
});

/** A mount of the region alone with one secret, which is its own path, in a namespace; and a token of its own that reads it. */
async function ownIn(b: Cluster, namespace: string): Promise<Cluster> {
  const body = { type: "kv", local: true, options: { version: "1" } };
  const mounted = await request(b, "POST", "sys/mounts/mine", { namespace, body });
  assert.equal(mounted.status, 204, mounted.text);
  const written = await request(b, "POST", "mine/one", { namespace, body: { of: "mine" } });
  assert.equal(written.status, 204, written.text);
  const policy = { policy: 'path "mine/*" { capabilities = ["read"] }' };
  const put = await request(b, "POST", "sys/policies/acl/own", { namespace, body: policy });
  assert.ok(put.status < 300, put.text);
  const made = await request(b, "POST", "auth/token/create", {
    namespace,
    body: { policies: ["own"], ttl: "1h" },
  });
  assert.equal(made.status, 200, made.text);
  return withRoot(b, String(at(made, "auth", "client_token")));
}

async function namespaceId(cluster: Cluster, path: string): Promise<string> {
  return String(at(await request(cluster, "GET", `sys/namespaces/${path}`), "data", "id"));
}

/** Rows that the region has of its own in a namespace. */
function ownRows(cluster: Cluster, id: string): number {
  const view = storeOf(cluster).view();
  try {
    const from = `local/ns/${id}/`;
    return view.rows({ from, to: `local/ns/${id}0`, limit: 1000 }).length;
  } finally {
    view.close();
  }
}

test("R-77 what a region has of its own in a namespace stays when that is denied: its mounts, and the tokens made there", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "team");
  const shared = await mountSecret(a, "shared", "team");
  const id = await namespaceId(a, "team");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  const own = await ownIn(b, "team");
  assert.equal(await secretAt(own, "mine", "team"), "mine");
  await deny(a, "team/");
  const without = [scopeOfMount(shared), hex(namespaceScope(id))];
  await siftedRegion(a, b, without);
  assert.equal(await secretAt(b, "shared", "team"), null);
  // What the region had when it was started has no namespace to be in.
  assert.equal((await request(b, "POST", "sys/seal")).status, 204);
  await b.server.unseal(a.opened.shares);
  assert.ok(ownRows(b, id) > 0);
  assert.equal((await deleteFilter(a)).status, 204);
  await siftedRegion(a, b);
  await until(async () => (await secretAt(b, "shared", "team")) === "shared");
  assert.equal(await secretAt(b, "mine", "team"), "mine");
  assert.equal(await secretAt(own, "mine", "team"), "mine");
});

test("R-81 a place that is deleted while it is withheld is listed no more, and what the region had in it of its own goes", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "team");
  const id = await namespaceId(a, "team");
  await mountSecret(a, "eu");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  await ownIn(b, "team");
  await deny(a, "team/", "eu/");
  await until(async () => {
    const { dynamic_filtered_mounts: mounts } = await withheldAt(b, "secondary");
    return JSON.stringify(mounts) === '["eu/"]';
  });
  assert.ok(ownRows(b, id) > 0);
  assert.ok((await request(a, "DELETE", "sys/mounts/eu")).status < 300);
  assert.ok((await request(a, "DELETE", "sys/namespaces/team")).status < 300);
  await until(async () => {
    const found = await withheldAt(b, "secondary");
    return Object.values(found).flat().length === 0;
  });
  await until(async () => ownRows(b, id) === 0);
});

test("R-77 a region changes nothing that is withheld from it: not by its path, by the primary's own word neither", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  const people = { body: { type: "userpass" } };
  assert.ok((await request(a, "POST", "sys/auth/people", people)).status < 300);
  await makeNamespace(a, "team");
  await mountSecret(a, "us");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  await deny(a, "eu/", "auth/people/", "team/");
  await until(async () => {
    const { dynamic_filtered_namespaces: withheld } = await withheldAt(b, "secondary");
    return JSON.stringify(withheld) === '["team/"]';
  });
  const changes: [string, string, object?][] = [
    ["DELETE", "sys/mounts/eu"],
    ["POST", "sys/mounts/eu/tune", { description: "changed" }],
    ["DELETE", "sys/auth/people"],
    ["POST", "sys/auth/people/tune", { description: "changed" }],
    ["POST", "sys/mounts/auth/people/tune", { description: "changed" }],
    ["POST", "sys/remount", { from: "eu", to: "moved" }],
    ["POST", "sys/remount", { from: "us", to: "team/us" }],
    ["POST", "sys/namespaces/team", { custom_metadata: { a: "changed" } }],
    ["POST", "sys/namespaces/team/below", {}],
    ["DELETE", "sys/namespaces/team"],
  ];
  const before = sharedRows(storeOf(a));
  const judged = async (method: string, path: string, body?: object) => {
    const answer = await request(b, method, path, body === undefined ? {} : { body });
    assert.equal(answer.status, 404, `${method} ${path}: ${answer.text}`);
    assert.equal(answer.headers["x-service-error"], "not_in_region", `${method} ${path}`);
  };
  const sent = sentOn(t);
  for (const change of changes) await judged(...change);
  assert.equal(sent.count, 0);
  // A region that does not say so itself is told by the primary.
  t.mock.getter(WithheldHere.prototype, "count", () => 0);
  for (const change of changes) await judged(...change);
  assert.equal(sent.count, changes.length);
  assert.deepEqual(sharedRows(storeOf(a)), before);
  assert.equal(await secretAt(a, "eu"), "eu");
  const taken = await request(b, "POST", "sys/mounts/eu", { body: { type: "kv" } });
  assert.equal(taken.status, 409, taken.text);
  assert.ok(
    (await request(b, "POST", "sys/mounts/us/tune", { body: { description: "x" } })).status < 300,
  );
});

/** Requests that secondaries of this process send to their primaries. */
function sentOn(t: TestContext): { readonly count: number } {
  const send = t.mock.method(SendingToPrimary.prototype, "send");
  return {
    get count() {
      return send.mock.callCount();
    },
  };
}
