// Drills of stored snapshots: what they find, when they are made, what is told of them and signed.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { s3Error, startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { startFakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import { startFakeGcs } from "../../fakes/stores/cloudc-store.ts";
import { run } from "../../cli/harness.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  dataOf,
  DAY,
  done,
  grants,
  HOUR,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import {
  AUTO,
  type AutoServer,
  autoServer,
  cloudaConfig,
  cloudbConfig,
  cloudcConfig,
  secondsBetween,
} from "../../support/snapshots/auto-server.ts";
import { archiveOf } from "../../support/snapshots/packed-archive.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };

/** Nothing is made or proven but what a test wants. */
const RARELY = { interval: "3650d", drill: "off" };

interface Drill {
  readonly start: string;
  readonly end: string;
  readonly result: string;
  readonly url: string;
  readonly size: number;
  readonly problems: readonly string[];
  readonly snapshot: {
    readonly index: number;
    readonly sha256: string;
    readonly entries: number;
    readonly opened_entries: number;
    readonly data_keys: number;
  } | null;
  readonly report: string | null;
}

interface DrillStatus {
  readonly drill: string;
  readonly state: string;
  readonly next_drill: string | null;
  readonly last_proven: string | null;
  readonly running: { readonly bytes: number } | null;
  readonly drills: readonly Drill[];
}

async function drillsOf(server: AutoServer, name = "a"): Promise<DrillStatus> {
  return dataOf(await server.ask("GET", `${AUTO}/drills/${name}`)) as unknown as DrillStatus;
}

function ask(server: AutoServer, name = "a"): Promise<Answer> {
  return server.ask("POST", `${AUTO}/drill/${name}`);
}

async function drilled(server: AutoServer, name = "a"): Promise<Drill> {
  const answer = await ask(server, name);
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data", "last") as unknown as Drill;
}

/** Time passes until a drill has ended that was not there before. */
async function nextDrill(server: AutoServer, step = SECOND): Promise<Drill> {
  const before = (await drillsOf(server)).drills.length;
  await server.passUntil(async () => (await drillsOf(server)).drills.length > before, step);
  return (await drillsOf(server)).drills[0]!;
}

async function health(server: AutoServer): Promise<Record<string, unknown>> {
  const { json } = await server.ask("GET", "sys/health");
  return json as Record<string, unknown>;
}

/** A configuration without a plan for drills, and one snapshot in its directory. */
async function stored(t: TestContext, change: object = {}) {
  const server = await autoServer(t);
  done(await server.write("a", server.local(change)));
  assert.equal((await server.run("a")).status, 200);
  const file = () => join(server.place, server.files().at(-1) ?? "");
  return { server, file };
}

