// Who sees what of what needs attention: a narrow token, a pipeline, one that puts it off; and that a look costs next to nothing.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { DAY, MINUTE } from "@holdfast/shared/text/duration";
import { jsonCodec } from "@holdfast/shared/codec";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { showTime } from "@holdfast/shared/text/time";
import { Attention } from "../../../src/attention/attention.ts";
import type { MountFact } from "../../../src/attention/checks.ts";
import { run } from "../../cli/harness.ts";
import { MANAGEMENT } from "../../support/answering.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { at } from "../../support/http-client.ts";
import { closeRoom } from "../../support/jobs.ts";
import { madeBarrier } from "../../support/made/made-barrier.ts";
import { madeLeases, restarted } from "../../support/made/made-leases.ts";
import { processorTime } from "../../support/processor-time.ts";
import { engineServer } from "../../support/servers/engine-server.ts";
import { WatchedEngine } from "../../support/stores/watched-engine.ts";
import { facts, itemsIn, watched } from "./watched-attention.ts";

test("PV56: a check that fails is an item, and the list is not complete", async () => {
  const { barrier, world } = await madeBarrier();
  const broken = facts({
    dataKeyInstalled: () => {
      throw new TypeError("hunter2");
    },
  });
  const attention = new Attention({
    ...world,
    view: barrier.view("core/").sub("attention/"),
    facts: broken,
    reachOf: async () => () => true,
  });
  attention.open();
  const { items, checks, complete } = attention.look();
  assert.equal(complete, false);
  assert.deepEqual([checks.failed, checks.skipped], [1, 1]); // no disk in memory
  assert.ok(items.some(({ code, text }) => code === "key.old" && text.includes("could not be")));
  assert.ok(!world.lines.join().includes("hunter2"));
  attention.close();
});

test("PV56: over HTTP and on the command line what could not be checked is no all-clear, and fails a pipeline", async (t) => {
  let broken = false;
  class Broken extends WatchedEngine {
    override freeBytes(): number | null {
      if (broken) throw new TypeError("hunter2");
      return super.freeBytes();
    }
  }
  const { server } = await watched(t, {
    engine: (inner: ConstructorParameters<typeof WatchedEngine>[0]) => new Broken(inner),
  });
  broken = true;
  const answer = await server.must("GET", "sys/attention");
  broken = false;
  assert.equal(at(answer, "data", "complete"), false);
  assert.equal(at(answer, "data", "checks", "failed"), 1);
  const [item] = itemsIn(answer).filter(({ code }) => code === "disk.reserve");
  assert.match(String(item?.text), /could not be/);
  assert.ok(!answer.text.includes("hunter2"));
  const env = { HOLDFAST_ADDR: server.test.url, HOLDFAST_TOKEN: server.root };
  const looked = async (...flags: string[]) => {
    broken = true;
    const ran = await run(["attention", ...flags], { env });
    broken = false;
    return ran;
  };
  const plain = await looked();
  assert.equal(plain.code, 0);
  assert.match(plain.all, /this is not all there is to know/);
  assert.ok(!plain.all.includes("Nothing needs attention"));
  assert.equal((await looked("-fail-on", "act")).code, 2);
});

