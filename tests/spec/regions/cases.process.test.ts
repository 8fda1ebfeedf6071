// Cases of docs/cases/replication.md and docs/cases/token-api.md on one set of three regions, each a process on files of its own, with real TLS
// between their cluster ports and a proxy in the way that delays, holds up and cuts. The set goes through them in this order; the last ones give it
// another primary.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { errorText } from "../../support/error-text.ts";
import { suiteEnds } from "../../support/replication/case-suite.ts";
import { type Answer, at } from "../../support/http-client.ts";
import type { ClusterProcess } from "../../support/replication/cluster-process.ts";
import {
  done,
  newToken,
  policyOf,
  recordsOf,
  rules,
  selfOf,
  stateOf,
  tokenOf,
  writePolicy,
} from "../../support/replication/regions/region-calls.ts";
import {
  is,
  isOnDiskOf,
  joinRegionProcess,
  mountAt,
  perf,
  perfStatus,
  regionFollows,
  standInProcess,
  startPerformanceProcess,
  startRegionProcess,
  within,
} from "../../support/replication/regions/region-process.ts";
import { Stranger } from "../../support/replication/regions/stranger.ts";
import { until } from "../../support/until.ts";

const MIB = 1024 * 1024;
const ends = suiteEnds();
let a: ClusterProcess;
let b: ClusterProcess;
let c: ClusterProcess;

before(async () => {
  [a, b, c] = await Promise.all([
    startPerformanceProcess(ends),
    startRegionProcess(ends, "b"),
    startRegionProcess(ends, "c", 'replication { best_effort_wal_wait = "60s" }'),
  ]);
  await Promise.all([joinRegionProcess(a, b, "region-b"), joinRegionProcess(a, c, "region-c")]);
  await Promise.all([regionFollows(b), regionFollows(c)]);
});

const all = () => [a, b, c];
let names = 0;
const fresh = (of: string) => `${of}-${++names}`;

/** The other regions have what the primary has written. */
async function caughtUp(...regions: readonly ClusterProcess[]): Promise<void> {
  const name = fresh("mark");
  await done(a.put(name, "here"));
  for (const one of regions) await until(async () => (await one.value(name)) === "here");
}

/** The primary is out of reach for that long, and is found again after it. */
async function whileCut(work: () => Promise<void>): Promise<void> {
  a.way.cut();
  try {
    await until(async () => (await perfStatus(b))["forwards_writes"] === false);
    await work();
  } finally {
    a.way.heal();
  }
  await Promise.all([regionFollows(b), regionFollows(c)]);
}

function isUnreached(answer: Answer): void {
  is(answer, 503, "primary_unreachable");
  assert.equal(answer.headers["retry-after"], "5");
}

test("R-65: a policy that the primary writes is there in every region, and how far each is stands in the status", async () => {
  const name = fresh("policy");
  await done(writePolicy(a, name, rules(name)));
  for (const one of [b, c]) await until(async () => (await policyOf(one, name)) === rules(name));
  await until(async () => {
    const { secondaries, last_performance_wal: last } = await perfStatus(a);
    const members = secondaries as readonly Readonly<Record<string, unknown>>[];
    return (
      members.length === 2 &&
      members.every(({ last_remote_wal: has, wal_lag: lag }) => has === last && lag === 0)
    );
  });
});

test("R-66: a policy that is written in another region is written once, by the primary, whose audit names that region, and is read there at once", async () => {
  const [there, here] = [await recordsOf(a), await recordsOf(b)];
  const name = fresh("policy");
  const path = `/v1/acl/policy/${name}`;
  const body = { Name: name, Rules: rules(name) };
  const written = await done(b.call("POST", path, { token: b.token, body }));
  const read = await done(b.call("GET", path, { token: b.token }));
  assert.equal(at(read, "Rules"), rules(name));
  // Of the region that answers, and the write is in it.
  assert.ok(Number(written.headers["x-service-index"]) >= Number(at(read, "ModifyIndex")));
  assert.equal(await policyOf(a, name), rules(name));
  const writes = (records: ReturnType<typeof there>) =>
    records.flatMap(({ type, forwarded_from: from, request }) => {
      const { id, operation } = request as Readonly<Record<string, unknown>>;
      return operation === "read" ? [] : [{ type, from, id }];
    });
  const [first, ...others] = writes(here(`acl/policy/${name}`));
  assert.deepEqual([first?.type, first?.from, others.length], ["request", "", 1]);
  const id = first?.id; // one request
  assert.deepEqual(others, [{ type: "response", from: "", id }]);
  assert.deepEqual(writes(there(`acl/policy/${name}`)), [
    { type: "request", from: "region-b", id },
    { type: "response", from: "region-b", id },
  ]);
});