test("a stored snapshot is proven, and what was found is signed", BOUND, async (t) => {
  const { server } = await stored(t);
  await server.enable("kv", "kv");
  await server.must("POST", "kv/data/secret", { data: { key: "value" } });
  assert.equal((await server.run("a")).status, 200);
  assert.equal((await health(server))["last_proven_restore"], null);
  const drill = await drilled(server);
  const status = await server.status("a");
  assert.equal(drill.result, "proven", drill.problems.join());
  assert.deepEqual(drill.problems, []);
  assert.equal(drill.url, status.last_snapshot_url);
  assert.equal(drill.size, status.last_snapshot_size);
  assert.ok(drill.snapshot !== null);
  assert.equal(drill.snapshot.sha256, status.last_snapshot_sha256);
  assert.equal(drill.snapshot.index, status.last_snapshot_index);
  assert.ok(drill.snapshot.opened_entries > 20);
  assert.equal(drill.snapshot.data_keys, 1);
  assert.equal(status.last_proven, drill.end);
  assert.equal((await health(server))["last_proven_restore"], drill.end);
  const { drills, last_proven: proven, next_drill: next } = await drillsOf(server);
  assert.deepEqual([drills, proven, next], [[drill], drill.end, null]);

  // The report stands by itself: two files and a command that asks no server.
  const found = await server.must("GET", `sys/evidence/${drill.report}`);
  assert.equal(at(found, "data", "kind"), "snapshot.drill");
  const envelope = at(found, "data", "envelope") as { payload: string };
  const report = JSON.parse(Buffer.from(envelope.payload, "base64").toString()) as {
    subject: object;
    result: { state: string; opened: number };
    inputs: object[];
    not_proven: string[];
  };
  assert.deepEqual(report.inputs, [{ name: "snapshot", digest: status.last_snapshot_sha256 }]);
  assert.equal(report.result.state, "proven");
  assert.equal(report.result.opened, drill.snapshot.opened_entries);
  assert.ok(report.not_proven.some((text) => text.includes("shares")));
  const folder = mkdtempSync(join(tmpdir(), "drill-report-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [file, keys] = [join(folder, "report.json"), join(folder, "keys.json")];
  writeFileSync(file, JSON.stringify(envelope));
  writeFileSync(keys, (await server.ask("GET", "sys/evidence/keys")).text);
  const good = await run(["evidence", "verify", "-keys", keys, file]);
  assert.equal(good.code, 0, good.all);
  assert.match(good.all, /snapshot\.drill/);
  const other = { ...report, result: { ...report.result, opened: 1 } };
  const payload = Buffer.from(JSON.stringify(other)).toString("base64");
  writeFileSync(file, JSON.stringify({ ...envelope, payload }));
  assert.equal((await run(["evidence", "verify", "-keys", keys, file])).code, 1);

  const { text } = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(text, /holdfast_snapshot_drills_total\{result="proven"\} 1\n/);
  assert.match(text, /holdfast_snapshot_drill_last_proven_timestamp_seconds \d/);
  assert.match(text, /holdfast_snapshot_drill_failing_configurations 0\n/);
  assert.match(text, /holdfast_snapshot_drill_duration_seconds \d/);
  assert.ok(server.test.lines.some((line) => line.includes("drill.proven")));

  // A restart forgets none of it; while the server is sealed nothing is told of it.
  await server.crash();
  assert.equal((await health(server))["last_proven_restore"], drill.end);
  await server.must("PUT", "sys/seal");
  const sealed = await server.test.call("GET", "/v1/sys/health");
  assert.equal(at(sealed, "last_proven_restore"), null);
});

test("what is wrong with a snapshot is said exactly", BOUND, async (t) => {
  const { server, file } = await stored(t);
  const whole = readFileSync(file());
  const wrong = async (bytes: Uint8Array): Promise<string> => {
    writeFileSync(file(), bytes);
    const drill = await drilled(server);
    assert.equal(drill.result, "failed");
    assert.ok(drill.report !== null, "that is signed for too");
    const found = await server.must("GET", `sys/evidence/${drill.report}`);
    const { payload } = at(found, "data", "envelope") as { payload: string };
    assert.match(Buffer.from(payload, "base64").toString(), /"state":"failed"/);
    return drill.problems.join("; ");
  };
  const flipped = Buffer.from(whole);
  flipped[whole.length - 4000]! ^= 1;
  assert.match(await wrong(flipped), /^the snapshot is damaged: /);
  const short = await wrong(whole.subarray(0, 3000));
  assert.match(short, /ends early: it has 3000 bytes/);
  assert.match(short, new RegExp(`it has 3000 bytes, and ${whole.length} were stored`));
  assert.match(await wrong(Buffer.from("PK")), /ends early|not a snapshot of Holdfast/);
  assert.match(await wrong(Buffer.alloc(5000, "x")), /^this is not a snapshot of Holdfast: /);
  const newer = Buffer.from(whole);
  newer.write('"Version":9', whole.indexOf('"Version":1'));
  assert.match(await wrong(newer), /later form than this version reads: version 9/);
  const tiny = await wrong(archiveOf(gunzipSync(whole), 1));
  assert.match(tiny, /^this is not a snapshot of Holdfast: its data is cut into other blocks/);
  assert.match(await wrong(Buffer.alloc(0)), /ends early: it has 0 bytes/);
  // One of ours, whole, that is not the one which was stored under this name.
  const { body: another } = await takeSnapshot(server.test.url, server.root);
  assert.match(await wrong(another), /bytes, and \d+ were stored|another one than was stored/);
  // One of another server.
  const stranger = await autoServer(t);
  const { body: foreign } = await takeSnapshot(stranger.test.url, stranger.root);
  assert.match(await wrong(foreign), /is of another cluster \(/);
  const { last_snapshot_url: lost } = await server.status("a");
  rmSync(file());
  const none = await drilled(server);
  assert.deepEqual(none.problems, [
    `there is no snapshot in file://${server.place}/: ${lost} is gone, and this server has not deleted it`,
  ]);
  assert.equal(none.url, lost);
  assert.equal(none.result, "failed");
  assert.equal((await health(server))["last_proven_restore"], null);
});

test(
  "the newest snapshot that is gone from its place fails the drill, though older ones are whole",
  BOUND,
  async (t) => {
    const { server, file } = await stored(t, { retain: 3 });
    assert.equal((await server.run("a")).status, 200);
    assert.equal((await drilled(server)).result, "proven");
    const { last_snapshot_url: url } = await server.status("a");
    rmSync(file());
    assert.equal((await server.status("a")).stored_count, 2);
    const gone = await drilled(server);
    assert.equal(gone.result, "failed");
    assert.equal(gone.url, url);
    // What the drill has seen is what status counts.
    const after = await server.status("a");
    const [left = ""] = server.files();
    const bytes = statSync(join(server.place, left)).size;
    assert.deepEqual([after.stored_count, after.stored_bytes], [1, bytes]);
    assert.equal(after.last_drill_result, "failed");
    assert.match(gone.problems.join(), /is gone, and this server has not deleted it/);
    const found = await server.must("GET", `sys/evidence/${gone.report}`);
    const { payload } = at(found, "data", "envelope") as { payload: string };
    assert.match(Buffer.from(payload, "base64").toString(), /"state":"failed"/);
    // What rotation of our own deletes is no loss.
    assert.equal((await server.run("a")).status, 200);
    done(await server.write("a", server.local({ retain: 1 })));
    assert.equal((await server.run("a")).status, 200);
    assert.equal((await drilled(server)).result, "proven");
  },
);

test("a snapshot of the same length that is another one is found by its sum", BOUND, async (t) => {
  const { server, file } = await stored(t, { retain: 2 });
  const first = file();
  assert.equal((await server.run("a")).status, 200);
  const second = file();
  assert.notEqual(first, second);
  const [older, newer] = [readFileSync(first), readFileSync(second)];
  writeFileSync(second, older);
  const { result, problems } = await drilled(server);
  assert.equal(result, "failed");
  const what =
    older.length === newer.length
      ? /another one than was stored under this name: the SHA-256 was [0-9a-f]{64}/
      : /were stored under this name/;
  assert.match(problems.join(), what);
});

test(
  "after a rekey older snapshots need the shares of their day: a drill says so",
  BOUND,
  async (t) => {
    const { server } = await stored(t);
    await server.time.passSlowly(MINUTE, 10n * SECOND);
    const begun = await server.must("POST", "sys/rekey/init", {
      secret_shares: 1,
      secret_threshold: 1,
    });
    const nonce = at(begun, "data", "nonce") ?? at(begun, "nonce");
    await server.must("POST", "sys/rekey/update", { key: server.shares[0], nonce });
    const { result, problems } = await drilled(server);
    assert.equal(result, "failed");
    assert.match(problems.join(), /does not open with today's root key, which dates from/);
    assert.equal((await server.run("a")).status, 200);
    assert.equal((await drilled(server)).result, "proven");
  },
);

test(
  "unless said the first snapshot is proven at once, and the newest every week",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    done(await server.write("a", server.local({ interval: "12h", retain: 30, drill: undefined })));
    const fresh = await drillsOf(server);
    assert.deepEqual(
      [fresh.drill, fresh.state, fresh.next_drill, fresh.drills],
      ["7d", "waiting", null, []],
    );
    assert.equal((await server.run("a")).status, 200);
    const first = await nextDrill(server);
    assert.equal(first.result, "proven");
    const { next_drill: next } = await drillsOf(server);
    assert.equal(secondsBetween(first.start, next), 7 * 86_400);
    await server.time.passSlowly(6n * DAY, HOUR);
    assert.equal((await drillsOf(server)).drills.length, 1);
    const second = await nextDrill(server, HOUR);
    assert.ok(secondsBetween(next, second.start) < 6 * 3600, second.start);
    // Of the newest: one that came with it may be there by then or not.
    const { attempts } = dataOf(await server.ask("GET", `${AUTO}/history/a`)) as unknown as {
      attempts: { url: string; end: string }[];
    };
    const attempt = attempts.find(({ url }) => url === second.url);
    assert.ok(
      attempt !== undefined && Math.abs(secondsBetween(attempt.end, second.start)) < 86_400,
    );
    assert.notEqual(second.url, first.url);
  },
);

test("after each n-th snapshot, and never where it is off", BOUND, async (t) => {
  const server = await autoServer(t);
  done(await server.write("a", server.local({ retain: 10, drill: "3" })));
  for (let i = 1; i <= 6; i++) {
    assert.equal((await server.run("a")).status, 200);
    await server.time.passSlowly(10n * SECOND, SECOND);
    await until(async () => (await drillsOf(server)).state === "waiting");
    assert.equal((await drillsOf(server)).drills.length, Math.floor(i / 3), `after ${i}`);
  }
  done(await server.write("a", { drill: "off" }));
  for (let i = 1; i <= 4; i++) assert.equal((await server.run("a")).status, 200);
  await server.time.passSlowly(10n * SECOND, SECOND);
  const { drills, drill, next_drill: next } = await drillsOf(server);
  assert.deepEqual([drills.length, drill, next], [2, "off", null]);
  // What was stored meanwhile is proven as soon as there is a plan again.
  done(await server.write("a", { drill: "4" }));
  assert.equal((await nextDrill(server)).result, "proven");
  done(await server.write("a", { drill: "36h" }));
  assert.equal((await drillsOf(server)).drill, "36h");
  for (const drill of ["0", "-1", "5s", "often", "", "1.5", "4000d", "1000000"]) {
    refused(await server.write("a", { drill }), 400, /drill must be off, a count such as 4/);
  }
});

test("what was found wrong is looked at again with the next snapshot", BOUND, async (t) => {
  const { server, file } = await stored(t, { retain: 5, interval: "24h" });
  writeFileSync(file(), "nothing");
  done(await server.write("a", { drill: "30d" }));
  assert.equal((await nextDrill(server)).result, "failed");
  const { text } = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(text, /holdfast_snapshot_drill_failing_configurations 1\n/);
  await server.time.passSlowly(2n * HOUR, 10n * MINUTE);
  assert.equal((await drillsOf(server)).drills.length, 1, "nothing has changed there");
  assert.equal((await server.run("a")).status, 200);
  assert.equal((await nextDrill(server)).result, "proven");
});

for (const [kind, start] of [
  [
    "clouda-store",
    async (now: () => number) => {
      const fake = await startFakeS3({ now });
      return { fake, config: cloudaConfig(fake, RARELY), read: "GetObject" };
    },
  ],
  [
    "cloudb-blob",
    async (now: () => number) => {
      const fake = await startFakeBlob({ now });
      return { fake, config: cloudbConfig(fake, RARELY), read: "GetBlob" };
    },
  ],
  [
    "cloudc-store",
    async (now: () => number) => {
      const fake = await startFakeGcs({ now });
      return { fake, config: cloudcConfig(fake, RARELY), read: "Read" };
    },
  ],
] as const) {
  test(
    `${kind}: read back from the store; one that does not give it has proven nothing`,
    BOUND,
    async (t) => {
      const server = await autoServer(t);
      const { fake, config, read } = await start(() => server.milliseconds);
      t.after(() => fake.close());
      done(await server.write("a", config));
      assert.equal((await server.run("a")).status, 200);
      const drill = await drilled(server);
      assert.equal(drill.result, "proven", drill.problems.join());
      assert.equal(drill.url, (await server.status("a")).last_snapshot_url);
      // Cut in the middle: that says nothing of what is stored.
      fake.faults.push({ action: read, kind: "cut" });
      refused(await ask(server), 502, /the drill could not be made: reading a snapshot: /);
      const cut = (await drillsOf(server)).drills[0];
      assert.deepEqual([cut?.result, cut?.report], ["not-made", null]);
      assert.equal((await drillsOf(server)).last_proven, drill.end);
      // By plan it is tried again after a minute, two, four.
      const answer = s3Error(503, "SlowDown", "Please reduce your request rate.");
      fake.faults.push({ action: read, kind: "refuse", answer, times: 1000 });
      done(await server.write("a", { drill: "1h" }));
      await server.time.passSlowly(HOUR - MINUTE, 10n * MINUTE);
      const pauses: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { end, result } = await nextDrill(server, 5n * SECOND);
        assert.equal(result, "not-made");
        pauses.push(secondsBetween(end, (await drillsOf(server)).next_drill));
      }
      assert.ok(
        pauses.every((one, i) => i === 0 || one === 2 * pauses[i - 1]! || one === 3600),
        pauses.join(", "),
      );
      fake.faults.length = 0;
      assert.equal((await nextDrill(server, 30n * SECOND)).result, "proven");
    },
  );
}

test(
  "a drill is one however often it is asked for, and no other runs beside it",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    for (const name of ["a", "b"]) {
      const change = { path_prefix: name, drill: "off" };
      done(await server.write(name, cloudaConfig(s3, change)));
      assert.equal((await server.run(name)).status, 200);
    }
    s3.faults.push({ action: "GetObject", kind: "hang" });
    const requests = [ask(server), ask(server)];
    await until(() => s3.hanging() === 1);
    assert.equal((await drillsOf(server)).state, "running");
    refused(await ask(server, "b"), 503, /a drill of another configuration is under way/);
    await server.passUntil(async () => (await drillsOf(server)).state === "waiting", 10n * SECOND);
    for (const answer of await Promise.all(requests)) assert.equal(answer.status, 202, answer.text);
    const { drills } = await drillsOf(server);
    assert.deepEqual(
      drills.map(({ result }) => result),
      ["proven"],
    );
    assert.equal(
      s3.actions().filter((action) => action === "GetObject").length,
      2,
      "and one again",
    );
    assert.equal((await drilled(server, "b")).result, "proven");
  },
);

for (const [how, stop] of [
  ["dies", (server: AutoServer) => server.crash()],
  [
    "is sealed",
    async (server: AutoServer) => {
      await server.must("PUT", "sys/seal");
      await server.test.unseal(server.shares);
    },
  ],
] as const) {
  test(
    `a drill that is under way when the server ${how} is told of, and made again`,
    BOUND,
    async (t) => {
      const server = await autoServer(t);
      const s3 = await startFakeS3({ now: () => server.milliseconds });
      t.after(() => s3.close());
      done(await server.write("a", cloudaConfig(s3, { drill: "30d" })));
      s3.faults.push({ action: "GetObject", kind: "hang" });
      assert.equal((await server.run("a")).status, 200);
      await server.passUntil(() => s3.hanging() === 1, SECOND);
      await stop(server);
      const back = server.milliseconds;
      await until(async () => (await drillsOf(server)).drills.length === 1);
      const { drills, next_drill: next } = await drillsOf(server);
      assert.equal(drills[0]?.result, "interrupted");
      assert.match(drills[0]?.problems.join() ?? "", /before it had ended/);
      assert.ok(Date.parse(next ?? "") - back <= 310_000, `${next}`);
      assert.equal((await nextDrill(server, 10n * SECOND)).result, "proven");
      assert.equal(
        (await health(server))["last_proven_restore"],
        (await drillsOf(server)).last_proven,
      );
    },
  );
}

test("a node that does not lead makes no drills, and says so", BOUND, async (t) => {
  let leads = true;
  const server = await autoServer(t, { leads: () => leads });
  done(await server.write("a", server.local({ drill: "1h", interval: "3650d" })));
  assert.equal((await server.run("a")).status, 200);
  assert.equal((await nextDrill(server)).result, "proven");
  leads = false;
  await server.crash();
  await server.time.passSlowly(3n * HOUR, MINUTE);
  const { state, drills } = await drillsOf(server);
  assert.deepEqual([state, drills.length], ["disabled", 1]);
});

test(
  "one that is deleted is no longer drilled, and nothing but the time of the proof is left",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3, { drill: "off" })));
    assert.equal((await server.run("a")).status, 200);
    const proven = await drilled(server);
    s3.faults.push({ action: "GetObject", kind: "hang" });
    const running = ask(server);
    await until(() => s3.hanging() === 1);
    done(await server.ask("DELETE", `${AUTO}/config/a`));
    refused(await running, 404);
    refused(await server.ask("GET", `${AUTO}/drills/a`), 404);
    refused(await ask(server), 404);
    assert.deepEqual(server.storedKeys("snapshots/"), ["core/snapshots/auto/drills/proven"]);
    assert.equal((await health(server))["last_proven_restore"], proven.end);
  },
);