test("PV57: a narrow token sees that something is the matter, and no name that is not its own", async (t) => {
  const stage = await watched(t);
  const { server } = stage;
  await server.namespaces("team", "other");
  for (const namespace of ["team", "other"]) {
    for (const mount of ["mine", "theirs"]) {
      await server.counting(mount, {}, namespace);
      const lease = await server.issue(`${mount}/creds/r`, { namespace });
      server.outside.fail("revoke", () => new PermanentFailure("no"), 1);
      await server.revoke(lease.id, { sync: true }, { namespace });
    }
  }
  const rules =
    'path "sys/attention" { capabilities = ["read"] } path "mine/*" { capabilities = ["read"] }';
  const token = await server.client(rules, {}, "team");
  const inTeam = itemsIn(
    await server.must("GET", "sys/attention", undefined, { token, namespace: "team" }),
  );
  const subjects = inTeam.map(({ code, subject, namespace }) => [code, subject, namespace]);
  assert.deepEqual(subjects, [
    ["lease.irrevocable", "mine/", "team"],
    ["lease.irrevocable", null, "team"],
  ]);
  assert.ok(!JSON.stringify(inTeam).includes("theirs"));
  const blind = await server.client('path "kv/*" { capabilities = ["read"] }', {}, "team");
  const refused = await server.ask("GET", "sys/attention", undefined, {
    token: blind,
    namespace: "team",
  });
  assert.equal(refused.status, 403);
  // The operators of the server see what is below them.
  assert.equal((await stage.items("lease.irrevocable")).length, 4);
  const narrow = await server.client('path "sys/attention" { capabilities = ["read"] }');
  const seen = itemsIn(await server.must("GET", "sys/attention", undefined, { token: narrow }));
  assert.ok(
    seen
      .filter(({ code }) => code === "lease.irrevocable")
      .every(({ subject }) => subject === null),
  );
});

test("many in one namespace hide nothing in another, and what is not shown is counted", async () => {
  const { barrier, world } = await madeBarrier();
  const [a, b] = ["team-a", "team-b"].map((path) => ({ id: `id-${path}`, path, created: 1n }));
  assert.ok(a !== undefined && b !== undefined);
  let ofA = 150;
  let broken = false;
  const orphans = (): MountFact[] => {
    if (broken) throw new TypeError("no");
    const many = Array.from({ length: ofA }, (_, i) => ({
      namespace: a,
      path: `m${i}/`,
      count: 1,
    }));
    return [...many, { namespace: b, path: "kv/", count: 1 }];
  };
  const attention = new Attention({
    ...world,
    view: barrier.view("core/").sub("attention/"),
    facts: facts({ orphans }),
    reachOf: async () => () => true,
  });
  attention.open();
  const lookIn = async (namespace: NamespaceRef) => {
    const looked = await attention.lookFor(MANAGEMENT, namespace);
    assert.equal(looked.complete, !broken);
    return looked.items.filter(({ code }) => code === "orphans");
  };
  const counted = () => attention.counts().find(({ code }) => code === "orphans")?.count;
  const subjects = (items: readonly { readonly subject: string | null }[]) =>
    items.map(({ subject }) => subject);

  assert.deepEqual(subjects(await lookIn(b)), ["kv/"]);
  const inA = await lookIn(a);
  assert.equal(inA.length, 101);
  assert.deepEqual(inA.at(-1)?.namespace, a, "the rest is told where it is");
  assert.deepEqual([inA.at(-1)?.more, inA.at(-1)?.text], [50, "50 more are like these"]);
  assert.ok(inA.slice(0, 100).every(({ more }) => more === 0));
  assert.equal((await lookIn(ROOT_NAMESPACE)).at(-1)?.more, 51);
  assert.equal(counted(), 151);

  // It is written down for each, and what is put off stays so, wherever it is in the list.
  await attention.record();
  const until = world.clock.now() + DAY;
  await attention.snooze(b, { code: "orphans", subject: "kv/", until, reason: "known" });
  for (const subject of ["m0/", "m149/"]) {
    await attention.snooze(a, { code: "orphans", subject, until, reason: "known" });
  }
  const rest = { code: "orphans", subject: "", until, reason: "the rest" };
  await assert.rejects(attention.snooze(a, rest), /nothing/i);
  await world.timers.advance(MINUTE);
  await attention.record();
  const [putOff] = await lookIn(b);
  assert.equal(putOff?.snoozed?.reason, "known");
  assert.equal(putOff?.since, showTime(until - DAY), "as it was first seen");
  assert.equal(counted(), 148);
  assert.ok(!subjects(await lookIn(a)).includes("m0/"), "what is put off comes last");

  // A check that cannot be made is another thing than what was not shown, and ends nothing.
  broken = true;
  await attention.record();
  const [failed, ...others] = await lookIn(ROOT_NAMESPACE);
  assert.deepEqual([failed?.more, failed?.subject, others.length], [0, "", 0]);
  broken = false;
  await attention.record();
  assert.equal((await lookIn(b))[0]?.snoozed?.reason, "known");
  const { found } = attention.history(ROOT_NAMESPACE, null, 10);
  assert.deepEqual(subjects(found.map(({ item }) => item)), [""], "that it could not be checked");
  ofA = 0;
  await attention.record();
  assert.equal(attention.history(ROOT_NAMESPACE, null, 1000).found.length, 1 + 101);
  attention.close();
});

