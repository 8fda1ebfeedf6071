// Automated snapshots as time goes by: schedule, status, retention.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { ArchiveParser } from "../../../src/snapshots/archive/archive-parser.ts";
import { SystemWorkFiles } from "../../../src/system/work-file.ts";
import { FORMAT } from "../../../src/storage/engines/sqlite-format.ts";
import { startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { at } from "../../support/http-client.ts";
import {
  dataOf,
  done,
  HOUR,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import {
  AUTO,
  autoServer,
  cloudaConfig,
  secondsBetween,
} from "../../support/snapshots/auto-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };

test(
  "case 116: status before the first run, during one, after success and after failure",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3)));
    const fresh = await server.status("a");
    assert.deepEqual(fresh, {
      state: "waiting",
      waiting_for: "",
      snapshot_start: null,
      snapshot_url: "",
      last_snapshot_start: null,
      last_snapshot_end: null,
      last_snapshot_error: "",
      last_snapshot_url: "",
      last_snapshot_size: 0,
      last_snapshot_sha256: "",
      last_snapshot_index: 0,
      last_success: null,
      next_snapshot_start: fresh.next_snapshot_start,
      consecutive_errors: 0,
      rotation_error: "",
      stored_count: 0,
      stored_bytes: 0,
      last_proven: null,
      last_drill_result: null,
    });

    s3.faults.push({ action: "PutObject", kind: "hang" });
    const running = server.run("a");
    await until(() => s3.hanging() === 1);
    const during = await server.status("a");
    assert.equal(during.state, "uploading");
    assert.match(
      during.snapshot_url,
      /^http:\/\/127\.0\.0\.1:\d+\/backups\/east\/daily\/nightly-\d{19}\.snap$/,
    );
    assert.equal(during.last_snapshot_start, null);
    const named = during.snapshot_url.match(/-(\d+)\.snap$/)?.[1] ?? "";
    const began = Number(BigInt(named) / 1_000_000n);
    assert.ok(Math.abs(Date.parse(during.snapshot_start ?? "") - began) < 1000);
    // The store does not answer: the call is given up and made again.
    await server.passUntil(
      async () => (await server.status("a")).state === "waiting",
      10n * SECOND,
    );
    const answer = await running;
    const after = await server.status("a");
    assert.equal(answer.status, 202, "it took longer than is waited for");
    const [[key, object] = ["", undefined], ...others] = [...s3.objects];
    assert.equal(others.length, 0);
    assert.ok(object !== undefined);
    assert.ok(after.last_snapshot_url.endsWith(`/backups/${key}`));
    assert.equal(after.snapshot_url, after.last_snapshot_url);
    assert.equal(after.last_snapshot_error, "");
    assert.equal(after.last_snapshot_size, object.bytes.length);
    assert.equal(
      after.last_snapshot_sha256,
      createHash("sha256").update(object.bytes).digest("hex"),
    );
    const parser = new ArchiveParser(FORMAT);
    parser.push(object.bytes);
    assert.equal(after.last_snapshot_index, parser.end().meta.index);
    assert.deepEqual([after.stored_count, after.stored_bytes], [1, object.bytes.length]);
    assert.equal(after.last_success, after.last_snapshot_end);

    s3.control.denied.add("PutObject");
    refused(await server.run("a"), 502, /the snapshot failed: .*AccessDenied/);
    refused(await server.run("a"), 502, /AccessDenied/);
    const failed = await server.status("a");
    assert.match(
      failed.last_snapshot_error,
      /writing the snapshot: the store answered 403: AccessDenied/,
    );
    assert.equal(failed.consecutive_errors, 2);
    assert.equal(failed.last_snapshot_url, after.last_snapshot_url);
    assert.equal(failed.last_success, after.last_success);
    s3.control.denied.clear();
    assert.equal((await server.run("a")).status, 200);
    assert.equal((await server.status("a")).consecutive_errors, 0);

    const { attempts } = dataOf(await server.ask("GET", `${AUTO}/history/a`)) as unknown as {
      attempts: { error: string; url: string; size: number }[];
    };
    assert.deepEqual(
      attempts.map(({ error }) => error === ""),
      [true, false, false, true],
    );
  },
);

