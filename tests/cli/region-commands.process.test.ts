// `holdfast replication … -kind performance` against whole clusters with real TLS between them: a region is added, cut off, promoted,
// revoked and left, as people do it.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "../support/replication/clusters.ts";
import { startCluster } from "../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  performanceOf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  startPerformancePrimaryBehind,
  startRegion,
  withRoot,
} from "../support/replication/performance.ts";
import { OnceNet } from "../support/replication/once-net.ts";
import { freePort } from "../support/replication/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { run } from "./harness.ts";
import { fits, Person, words } from "./replication-person.ts";

const SCREEN = { columns: 80, typed: [] };
const PERF = "-kind performance";

/** Another command of the same person. */
async function typed(person: Person, cluster: Cluster, token: string, line: string) {
  const env = { HOLDFAST_ADDR: cluster.server.url, HOLDFAST_TOKEN: token, HOME: person.home };
  return await run(line.split(" "), { env });
}

test("a region joins by a token that is sealed to it, sends writes on, and is promoted and followed, by these commands alone", async (t) => {
  const [a, other] = [await startRegion(t, "a"), await startRegion(t, "b")];
  const person = new Person(t);
  const enabled = await person.must(a, `enable ${PERF}`);
  assert.match(
    words(enabled),
    /primary of performance replication.*public-key -kind performance` on.*token -kind performance -public-key KEY ID`/,
  );
  const without = await person.at(a, "status");
  assert.equal(without.code, 2, without.all);
  assert.match(words(without), /performance primary Region a .*token -kind performance/);
  const key = (await person.must(other, `public-key ${PERF}`)).stdout.trim();
  const issued = await person.must(a, `token ${PERF} -public-key ${key} region-b`);
  assert.match(words(issued), /join -kind performance -`.*update-primary -kind performance @TOKEN/);
  const token = issued.stdout;
  const wrong = await person.at(other, "join -dry-run -", { stdin: token });
  assert.equal(wrong.code, 2, wrong.all);
  const tried = await person.must(other, `join ${PERF} -dry-run -`, { stdin: token });
  assert.match(tried.stdout, /^hello +https:\/\/\S+ +ok$/m);
  assert.deepEqual(await perfStatus(other), { mode: "disabled" });
  const done = await person.must(other, `join ${PERF} -yes -`, { stdin: token });
  assert.match(done.stdout, /is a secondary\.\nIt has everything, and streams\./);

  // It serves from here on, with the tokens of the first.
  const b = withRoot(other, a.token);
  for (const [cluster, line] of [
    [b, "namespace create team"],
    [a, "namespace lookup team"],
  ] as const) {
    const ran = await typed(person, cluster, a.token, line);
    assert.equal(ran.code, 0, ran.all);
  }
  await until(async () => (await person.at(a, "status")).code === 0);
  const seen = await person.must(a, "status", SCREEN);
  assert.match(seen.stdout, /^region-b +b +stream-wals +connected +0 entries +\S/m);
  fits(seen);
  const own = await person.must(b, "status", SCREEN);
  assert.match(own.stdout, /^This Cluster +performance secondary region-b$/m);
  assert.match(own.stdout, /^Region +b$/m);
  assert.match(own.stdout, /^Writes +what is shared is sent on to region a$/m);
  fits(own);
  const acl = await typed(person, b, a.token, "acl replication status");
  assert.match(words(acl), /Enabled yes Running yes Source Region a /);

  const early = await person.at(b, `failover -plan ${PERF}`, SCREEN);
  assert.equal(early.code, 2, early.all);
  assert.match(
    words(early),
    /Next 1 on the primary \(http\S+\): holdfast replication demote -kind performance/,
  );
  assert.match(words(early), /Next 2 here: holdfast replication promote -kind performance /);
  assert.doesNotMatch(early.all, /dr-token/);
  const demoted = await person.must(a, `demote ${PERF} -yes`);
  assert.match(words(demoted), /Next: `holdfast replication promote -kind performance` on the/);
  const waits = await person.at(a, "status", SCREEN);
  assert.equal(waits.code, 2, waits.all);
  assert.match(words(waits), /without a primary .*REFUSED \(503\), as it follows nobody; the rest/);
  assert.match(words(waits), /`holdfast replication public-key -kind performance` here/);
  fits(waits);
  await person.must(b, `promote ${PERF}`);
  const back = (await person.must(a, `public-key ${PERF}`)).stdout.trim();
  const again = await person.must(b, `token ${PERF} -public-key ${back} region-a`);
  const file = person.keep("token", again.stdout);
  const followed = await person.must(a, `update-primary ${PERF} @${file}`);
  assert.match(followed.stdout, /It has everything, and streams/);
  await regionInSync(b, a);
  const json = await person.must(a, "status -format=json");
  const { dr, performance } = JSON.parse(json.stdout);
  assert.deepEqual(
    [dr, performance.region, performance.primary_region, performance.forwards_writes],
    [{ mode: "disabled" }, "a", "b", true],
  );
});

test("a region that is cut off, and one that was revoked, says what becomes of writes, and what to do; then it goes on by itself", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const b = withRoot(await joinedRegion(t, a), a.token);
  await regionInSync(a, b);
  const person = new Person(t);
  way.cut();
  await until(async () => (await perfStatus(b))["forwards_writes"] === false);
  const cut = await person.at(b, "status", SCREEN);
  assert.equal(cut.code, 2, cut.all);
  assert.match(words(cut), /REFUSED \(503\), as region a is not reached; the rest goes on/);
  fits(cut);
  await until(async () => (await person.at(a, "status")).code === 2);
  assert.match(
    words(await person.at(a, "status", SCREEN)),
    /region-b b \S+ disconnected .*region-b is disconnected/,
  );
  const write = await typed(person, b, a.token, "kv put secret/x a=1");
  assert.equal(write.code, 1, write.all);
  assert.match(words(write), /Next: nothing was done: try again when the primary is reached/);
  way.heal();
  await person.must(b, "recover");
  await until(async () => (await person.at(b, "status")).code === 0);

  const declined = await person.at(a, `revoke ${PERF} region-b`, { typed: ["n"] });
  assert.equal(declined.code, 1, declined.all);
  await person.must(a, `revoke ${PERF} -yes region-b`);
  await until(async () => (await perfStatus(b))["state"] === "idle");
  const revoked = await person.at(b, "status", SCREEN);
  assert.match(words(revoked), /has revoked it\. .*update-primary -kind performance @TOKEN` here/);
  const left = await person.must(b, `disable ${PERF} -yes`);
  assert.match(left.stdout, /on its own/);
  assert.equal((await person.at(b, "status")).code, 0);
});