test("PV58: with 100,000 leases on 10,000 mounts a look takes no more than 5 ms", async (t) => {
  const { barrier, world } = await madeBarrier();
  const namespace: NamespaceRef = { id: "ns1", path: "team", created: 1n };
  const counts = new Map<string, MountFact>();
  for (let i = 0; i < 10_000; i++) {
    counts.set(`m${i}`, { namespace, path: `m${i}/`, count: i % 100 === 0 ? 10 : 0 });
  }
  const byMount = () => [...counts.values()].filter(({ count }) => count > 0);
  const view = barrier.view("core/").sub("attention/");
  const many = facts({ stuckLeases: byMount, orphans: byMount, failedRotations: byMount });
  const attention = new Attention({ ...world, view, facts: many, reachOf: async () => () => true });
  attention.open();
  await staysBelow(5, () => void attention.look());
  attention.close();

  // 100,000 leases on 10,000 mounts as the room of leases counts them, one in a hundred of them stuck.
  const before = await madeLeases();
  const count = jsonCodec<object>();
  for (let at = 0; at < 10_000; at += 1000) {
    await before.barrier.view("local/").write((tx) => {
      for (let i = at; i < at + 1000; i++) {
        const stuck = { leases: 10, irrevocable: i % 100 === 0 ? 10 : 0, seen: "0" };
        tx.put(`leases/counts/m${i}`, stuck, count);
      }
    });
  }
  const { leases, world: later, barrier: own } = await restarted(before);
  assert.equal(leases.total.leases, 100_000);
  const stuckLeases = () =>
    leases.stuckByMount().map(({ uuid, count: number }) => ({
      namespace,
      path: `${uuid}/`,
      count: number,
    }));
  assert.equal(stuckLeases().length, 100);
  const counted = new Attention({
    ...later,
    view: own.view("core/").sub("attention/"),
    facts: facts({ stuckLeases }),
    reachOf: async () => () => true,
  });
  counted.open();
  assert.equal(counted.look().items.filter(({ code }) => code === "lease.irrevocable").length, 100);
  await staysBelow(5, () => void counted.look());
  counted.close();
  await closeRoom(leases);

  // The counters of a whole server are as quick.
  const server = await engineServer(t);
  for (let i = 0; i < 50; i++) await server.enable(`kv${i}`, "kv");
  await server.counting("count");
  for (let i = 0; i < 50; i++) await server.issue();
  await staysBelow(5, () => void server.test.server.attention.look());
});

/** The quickest of many tries: what is ours comes every time, what is the machine's does not. */
async function staysBelow(milliseconds: number, work: () => void): Promise<void> {
  let quickest = Infinity;
  for (let i = 0; i < 50 && quickest >= milliseconds; i++) {
    await nextTurn();
    const began = processorTime();
    work();
    quickest = Math.min(quickest, processorTime() - began);
  }
  assert.ok(quickest < milliseconds, `${quickest} ms`);
}

