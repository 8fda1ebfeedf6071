// Cases of docs/cases/replication.md: how a cluster joins a primary, what it costs when that fails, and how it is refused
// afterwards.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Address, Net } from "@holdfast/shared/world";
import type { Joined } from "../../../src/replication/roles/role.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  sealedToken,
  ShiftedClock,
  startCluster,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

/** A cluster with something to lose. */
async function withData(cluster: Cluster): Promise<void> {
  const { server, token } = cluster;
  const mounted = await server.call("POST", "/v1/sys/mounts/own", { token, body: { type: "kv" } });
  assert.ok(mounted.status < 300, mounted.text);
  is(await server.call("POST", "/v1/own/data/x", { token, body: { data: { a: "1" } } }), 200);
}

async function hasItsData(cluster: Cluster): Promise<void> {
  const { server, token } = cluster;
  is(await server.call("GET", "/v1/own/data/x", { token }), 200);
  assert.deepEqual(await cluster.status(), { mode: "disabled" });
}

test("R-13: with a sealed token the cluster port of the primary is all that a cluster connects to", async (t) => {
  const primary = await startPrimary(t);
  const dialled: number[] = [];
  const real = new SystemNet();
  const net: Net = {
    listen: (on, accept) => real.listen(on, accept),
    connect: (to: Address, signal) => {
      dialled.push(to.port);
      return real.connect(to, signal);
    },
  };
  const secondary = await joined(t, primary, "site-b", { world: { net } });
  await inSync(primary, secondary);
  const [known] = (await secondary.status())["known_primary_cluster_addrs"] as string[];
  assert.deepEqual([...new Set(dialled)], [Number(new URL(known!).port)]);
  assert.notEqual(new URL(known!).port, new URL(primary.server.url).port);
});

test("R-14: a token for a key that another has replaced does not open, and one for the last key does", async (t) => {
  const primary = await startPrimary(t);
  const other = await startCluster(t);
  await withData(other);
  const before = await sealedToken(primary, other, "first");
  const after = await sealedToken(primary, other, "second");
  is(await other.dr("secondary/enable", { token: before }), 400);
  await hasItsData(other);
  is(await other.dr("secondary/enable", { token: after }), 200);
  await inSync(primary, other);
});

test("whatever is wrong with a token that was pasted, it is refused with what is to be done, and all is as it was", async (t) => {
  const primary = await startPrimary(t);
  const clock = new ShiftedClock();
  const other = await startCluster(t, { world: { clock } });
  await withData(other);
  const elsewhere = await startCluster(t);
  const ofElsewhere = await sealedToken(primary, elsewhere, "elsewhere");
  const tokens: [text: string, code: string, next: RegExp][] = [
    [ofElsewhere, "joining_no_activation_key", /make a public key here, and another token/],
  ];
  const refused = async ([token, code, next]: (typeof tokens)[number]) => {
    for (const input of [{ token }, { token, dry_run: true }]) {
      const answer = await other.dr("secondary/enable", input);
      if ("dry_run" in input) is(answer, 200);
      else is(answer, 400, code);
      assert.match(answer.text, next);
      assert.ok(!answer.text.includes(token.trim()), "nothing of it is told");
    }
  };
  for (const one of tokens) await refused(one);
  const token = await sealedToken(primary, other);
  const half = token.length >> 1;
  const whole = /give the whole of the token that the primary has answered, as one line/;
  tokens.splice(
    0,
    1,
    [token.slice(0, half), "joining_token_unreadable", whole],
    [token.slice(half), "joining_token_unreadable", whole],
    [`"${token}"`, "joining_token_unreadable", whole],
    [`${token}\n`, "joining_token_unreadable", /spaces or line breaks/],
    [`${token.slice(0, half)}\n${token.slice(half)}`, "joining_token_unreadable", /spaces or line/],
    [ofElsewhere, "joining_token_other_key", /make another public key here, and another token/],
  );
  for (const one of tokens) await refused(one);
  const wrong = await other.server.call(
    "POST",
    "/v1/sys/replication/performance/secondary/enable",
    {
      token: other.token,
      body: { token },
    },
  );
  is(wrong, 400, "joining_token_kind");
  assert.match(wrong.text, /use it below sys\/replication\/dr\//);
  clock.ahead = 3600n * SECOND;
  await refused([token, "joining_token_expired", /make another one, or set this clock right/]);
  clock.ahead = 0n;
  await hasItsData(other);
  is(await other.dr("secondary/enable", { token }), 200);
  await inSync(primary, other);
});

test("a cluster whose data is being exchanged for that of a primary does not become one itself meanwhile", async (t) => {
  const primary = await startPrimary(t);
  const other = await startCluster(t);
  const token = await sealedToken(primary, other);
  const { replication } = other;
  const join = replication.join.bind(replication);
  let meanwhile: Answer | null = null;
  t.mock.method(replication, "join", (joining: Joined, exchange: () => Promise<void>) =>
    join(joining, async () => {
      meanwhile = await other.dr("primary/enable", {});
      await exchange();
    }),
  );
  is(await other.dr("secondary/enable", { token }), 200);
  is(meanwhile!, 503, "replication_role_changing");
  await inSync(primary, other);
});

test("R-15, R-16: a primary that is not reached costs nothing: 502, all is as it was, and the same token works later", async (t) => {
  const { primary, way } = await startPrimaryBehind(t);
  const other = await startCluster(t);
  await withData(other);
  const token = await sealedToken(primary, other);
  way.cut();
  is(await other.dr("secondary/enable", { token }), 502);
  await hasItsData(other);
  way.heal();
  is(await other.dr("secondary/enable", { token }), 200);
  await inSync(primary, other);
});

test("R-17: a cluster that replicates already does not join", async (t) => {
  const primary = await startPrimary(t);
  const other = await startPrimary(t);
  const token = await sealedToken(primary, other);
  is(await other.dr("secondary/enable", { token }), 400, "replication_role_taken");
  assert.equal((await other.status())["mode"], "primary");
});

test("a cluster that became a primary while it was on its way to another one keeps its data", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await startCluster(t);
  const token = await sealedToken(a, b);
  const mounted = await b.server.call("POST", "/v1/sys/mounts/secret", {
    token: b.token,
    body: { type: "kv", options: { version: "2" } },
  });
  assert.ok(mounted.status < 300, mounted.text);
  await b.put("x", { n: "its own" });
  way.hold("back");
  const joining = b.dr("secondary/enable", { token });
  await until(() => way.accepted > 0);
  is(await b.dr("primary/enable"), 200);
  way.heal();
  is(await joining, 400, "replication_role_taken");
  assert.equal((await b.status())["mode"], "primary");
  const read = await b.server.call("GET", "/v1/secret/data/x", { token: b.token });
  assert.equal(at(read, "data", "data", "n"), "its own");
});