test(
  "case 117: the first run is one interval after the configuration; a restart keeps the schedule",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const written = server.milliseconds;
    done(await server.write("a", server.local({ retain: 10 })));
    const { next_snapshot_start: next } = await server.status("a");
    assert.ok(Math.abs(Date.parse(next) - written - 3_600_000) < 2000, next);
    await server.time.passSlowly(HOUR - 10n * SECOND, MINUTE);
    assert.deepEqual(server.files(), []);
    await server.crash();
    assert.equal((await server.status("a")).next_snapshot_start, next);
    const first = await server.ended("a");
    assert.ok(secondsBetween(next, first.last_snapshot_start) < 3, `${first.last_snapshot_start}`);
    assert.equal(server.files().length, 1);
    assert.equal(secondsBetween(first.last_snapshot_start, first.next_snapshot_start), 3600);
    // What fell due while nobody was there starts soon, and not at once with everything else.
    await server.die();
    server.time.clock.pass(5n * HOUR);
    const back = server.milliseconds;
    await server.restart();
    await until(async () => Date.parse((await server.status("a")).next_snapshot_start) >= back);
    const overdue = await server.status("a");
    assert.ok(Date.parse(overdue.next_snapshot_start) - back <= 300_000, "within 5 minutes");
    const second = await server.ended("a");
    assert.equal(server.files().length, 2);
    assert.equal(secondsBetween(second.last_snapshot_start, second.next_snapshot_start), 3600);
  },
);

test(
  "an interval that is changed counts from the last start, and a manual run from then on",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    done(await server.write("a", server.local({ retain: 10 })));
    assert.equal((await server.run("a")).status, 200);
    const ran = await server.status("a");
    assert.equal(secondsBetween(ran.last_snapshot_start, ran.next_snapshot_start), 3600);
    await server.time.passSlowly(10n * MINUTE, MINUTE);
    done(await server.write("a", { interval: "30m" }));
    const shorter = await server.status("a");
    assert.equal(secondsBetween(ran.last_snapshot_start, shorter.next_snapshot_start), 1800);
    done(await server.write("a", { interval: "1m" }));
    const due = await server.status("a");
    assert.ok(
      Date.parse(due.next_snapshot_start) >= server.milliseconds - 5000,
      "never in the past",
    );
    done(await server.write("a", { retain: 9 }));
    await server.ended("a");
    assert.equal(server.files().length, 2);
  },
);

test(
  "case 118: an allowance that is too small fails the attempt before it writes; nothing is deleted or left",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    done(await server.write("a", server.local({ retain: 5 })));
    assert.equal((await server.run("a")).status, 200);
    const [kept = ""] = server.files();
    const { last_snapshot_size: size } = await server.status("a");
    const before = readFileSync(join(server.place, kept));
    done(await server.write("a", { local_max_space: size + 10 }));
    refused(
      await server.run("a"),
      502,
      /local_max_space is \d+ bytes; 1 snapshots have \d+ and this one needs \d+/,
    );
    assert.deepEqual(server.files(), [kept]);
    assert.ok(readFileSync(join(server.place, kept)).equals(before));
    const status = await server.status("a");
    assert.match(status.last_snapshot_error, /local_max_space/);
    assert.equal(status.consecutive_errors, 1);
  },
);