test("what is typed for the other kind, or with what is not taken there, is refused, and says what would be", async (t) => {
  const cluster = await startCluster(t);
  const person = new Person(t);
  await person.must(cluster, `enable ${PERF}`);
  const kind = await person.at(cluster, "enable -kind both");
  assert.equal(kind.code, 2, kind.all);
  assert.match(kind.all, /-kind takes one of dr, performance/);
  const demoted = await person.at(cluster, "demote -yes");
  assert.equal(demoted.code, 1, demoted.all);
  assert.match(words(demoted), /Add -kind performance where that is meant/);
  const promoted = await person.at(cluster, `promote ${PERF}`);
  assert.equal(promoted.code, 1, promoted.all);
  const token = await person.at(cluster, `promote ${PERF} -dr-token file`);
  assert.equal(token.code, 2, token.all);
  assert.match(words(token), /-dr-token is for disaster recovery.*HOLDFAST_TOKEN/);
  await person.must(cluster, "enable");
  const both = await person.at(cluster, "status", SCREEN);
  assert.match(
    words(both),
    /Disaster recovery .*This Cluster primary .*Performance replication .*This Cluster performance primary Region global /,
  );
  fits(both);
  await person.must(cluster, "disable -yes");
  await person.must(cluster, `disable ${PERF} -yes`);
  assert.match(words(await person.must(cluster, "status")), /on its own.*With -kind performance/);
});