test("one that makes way for a newer one while it is read is no failure", BOUND, async (t) => {
  const server = await autoServer(t);
  const s3 = await startFakeS3({ now: () => server.milliseconds });
  t.after(() => s3.close());
  done(await server.write("a", cloudaConfig(s3, { drill: "off", retain: 1 })));
  assert.equal((await server.run("a")).status, 200);
  s3.faults.push({ action: "GetObject", kind: "hang" });
  const running = ask(server);
  await until(() => s3.hanging() === 1);
  assert.equal((await server.run("a")).status, 200);
  await server.passUntil(async () => (await drillsOf(server)).state === "waiting", 10n * SECOND);
  await running;
  const [drill] = (await drillsOf(server)).drills;
  assert.ok(drill !== undefined);
  assert.equal(drill.result, "proven", drill.problems.join());
  assert.equal(drill.url, (await server.status("a")).last_snapshot_url);
});

test(
  "what was proven stays with the cluster when an older snapshot is restored",
  BOUND,
  async (t) => {
    const { server } = await stored(t);
    const { body } = await takeSnapshot(server.test.url, server.root);
    const drill = await drilled(server);
    const sent = await sendSnapshot(server.test.url, server.root, "snapshot", body);
    assert.equal(sent.status, 204);
    await until(async () => {
      const { json } = await server.ask("GET", "sys/storage/raft/restore-status");
      return JSON.stringify(json).includes('"done"');
    });
    assert.equal((await health(server))["last_proven_restore"], drill.end);
    assert.deepEqual((await drillsOf(server)).drills, [drill]);
  },
);

test(
  "history has the newest 64, and a drill needs sudo in the root namespace",
  BOUND,
  async (t) => {
    const { server, file } = await stored(t);
    writeFileSync(file(), "nothing");
    const first = await drilled(server);
    for (let i = 0; i < 64; i++) await drilled(server);
    const { drills } = await drillsOf(server);
    assert.equal(drills.length, 64);
    assert.ok(!drills.some(({ report }) => report === first.report));
    const drill = `${AUTO}/drill/a`;
    const without = await server.client(grants(drill, "update"));
    refused(
      await server.ask("POST", drill, undefined, { token: without }),
      403,
      /permission denied/,
    );
    const allowed = await server.client(
      grants(drill, "update", "sudo") + grants(`${AUTO}/drills/a`, "read"),
    );
    assert.equal((await server.ask("POST", drill, undefined, { token: allowed })).status, 200);
    const read = await server.ask("GET", `${AUTO}/drills/a`, undefined, { token: allowed });
    assert.equal(read.status, 200);
    await server.namespaces("team");
    refused(
      await server.ask("POST", drill, undefined, { namespace: "team" }),
      403,
      /restricted endpoint/,
    );
  },
);