test("case 119: of five runs the three newest remain, and foreign files", BOUND, async (t) => {
  const server = await autoServer(t);
  const digits = "1234567890123456789";
  const foreign = [
    "nightly-1.snap",
    `nightly-${digits}.snap.bak`,
    `nightly-${digits}0.snap`,
    `nightly-x-${digits}.snap`,
    `weekly-${digits}.snap`,
  ];
  for (const name of foreign) writeFileSync(join(server.place, name), "foreign");
  mkdirSync(join(server.place, "nightly-0000000000000000001.snap"));
  symlinkSync("/etc/hostname", join(server.place, "nightly-0000000000000000002.snap"));
  const strange = [
    ...foreign,
    "nightly-0000000000000000001.snap",
    "nightly-0000000000000000002.snap",
  ];
  done(await server.write("a", server.local({ retain: 3, interval: "10m" })));
  const urls: string[] = [];
  for (let i = 0; i < 5; i++) urls.push((await server.ended("a", 5n * SECOND)).last_snapshot_url);
  const names = urls.slice(-3).map((url) => url.split("/").at(-1) ?? "");
  assert.deepEqual(server.files(), [...names, ...strange].toSorted());
  const status = await server.status("a");
  assert.deepEqual([status.stored_count, status.rotation_error], [3, ""]);
  for (const name of foreign) {
    assert.equal(readFileSync(join(server.place, name), "utf8"), "foreign");
  }
  assert.ok(server.test.lines.some((line) => line.includes("snapshot.rotated")));
});

test("a node that does not lead makes no snapshots, and says so", BOUND, async (t) => {
  let leads = true;
  const server = await autoServer(t, { leads: () => leads });
  done(await server.write("a", server.local()));
  leads = false;
  await server.crash();
  await server.time.passSlowly(2n * HOUR, MINUTE);
  assert.equal((await server.status("a")).state, "disabled");
  assert.deepEqual(server.files(), []);
});

test(
  "a run of one configuration is one, however often it is asked for; stores that hang hold up no other",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    for (const name of ["a", "b", "c", "d"]) {
      done(await server.write(name, cloudaConfig(s3, { path_prefix: name, drill: "off" })));
    }
    done(await server.write("e", server.local()));
    s3.faults.push({ action: "PutObject", kind: "hang", times: 3 });
    const runs = ["a", "a", "b", "c"].map((name) => server.run(name));
    await until(() => s3.hanging() === 3);
    assert.equal((await server.run("d")).status, 200, "to the same type of store");
    assert.equal((await server.run("e")).status, 200, "to a directory");
    assert.equal(server.files().length, 1);
    assert.equal(s3.objects.size, 1);
    await server.passUntil(() => s3.objects.size === 4, 10n * SECOND);
    for (const answer of await Promise.all(runs)) assert.ok(answer.status < 300, answer.text);
    assert.equal(s3.objects.size, 4);
  },
);

test("two archives are made at a time, and who waits for that says so", BOUND, async (t) => {
  const server = await autoServer(t);
  const gate = Promise.withResolvers<void>();
  const files = new SystemWorkFiles();
  const create = t.mock.method(
    SystemWorkFiles.prototype,
    "createUnnamed",
    async (directory: string) => {
      await gate.promise;
      create.mock.restore();
      return files.createUnnamed(directory);
    },
  );
  const names = ["a", "b", "c"];
  for (const name of names) done(await server.write(name, server.local({ file_prefix: name })));
  const runs = names.map((name) => server.run(name));
  const all = () => Promise.all(names.map((name) => server.status(name)));
  const states = async () => (await all()).map(({ state }) => state).toSorted();
  await until(async () => (await states()).join() === "running,running,waiting");
  const waiting = (await all()).filter(({ waiting_for: text }) => text !== "");
  assert.equal(waiting.length, 1);
  assert.match(waiting[0]?.waiting_for ?? "", /its turn: archives of other configurations/);
  await server.passUntil(
    async () => /one waits for its turn/.test((await server.must("GET", "sys/attention")).text),
    HOUR,
  );
  // Hours after it was due: nothing starts in the past.
  const now = server.time.clock.now();
  for (const { next_snapshot_start: next } of await all()) {
    assert.ok(Date.parse(next) >= Number(now / 1_000_000n), next);
  }
  gate.resolve();
  await Promise.all(runs); // answered long ago: they went on
  await until(async () => (await all()).every(({ last_success: at }) => at !== null));
  assert.equal(server.files().length, 3);
  for (const { waiting_for: text } of await all()) assert.equal(text, "");
});