test("what forgets its kind is told so before a token of operations is looked for, or another one made", async (t) => {
  const a = await startPerformancePrimary(t);
  const person = new Person(t);
  const clusterPort = await freePort();
  const fresh = await startRegion(t, "c", { clusterPort });
  const key = (await person.must(fresh, `public-key ${PERF}`)).stdout.trim();
  const token = (await person.must(a, `token ${PERF} -public-key ${key} region-c`)).stdout;
  const forgotten = await person.at(fresh, "join -yes -", { stdin: token });
  assert.equal(forgotten.code, 1, forgotten.all);
  assert.match(words(forgotten), /Next: add -kind performance: the token is for performance/);
  const tried = await person.at(fresh, "join -dry-run -", { stdin: token });
  assert.equal(tried.code, 2, tried.all);
  assert.match(words(tried), /Nothing was changed\. Next: add -kind performance/);
  await person.must(fresh, `join ${PERF} -yes -`, { stdin: token });
  for (const line of ["failover -plan", "promote -dry-run", "update-primary -none"]) {
    const refused = await person.at(fresh, line, {}, a);
    assert.equal(refused.code, 2, refused.all);
    assert.match(words(refused), /and none of disaster recovery Next: add -kind performance/);
    assert.doesNotMatch(words(refused), /operation token is missing/);
  }
  const own = `https://127.0.0.1:${clusterPort}`;
  const itself = await person.at(fresh, `update-primary ${PERF} -at ${own}`, {}, a);
  assert.equal(itself.code, 1, itself.all);
  assert.match(words(itself), /address of this cluster itself.*Next: name the other cluster/);
  const empty = await person.at(a, `token ${PERF} -public-key= region-d`);
  assert.equal(empty.code, 2, empty.all);
  assert.match(words(empty), /-public-key is empty.*`holdfast replication public-key -kind perf/);
  assert.deepEqual((await perfStatus(a))["known_secondaries"], ["region-c"]);
});

test("a first copy that is stuck says that nothing is served, and is given up with an operation token from key shares", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await startRegion(t, "b", { world: { net: new OnceNet() } });
  const token = await performanceToken(a, b);
  assert.equal((await perf(b, "secondary/enable", { token })).status, 200);
  await until(async () => (await b.server.call("GET", "/v1/sys/health")).status === 473);
  const person = new Person(t);
  const stuck = await person.at(b, "status", SCREEN);
  assert.equal(stuck.code, 2, stuck.all);
  assert.match(words(stuck), /Writes none, and no reads, until the first copy is whole/);
  assert.match(
    words(stuck),
    /`holdfast replication disable -kind performance`, each with -dr-token FILE: an operation token/,
  );
  fits(stuck);
  const read = await typed(person, b, a.token, "kv get secret/x");
  assert.match(words(read), /Next: wait until it has everything: `holdfast replication status`/);
  const without = await person.at(b, `disable ${PERF} -yes`);
  assert.equal(without.code, 2, without.all);
  assert.match(words(without), /the operation token is missing/);
  const dr = await person.operate(b, a.opened.shares[0] ?? "");
  const left = await person.must(b, `disable ${PERF} -yes -dr-token ${dr}`);
  assert.match(words(left), /nothing of it is kept/);
  assert.equal((await b.server.call("GET", "/v1/sys/health")).status, 501);
});

test("which policies a region may vouch for is said with its token, and is no matter of disaster recovery", async (t) => {
  const a = await startPerformancePrimary(t);
  const person = new Person(t);
  const attests = (id: string) => performanceOf(a).attests(id);
  await person.must(a, `token ${PERF} -attest-policies app,CI region-b`);
  assert.deepEqual(attests("region-b"), ["app", "ci"]);
  await person.must(a, `token ${PERF} -attest-policies= region-c`);
  assert.deepEqual(attests("region-c"), []);
  await person.must(a, `token ${PERF} region-d`);
  assert.equal(attests("region-d"), null);
  const wrong = await person.at(a, "token -attest-policies app site-e");
  assert.equal(wrong.code, 2, wrong.all);
  assert.match(words(wrong), /-attest-policies is for performance replication/);
});

test("what a region is not sent is set, shown and taken back by commands", async (t) => {
  const a = await startPerformancePrimary(t);
  const person = new Person(t);
  const neither = await person.at(a, "filter set region-b");
  assert.equal(neither.code, 2, neither.all);
  assert.match(words(neither), /either -deny or -allow/);
  const unknown = await person.at(a, "filter set -deny nowhere/ region-b");
  assert.notEqual(unknown.code, 0);
  assert.match(words(unknown), /neither a shared mount nor a namespace/);
  const set = await person.must(a, "filter set -deny secret/ region-b");
  assert.match(words(set), /no secondary is known by this id yet/);
  const seen = await person.must(a, "filter show region-b", SCREEN);
  assert.match(seen.stdout, /^Mode +deny$/m);
  assert.match(seen.stdout, /^Withheld now:\n {2}secret\/$/m);
  fits(seen);
  await person.must(a, "filter delete region-b");
  const gone = await person.at(a, "filter show region-b");
  assert.notEqual(gone.code, 0);
  assert.match(words(gone), /no secondary of this id has a filter/);
});