test("R-67: behind a line that is five seconds long a write succeeds, and is there when it is answered, or says that it is not", async () => {
  const name = fresh("far");
  a.way.delay(2500); // each way
  const begun = performance.now();
  const answer = await b.put(name, "far");
  const took = performance.now() - begun;
  const isSeen = (await b.value(name)) === "far";
  a.way.heal();
  is(answer, 200);
  assert.ok(took >= 5000, `${took} ms`);
  const isStale = /not to be seen here yet/.test(JSON.stringify(at(answer, "warnings")));
  assert.ok(isSeen || isStale, answer.text);
  await caughtUp(b, c);
});

test("R-67: a write whose answer overtakes the log is answered two seconds later as done, with a warning that it is not there yet", async () => {
  // So much of the log waits for its turn: of each region's a window of four is in the line before the answer, and the rest behind it.
  const value = "x".repeat(MIB / 2);
  a.way.hold("back");
  await Promise.all(Array.from({ length: 20 }, () => done(a.put(fresh("large"), value))));
  const name = fresh("late");
  const writing = b.put(name, "late");
  await until(async () => (await a.value(name)) === "late");
  a.way.heal();
  a.way.limit(3 * MIB);
  const answer = await writing;
  const early = await b.value(name);
  a.way.heal();
  is(answer, 200);
  assert.match(JSON.stringify(at(answer, "warnings")), /done by the primary.*not to be seen here/);
  assert.equal(early, null);
  await until(async () => (await b.value(name)) === "late");
  await caughtUp(b, c);
});

test("R-68, A-111: with the primary out of reach what is shared is neither written nor written later, and no global token made; what is local goes on", async () => {
  const { AccessorID: global } = await newToken(a, { Global: true });
  await caughtUp(b, c);
  const name = fresh("never");
  await whileCut(async () => {
    isUnreached(await b.put(name, "1"));
    isUnreached(await writePolicy(b, name, rules(name)));
    const body = { Type: "client", Policies: ["p"], Global: true, Name: name };
    for (const path of ["/v1/acl/token", "/v1/acl/token?region=a"]) {
      isUnreached(await b.call("POST", path, { token: b.token, body }));
    }
    isUnreached(await b.call("GET", "/v1/acl/tokens?region=a", { token: b.token }));
    isUnreached(await b.call("POST", "/v1/acl/bootstrap"));
    const { SecretID: own } = await newToken(b);
    is(await selfOf(b, own), 200);
    is(await tokenOf(b, global), 200);
  });
  await caughtUp(b, c);
  for (const one of all()) {
    assert.deepEqual([await one.value(name), await policyOf(one, name)], [null, null]);
    const list = await done(one.call("GET", "/v1/acl/tokens", { token: one.token }));
    assert.ok(!list.text.includes(name));
  }
});

test("R-68: a primary that is lost before it answers has been asked once, and nobody claims that nothing was done", async () => {
  const name = fresh("lost");
  a.way.hold("back");
  const writing = b.put(name, "1");
  await until(async () => (await a.value(name)) === "1");
  a.way.cut();
  const answer = await writing;
  a.way.heal();
  is(answer, 503, "primary_lost");
  assert.equal(answer.headers["retry-after"], undefined);
  await Promise.all([regionFollows(b), regionFollows(c)]);
  await until(async () => (await b.value(name)) === "1");
  const read = await done(b.call("GET", `/v1/secret/data/${name}`, { token: b.token }));
  assert.equal(at(read, "data", "metadata", "version"), 1);
});