test("putting off: not what has to be acted on, not for long, and it fails no pipeline until then", async (t) => {
  const stage = await watched(t);
  const { server } = stage;
  const { time } = server;
  const file_path = join(server.test.auditDirectory, "one.log");
  await server.must("POST", "sys/audit/one", { type: "file", options: { file_path } });
  const until = (length: bigint) => showTime(time.clock.now() + length);
  const snooze = (code: string, body: object) =>
    server.ask("POST", `sys/attention/${code}/snooze`, body);
  const reason = "the second disk is ordered";
  const refusals: [string, object, number][] = [
    ["seal.share-one", { until: until(DAY), reason }, 400],
    ["audit.single", { until: until(31n * DAY), reason }, 400],
    ["audit.single", { until: until(-DAY), reason }, 400],
    ["audit.single", { until: "tomorrow", reason }, 400],
    ["audit.single", { until: until(DAY) }, 400],
    ["audit.single", { until: until(DAY), reason: "" }, 400],
    ["audit.single", { until: until(DAY), reason: " \t " }, 400],
    ["audit.single", { until: until(DAY), reason, subject: "x/" }, 404],
    ["log-raw", { until: until(DAY), reason }, 404],
    ["nothing", { until: until(DAY), reason }, 404],
  ];
  for (const [code, body, status] of refusals) {
    const answer = await snooze(code, body);
    assert.equal(answer.status, status, `${code}: ${answer.text}`);
  }
  const token = await server.client('path "sys/attention*" { capabilities = ["read", "update"] }');
  const unentitled = await server.ask(
    "POST",
    "sys/attention/audit.single/snooze",
    { until: until(DAY), reason },
    { token },
  );
  assert.equal(unentitled.status, 403);

  const cli = (...args: string[]) =>
    run(["attention", ...args, "-address", server.test.url], {
      env: { HOLDFAST_TOKEN: server.root },
    });
  assert.equal((await cli()).code, 0);
  const failing = await cli("-fail-on", "act");
  assert.equal(failing.code, 2, failing.all);
  assert.match(failing.stdout, /seal\.share-one/);
  const begun = await server.must("POST", "sys/rekey/init", {
    secret_shares: 3,
    secret_threshold: 2,
  });
  await server.must("POST", "sys/rekey/update", {
    key: server.shares[0],
    nonce: at(begun, "data", "nonce") ?? at(begun, "nonce"),
  });
  assert.equal((await cli("-fail-on", "soon")).code, 2, "nothing is backed up");
  await server.must("POST", "sys/storage/raft/snapshot-auto/config/weekly", {
    storage_type: "local",
    path_prefix: join(server.test.directory, "snapshots"),
    local_max_space: 1_000_000_000,
    interval: "168h",
  });
  const root = itemsIn(await server.must("GET", "sys/attention")).find(
    ({ code }) => code === "token.never-ends",
  );
  const withName = { subject: root?.subject, until: until(DAY), reason: "it makes the others" };
  assert.equal((await cli("-fail-on", "soon")).code, 2, "the root token never ends");
  assert.equal((await snooze("token.never-ends", withName)).status, 204);
  assert.equal((await cli("-fail-on", "soon")).code, 0);
  assert.equal((await cli("-fail-on", "note")).code, 2);
  assert.equal((await snooze("audit.single", { until: until(DAY), reason })).status, 204);
  assert.equal((await cli("-fail-on", "note")).code, 0);
  const metrics = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(metrics.text, /holdfast_attention\{code="audit.single",severity="note"\} 0/);
  assert.match(metrics.text, /holdfast_attention\{code="audit.none",severity="act"\} 0/);
  await time.passSlowly(2n * DAY, 6n * 3600n * 1_000_000_000n);
  assert.equal((await cli("-fail-on", "note")).code, 2);
  const doctor = await run(["doctor", "-address", server.test.url], {
    env: { HOLDFAST_TOKEN: server.root },
  });
  assert.match(doctor.stdout, /audit\.single/);
});