test("R-18: what a cluster had before it joined is gone, and so are its tokens; warnings say so", async (t) => {
  const primary = await startPrimary(t);
  await primary.put("x", { a: "1" });
  const other = await startCluster(t);
  await withData(other);
  const token = await sealedToken(primary, other);
  const enabled = await other.dr("secondary/enable", { token });
  is(enabled, 200);
  assert.match(
    String(at(enabled, "warnings")),
    /all data of before is gone.*shares of the primary/s,
  );
  await inSync(primary, other);
  assert.equal(other.server.server.keeper.sealed, false);
  await other.replication.promote({ force: true, address: "" });
  is(await other.server.call("GET", "/v1/own/data/x", { token: other.token }), 403);
  is(await other.server.call("GET", "/v1/own/data/x", { token: primary.token }), 404);
  is(await other.server.call("GET", "/v1/secret/data/x", { token: primary.token }), 200);
});

test("R-20: who is revoked is cut off at once, hears why, and stays idle", async (t) => {
  const primary = await startPrimary(t);
  const secondary = await joined(t, primary);
  await inSync(primary, secondary);
  is(await primary.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  const { secondaries, known_secondaries } = await primary.status();
  assert.deepEqual([secondaries, known_secondaries], [[], []]);
  const { index } = secondary;
  await primary.put("after", { a: "1" });
  await until(async () => (await secondary.status())["state"] === "idle");
  const status = await secondary.status();
  assert.match(JSON.stringify(status["last_sync_error"]), /revoked/);
  await secondary.replication.recover();
  await until(async () => (await secondary.status())["connection_state"] === "transient_failure");
  assert.equal(secondary.index, index);
});

test("R-21: one that was away when it was revoked is refused when it comes back", async (t) => {
  const { primary, way } = await startPrimaryBehind(t);
  const secondary = await joined(t, primary);
  await inSync(primary, secondary);
  way.cut();
  await until(async () => (await secondary.status())["state"] === "idle");
  is(await primary.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  await primary.put("after", { a: "1" });
  const { index } = secondary;
  way.heal();
  await secondary.replication.recover();
  await until(async () => (await secondary.status())["connection_state"] === "transient_failure");
  assert.equal(secondary.index, index);
  assert.deepEqual((await primary.status())["secondaries"], []);
});

test("R-24: the id of one that was revoked is free for another, and its certificate is not", async (t) => {
  const primary = await startPrimary(t);
  const former = await joined(t, primary);
  await inSync(primary, former);
  is(await primary.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  const next = await joined(t, primary);
  await primary.put("after", { a: "1" });
  await inSync(primary, next);
  const { index } = former;
  await former.replication.recover();
  await until(async () => (await former.status())["connection_state"] === "transient_failure");
  await primary.put("more", { a: "1" });
  await inSync(primary, next);
  assert.equal(former.index, index);
});