test("R-69: local mounts of a region are there alone, and with who stands in for it", async () => {
  const d = await startRegionProcess(ends, "b");
  await standInProcess(b, d, "stand-in-b");
  const local = async (cluster: ClusterProcess, path: string) => {
    const body = { type: "kv", local: true, options: { version: "1" } };
    await done(within(cluster, "POST", `sys/mounts/${path}`, "", body));
    await done(within(cluster, "POST", `${path}/s`, "", { of: path }));
    return String(at(await done(within(cluster, "GET", `sys/mounts/${path}`)), "data", "uuid"));
  };
  const [ofA, ofB] = [await local(a, "ofa"), await local(b, "ofb")];
  await mountAt(a, "shared-one");
  await caughtUp(b, c);
  for (const one of [b, c]) is(await within(one, "GET", "ofa/s"), 404);
  for (const one of [a, c]) is(await within(one, "GET", "ofb/s"), 404);
  assert.equal(at(await done(within(b, "GET", "ofb/s")), "data", "of"), "ofb");
  await until(() => isOnDiskOf(d, ofB));
  for (const one of [b, c, d]) assert.equal(isOnDiskOf(one, ofA), false);
  for (const one of [a, c]) assert.equal(isOnDiskOf(one, ofB), false);
  await d.kill();
});

test("R-71, A-106 a global token that is made in another region is the same and good in all of them, whichever region is named", async () => {
  for (const region of ["", "?region=b", "?region=a"]) {
    const body = { Type: "client", Policies: ["p"], Global: true, Name: fresh("global") };
    const made = await done(b.call("POST", `/v1/acl/token${region}`, { token: b.token, body }));
    const { AccessorID, SecretID, Hash, CreateTime } = made.json as Record<string, string>;
    for (const one of [a, b]) {
      const found = await done(tokenOf(one, String(AccessorID))); // there at return
      assert.deepEqual(
        ["SecretID", "Hash", "CreateTime", "Global", "Name"].map((name) => at(found, name)),
        [SecretID, Hash, CreateTime, true, body.Name],
      );
    }
    for (const one of all()) is(await selfOf(one, String(SecretID)), 200); // a third one asks the primary
  }
});

test("R-72, A-107 a local token is nobody in another region, also where that is named", async () => {
  for (const fields of [{}, { Type: "management", Policies: [] }]) {
    const { SecretID: token } = await newToken(b, fields);
    is(await selfOf(b, token), 200);
    for (const one of [a, c]) is(await selfOf(one, token), 403);
    is(await b.call("GET", "/v1/acl/token/self?region=a", { token }), 403);
  }
  const { SecretID: ofA } = await newToken(a);
  is(await selfOf(b, ofA), 403);
  is(await b.call("GET", "/v1/acl/token/self?region=a", { token: ofA }), 200);
});

test("R-73: a global token that was deleted while a region was cut off is good there until it is back, and then in no region", async () => {
  const { AccessorID: id, SecretID: token } = await newToken(a, { Global: true });
  await until(async () => (await selfOf(b, token)).status === 200);
  await whileCut(async () => {
    await done(a.call("DELETE", `/v1/acl/token/${id}`, { token: a.token }));
    is(await selfOf(a, token), 403);
    is(await selfOf(b, token), 200);
  });
  for (const one of all()) await until(async () => (await selfOf(one, token)).status === 403);
});

test("R-74, A-113 a bootstrap in another region is refused as by the primary, and makes its token there", async () => {
  const [there, here] = [
    await a.call("POST", "/v1/acl/bootstrap"),
    await b.call("POST", "/v1/acl/bootstrap"),
  ];
  is(here, 400);
  assert.deepEqual(
    [here.status, here.text, here.headers["x-service-error"]],
    [there.status, there.text, there.headers["x-service-error"]],
  );
  const [, number = ""] = /reset index: (\d+)/.exec(here.text) ?? [];
  const folder = join(a.home, "data", "server");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "acl-bootstrap-reset"), `${number}\n`);
  const made = await done(b.call("POST", "/v1/acl/bootstrap"));
  for (const one of all()) is(await selfOf(one, String(at(made, "SecretID"))), 200);
  const found = await done(tokenOf(a, String(at(made, "AccessorID"))));
  assert.deepEqual([at(found, "Global"), at(found, "Type")], [true, "management"]);
});