test("a configuration that moves counts what lies where it writes now", BOUND, async (t) => {
  const server = await autoServer(t);
  done(await server.write("a", server.local()));
  assert.equal((await server.run("a")).status, 200);
  assert.equal((await server.status("a")).stored_count, 1);
  done(await server.write("a", { local_max_space: 2_000_000_000 }));
  assert.equal((await server.status("a")).stored_count, 1, "the place is the same");
  const path = join(server.place, "elsewhere");
  mkdirSync(path, { mode: 0o700 });
  done(await server.write("a", { path_prefix: path }));
  const { stored_count: count, stored_bytes: bytes } = await server.status("a");
  assert.deepEqual([count, bytes], [0, 0]);
});

test("parameters of the query that nobody knows are named in warnings", BOUND, async (t) => {
  const server = await autoServer(t);
  done(await server.write("a", server.local()));
  for (const [method, path] of [
    ["POST", `${AUTO}/run/a?wait=false`],
    ["GET", `${AUTO}/history/a?limit=1`],
    ["GET", `${AUTO}/drills/a?limit=1`],
  ] as const) {
    const answer = await server.ask(method, path);
    assert.equal(answer.status, 200, answer.text);
    const warnings = at(answer, "warnings");
    assert.match(
      JSON.stringify(warnings),
      /parameters of the query are ignored: (?:wait|limit)/,
      path,
    );
  }
});

test("metrics tell of success, size, failures and how full the allowance is", BOUND, async (t) => {
  const server = await autoServer(t);
  done(await server.write("a", server.local({ local_max_space: 10_000_000 })));
  assert.equal((await server.run("a")).status, 200);
  const { last_snapshot_size: size } = await server.status("a");
  const { text } = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(text, new RegExp(`holdfast_snapshot_size_bytes\\{kind="automated"\\} ${size}\n`));
  assert.match(text, new RegExp(`holdfast_snapshot_space_used_ratio ${size / 10_000_000}\n`));
  assert.match(text, /holdfast_snapshot_errors_total\{kind="automated"\} 0\n/);
  assert.match(text, /holdfast_snapshot_failing_configurations 0\n/);
  const events = server.test.lines.filter((line) => line.includes("snapshot."));
  for (const event of ["snapshot.configured", "snapshot.started", "snapshot.succeeded"]) {
    assert.ok(
      events.some((line) => line.includes(event)),
      event,
    );
  }
  // What was made before a restart is not forgotten, and one that fails is not hidden by others.
  done(await server.write("b", server.local({ file_prefix: "other", local_max_space: 1 })));
  assert.equal((await server.run("b")).status, 502);
  await server.crash();
  const { text: later } = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(later, /holdfast_snapshot_last_success_timestamp_seconds\{kind="automated"\} \d/);
  assert.match(later, /holdfast_snapshot_failing_configurations 1\n/);
});

test(
  "a restore brings configurations back; what is known of attempts stays, and those that are due are made",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    done(await server.write("kept", server.local({ retain: 10 })));
    assert.equal((await server.run("kept")).status, 200);
    done(await server.write("gone", server.local({ file_prefix: "other" })));
    const { body } = await takeSnapshot(server.test.url, server.root);
    done(await server.ask("DELETE", `${AUTO}/config/gone`));
    assert.equal((await server.run("kept")).status, 200);
    const before = await server.status("kept");
    const sent = await sendSnapshot(server.test.url, server.root, "snapshot", body);
    assert.equal(sent.status, 204);
    await until(async () => {
      const { json } = await server.ask("GET", "sys/storage/raft/restore-status");
      return JSON.stringify(json).includes('"done"');
    });
    const after = await server.status("kept");
    assert.equal(after.last_snapshot_url, before.last_snapshot_url);
    assert.equal(after.next_snapshot_start, before.next_snapshot_start);
    assert.equal((await server.status("gone")).last_success, null);
    assert.equal((await server.ended("gone", 30n * SECOND)).last_snapshot_error, "");
    assert.equal((await server.ended("kept", 30n * SECOND)).last_snapshot_error, "");
    assert.ok(server.files().some((name) => name.startsWith("other-")));
  },
);