test("R-75: whoever is no member of the set vouches for nobody: neither with a certificate of its own making, nor without a hello, nor once it is revoked", async () => {
  const name = fresh("forged");
  const stranger = await Stranger.of(a, "stranger");
  const writes = async (by: Parameters<Stranger["writes"]>[0]) => {
    try {
      await stranger.writes(by, `/secret/data/${name}`, { data: { value: "forged" } });
      return "it is taken at its word";
    } catch (error) {
      return errorText(error);
    }
  };
  const policy = 'path "secret/*" { capabilities = ["create", "update"] }';
  await done(writePolicy(a, "writer", policy)); // which would let whoever is vouched for
  assert.match(await writes("a certificate of its own making"), /does not take us/);
  assert.match(await writes("no hello"), /begins with a hello/);
  is(await perf(a, "primary/revoke-secondary", { id: "stranger" }), 204);
  assert.match(await writes("a hello"), /revoked/);
  for (const one of all()) assert.equal(await one.value(name), null);
});

test("R-86: what was written at the primary is not read from before it in another region: 412 until it is there, by two states too, or waited for", async () => {
  const name = fresh("seen");
  const read = (...states: readonly string[]) => {
    const headers = { "X-Service-State": states.join(", ") };
    return b.call("GET", `/v1/secret/data/${name}`, { token: b.token, headers });
  };
  const own = stateOf(await selfOf(b, b.token));
  a.way.hold("back");
  const state = stateOf(await done(a.put(name, "1")));
  for (const states of [[state], [own, state]]) {
    const early = await read(...states);
    is(early, 412, "state_not_reached");
    assert.equal(early.headers["retry-after"], "1");
  }
  is(await read(own), 404);
  const inconsistent = { "X-Service-State": state, "X-Service-Inconsistent": "await-state" };
  const waiting = c.call("GET", `/v1/secret/data/${name}`, {
    token: c.token,
    headers: inconsistent,
  });
  a.way.heal();
  is(await waiting, 200);
  await until(async () => (await read(own, state)).status === 200);
  is(await read(state), 200);
});

test("R-87: a state that no server of the set has told is 400 in another region", async () => {
  const state = stateOf(await done(a.put(fresh("seen"), "1")));
  for (const forged of ["x", `${state}A`, state.replace(/^./, "B"), state.toLowerCase()]) {
    const headers = { "X-Service-State": forged };
    is(await b.call("GET", "/v1/sys/mounts", { token: b.token, headers }), 400, "state_unknown");
  }
});

test("R-88: no header has a region hand a request on", async () => {
  for (const headers of [
    { "X-Service-Forward": "active-node" },
    { "X-Service-Inconsistent": "forward-active-node" },
  ]) {
    is(await b.call("GET", "/v1/sys/mounts", { token: b.token, headers }), 400);
  }
});

test("A-84, A-92 in another region every consistency mode is answered, and whoever waits for a list is answered by what the primary writes", async () => {
  for (const query of ["stale", "consistent", "stale=false"]) {
    const answer = await done(b.call("GET", `/v1/acl/tokens?${query}`, { token: b.token }));
    assert.equal(answer.headers["x-service-knownleader"], "true");
  }
  for (const region of ["", "&region=a"]) {
    const path = "/v1/acl/tokens?";
    const list = await done(b.call("GET", `${path}${region.slice(1)}`, { token: b.token }));
    const index = String(list.headers["x-service-index"]);
    const query = `${path}index=${index}&wait=60s${region}`;
    const waiting = done(b.call("GET", query, { token: b.token }));
    const { AccessorID } = await newToken(a, { Global: true });
    const answer = await waiting;
    assert.ok(Number(answer.headers["x-service-index"]) > Number(index));
    assert.ok(answer.text.includes(AccessorID));
  }
});

test("A-108 a management token of one region alone makes no global token in another", async () => {
  const { SecretID: token } = await newToken(b, { Type: "management", Policies: [] });
  const body = { Type: "client", Policies: ["p"], Global: true };
  const refused = await b.call("POST", "/v1/acl/token", { token, body });
  is(refused, 403);
  assert.match(refused.text, /use a global token/);
  await newToken(b, {}, token);
});

test("A-109 a global token that is deleted in another region is gone in all of them", async () => {
  const { AccessorID: id, SecretID: token } = await newToken(a, { Global: true });
  await caughtUp(b, c);
  await done(b.call("DELETE", `/v1/acl/token/${id}`, { token: b.token }));
  for (const one of [a, b]) {
    is(await selfOf(one, token), 403);
    is(await tokenOf(one, id), 404);
  }
  await until(async () => (await selfOf(c, token)).status === 403);
});

test("A-110 policies of a global token that are changed in any region are changed in all of them", async () => {
  const { AccessorID: id } = await newToken(a, { Global: true, Policies: ["ab", "c"] });
  const change = (one: ClusterProcess, Policies: readonly string[]) => {
    const body = { AccessorID: id, Type: "client", Policies };
    return done(one.call("POST", `/v1/acl/token/${id}`, { token: one.token, body }));
  };
  const hashes = new Set<unknown>();
  const shows = async (policies: readonly string[]) => {
    for (const one of all()) {
      await until(async () => {
        const found = await tokenOf(one, id);
        return JSON.stringify(at(found, "Policies")) === JSON.stringify(policies);
      });
      hashes.add(at(await tokenOf(one, id), "Hash"));
    }
  };
  await shows(["ab", "c"]);
  await change(a, ["a", "bc"]);
  await shows(["a", "bc"]);
  await change(b, ["d"]);
  await shows(["d"]);
  assert.equal(hashes.size, 3, "one for each list, the same in every region");
});

test("A-114 a one-time token is good in the region that made it, and there alone", async () => {
  const { SecretID: token } = await newToken(b, { Global: true });
  const made = await done(b.call("POST", "/v1/acl/token/onetime", { token }));
  const body = { OneTimeSecretID: at(made, "OneTimeToken", "OneTimeSecretID") };
  const EXCHANGE = "/v1/acl/token/onetime/exchange";
  is(await b.call("POST", `${EXCHANGE}?region=a`, { body }), 403);
  for (const one of [a, c]) is(await one.call("POST", EXCHANGE, { body }), 403);
  const exchanged = await done(b.call("POST", EXCHANGE, { body }));
  assert.equal(at(exchanged, "Token", "SecretID"), token);
});

test("A-115 there is no path to a region that nobody knows; the own one and the authoritative one are known", async () => {
  const ask = async (one: ClusterProcess, region: string) => {
    const path = `/v1/acl/tokens?region=${region}`;
    const { status, text } = await one.call("GET", path, { token: one.token });
    return `${status}${/No path to region/.exec(text)?.[0] ?? ""}`;
  };
  for (const one of all()) assert.equal(await ask(one, "nowhere"), "404No path to region");
  assert.deepEqual(
    [await ask(a, "a"), await ask(b, "b"), await ask(c, "a"), await ask(a, "b")],
    ["200", "200", "200", "404No path to region"],
  );
});

test("R-89, A-112 after a failover a state from before the fork is reached, and one from behind it told as lost; who follows then has no global token that the primary does not know", async () => {
  const kept = stateOf(await done(a.put("kept", "1")));
  await caughtUp(b, c);
  a.way.cut();
  const lost = stateOf(await done(a.put("lost", "1")));
  const { AccessorID: unknown } = await newToken(a, { Global: true });
  const { AccessorID: own } = await newToken(a);
  is(await perf(b, "secondary/promote", { force: true }), 200);
  a.way.heal();
  const read = (one: ClusterProcess, state: string) => {
    const headers = { "X-Service-State": state };
    return one.call("GET", "/v1/secret/data/kept", { token: one.token, headers });
  };
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  is(await perf(a, "primary/demote"), 200);
  const key = await perf(a, "secondary/generate-public-key");
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const made = await perf(b, "primary/secondary-token", { id: "region-a", secondary_public_key });
  is(made, 200);
  is(await perf(a, "secondary/update-primary", { token: at(made, "data", "token") }), 200);
  await regionFollows(a, 2);
  for (const one of [a, b]) {
    is(await read(one, kept), 200);
    const refused = await read(one, lost);
    is(refused, 412, "state_lost");
    assert.equal(refused.headers["retry-after"], undefined);
    assert.match(refused.text, /will not be seen any more/);
    is(await tokenOf(one, unknown), 404);
  }
  is(await tokenOf(a, own), 200);
});
