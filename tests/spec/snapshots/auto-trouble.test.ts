// Automated snapshots when something is the matter: stores that refuse, throttle or hang, and servers that die.

import assert from "node:assert/strict";
import test from "node:test";
import { s3Error, startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { startFakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import { startFakeGcs } from "../../fakes/stores/cloudc-store.ts";
import { done, HOUR, MINUTE, refused, SECOND } from "../../support/servers/engine-server.ts";
import {
  AUTO,
  autoServer,
  cloudaConfig,
  cloudbConfig,
  cloudcConfig,
  secondsBetween,
} from "../../support/snapshots/auto-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };

test("older ones that cannot be deleted are told of, and the snapshot counts", BOUND, async (t) => {
  const server = await autoServer(t);
  const s3 = await startFakeS3({ now: () => server.milliseconds });
  t.after(() => s3.close());
  done(await server.write("a", cloudaConfig(s3)));
  assert.equal((await server.run("a")).status, 200);
  s3.control.denied.add("DeleteObject");
  assert.equal((await server.run("a")).status, 200);
  const status = await server.status("a");
  assert.match(status.rotation_error, /deleting an object: .*AccessDenied/);
  assert.deepEqual([status.last_snapshot_error, status.stored_count], ["", 2]);
  s3.control.denied.clear();
  assert.equal((await server.run("a")).status, 200);
  assert.deepEqual((await server.status("a")).rotation_error, "");
  assert.equal(s3.objects.size, 1);
});

test(
  "case 120: a bucket that refuses is told of and tried again ever more rarely, until it recovers",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3, { interval: "24h" })));
    s3.control.denied.add("PutObject");
    await server.time.passSlowly(24n * HOUR - MINUTE, HOUR);
    const pauses: number[] = [];
    for (let i = 1; i <= 4; i++) {
      const status = await server.ended("a", 5n * SECOND);
      assert.match(status.last_snapshot_error, /403: AccessDenied: "Access Denied"/);
      assert.equal(status.consecutive_errors, i);
      pauses.push(secondsBetween(status.last_snapshot_end, status.next_snapshot_start));
    }
    assert.deepEqual(pauses, [60, 120, 240, 480]);
    s3.control.denied.clear();
    const recovered = await server.ended("a", 5n * SECOND);
    assert.deepEqual([recovered.last_snapshot_error, recovered.consecutive_errors], ["", 0]);
    assert.equal(
      secondsBetween(recovered.last_snapshot_start, recovered.next_snapshot_start),
      86_400,
    );
    assert.equal(s3.objects.size, 1);
  },
);

test("another interval does not put off what is to be tried again", BOUND, async (t) => {
  const server = await autoServer(t);
  const s3 = await startFakeS3({ now: () => server.milliseconds });
  t.after(() => s3.close());
  done(await server.write("a", cloudaConfig(s3, { drill: "off" })));
  s3.control.denied.add("PutObject");
  const failed = await server.ended("a", MINUTE);
  assert.equal(failed.consecutive_errors, 1);
  done(await server.write("a", { interval: "240h" }));
  const { next_snapshot_start: next } = await server.status("a");
  assert.equal(next, failed.next_snapshot_start, "a minute after the failure");
  s3.control.denied.clear();
  const succeeded = await server.ended("a", MINUTE);
  assert.equal(succeeded.consecutive_errors, 0);
  const seconds = secondsBetween(succeeded.last_snapshot_start, succeeded.next_snapshot_start);
  assert.equal(seconds, 240 * 3600);
});

test("throttling is waited out within a run", BOUND, async (t) => {
  const server = await autoServer(t);
  const s3 = await startFakeS3({ now: () => server.milliseconds });
  t.after(() => s3.close());
  done(await server.write("a", cloudaConfig(s3)));
  const answer = s3Error(503, "SlowDown", "Please reduce your request rate.");
  s3.faults.push({ action: "PutObject", kind: "refuse", answer, times: 3 });
  const running = server.run("a");
  await server.passUntil(() => s3.objects.size === 1, SECOND);
  assert.ok((await running).status < 300);
  await until(async () => (await server.status("a")).state === "waiting");
  assert.equal((await server.status("a")).consecutive_errors, 0);
});

/** More than one part. */
async function grown(server: Awaited<ReturnType<typeof autoServer>>): Promise<void> {
  await server.enable("kv", "kv", { options: { version: "1" } });
  for (let i = 0; i < 40; i++) {
    await server.must("POST", `kv/large-${i}`, {
      value: String(i).repeat(450_000).slice(0, 450_000),
    });
  }
}

for (const [kind, start] of [
  [
    "clouda-store",
    async (now: () => number) => {
      const fake = await startFakeS3({ now });
      return {
        fake,
        config: (change: object) => cloudaConfig(fake, change),
        part: "UploadPart",
        visible: () => [...fake.objects.keys()],
        left: () => fake.uploads.size,
      };
    },
  ],
  [
    "cloudb-blob",
    async (now: () => number) => {
      const fake = await startFakeBlob({ now });
      return {
        fake,
        config: (change: object) => cloudbConfig(fake, change),
        part: "PutBlock",
        visible: () => [...fake.blobs.keys()],
        left: () => fake.blocks.size,
      };
    },
  ],
  [
    "cloudc-store",
    async (now: () => number) => {
      const fake = await startFakeGcs({ now });
      return {
        fake,
        config: (change: object) => cloudcConfig(fake, change),
        part: "SessionPut",
        visible: () => [...fake.objects.keys()],
        left: () => [...fake.sessions.values()].filter((session) => !session.done).length,
      };
    },
  ],
] as const) {
  test(
    `case 121: ${kind}: a server that dies in an upload leaves no visible part, and the next clears away what is left`,
    BOUND,
    async (t) => {
      const server = await autoServer(t);
      const store = await start(() => server.milliseconds);
      t.after(() => store.fake.close());
      await grown(server);
      done(await server.write("a", store.config({ retain: 1 })));
      assert.equal((await server.run("a")).status, 200);
      const [first = ""] = store.visible();
      store.fake.faults.push({ action: store.part, kind: "hang", after: 1 });
      const running = server.run("a");
      running.catch(() => {});
      await until(() => store.fake.hanging() === 1);
      await server.die();
      assert.deepEqual(store.visible(), [first], "the one before stays");
      assert.equal(store.left(), 1);
      await server.restart();
      const status = await server.ended("a", MINUTE);
      assert.equal(status.last_snapshot_error, "");
      assert.equal(store.left(), 0);
      assert.equal(store.visible().length, 1);
      assert.notEqual(store.visible()[0], first);
    },
  );
}

test(
  "case 121: a server that dies while it deletes older ones keeps the newest, and goes on",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3, { retain: 3 })));
    for (let i = 0; i < 3; i++) assert.equal((await server.run("a")).status, 200);
    done(await server.write("a", { retain: 1 }));
    s3.faults.push({ action: "DeleteObject", kind: "hang", after: 1 });
    const running = server.run("a");
    running.catch(() => {});
    await until(() => s3.hanging() === 1);
    const newest = [...s3.objects.keys()].toSorted().at(-1) ?? "";
    assert.equal((await server.status("a")).state, "rotating");
    await server.die();
    assert.equal(s3.objects.size, 3);
    await server.restart();
    assert.ok(s3.objects.has(newest), "the newest stays while nobody is there");
    const status = await server.ended("a", MINUTE);
    assert.equal(status.last_snapshot_error, "");
    assert.equal(s3.objects.size, 1);
  },
);

test(
  "a server that is stopped in the middle goes on after the next start; one that is deleted is not",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3, { drill: "off" })));
    s3.faults.push({ action: "PutObject", kind: "hang" });
    const running = server.run("a");
    running.catch(() => {});
    await until(() => s3.hanging() === 1);
    await server.must("PUT", "sys/seal");
    await server.test.unseal(server.shares);
    const unsealed = server.milliseconds;
    const status = await server.ended("a", MINUTE);
    const waited = Date.parse(status.last_snapshot_start ?? "") - unsealed;
    assert.ok(waited <= 310_000, `it starts soon and not at its next time, after ${waited} ms`);
    assert.equal(status.last_snapshot_error, "");
    assert.equal(s3.objects.size, 1);
    s3.faults.push({ action: "PutObject", kind: "hang" });
    const again = server.run("a");
    again.catch(() => {});
    await until(() => s3.hanging() === 2);
    done(await server.ask("DELETE", `${AUTO}/config/a`));
    await again;
    assert.equal(s3.objects.size, 1);
    assert.deepEqual(server.storedKeys("snapshots/"), []);
  },
);

test(
  "an attempt whose store never answers ends, is told, and is made again after a minute, then two",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3, { drill: "off" })));
    s3.faults.push({ action: "PutObject", kind: "hang", times: 1000 });
    await server.passUntil(() => s3.hanging() > 0, MINUTE);
    const first = await server.ended("a", MINUTE);
    assert.match(first.last_snapshot_error, /it took too long/);
    assert.equal(first.consecutive_errors, 1);
    assert.equal(secondsBetween(first.last_snapshot_end, first.next_snapshot_start), 60);
    const second = await server.ended("a", MINUTE);
    assert.equal(second.consecutive_errors, 2);
    assert.equal(secondsBetween(second.last_snapshot_end, second.next_snapshot_start), 120);
    s3.faults.length = 0;
    const third = await server.ended("a", MINUTE);
    assert.deepEqual([third.last_snapshot_error, third.consecutive_errors], ["", 0]);
  },
);

test(
  "left-overs that the store does not let us clear away keep no later snapshot from being made",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3)));
    s3.faults.push({ action: "PutObject", kind: "hang" });
    const running = server.run("a");
    running.catch(() => {});
    await until(() => s3.hanging() === 1);
    await server.die();
    s3.control.denied.add("ListMultipartUploads");
    await server.restart();
    const status = await server.ended("a", MINUTE);
    assert.deepEqual([status.last_snapshot_error, s3.objects.size], ["", 1]);
    assert.ok(server.test.lines.some((line) => line.includes("could not be cleared away")));
  },
);

test(
  "one that came with a restore and has no credentials fails as every other: noted, counted, tried ever more rarely",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    const without = { clouda_access_key_id: "", clouda_secret_access_key: "", drill: "off" };
    done(await server.write("waits", { ...cloudaConfig(s3, without), verify: false }));
    done(
      await server.write("b", { ...cloudaConfig(s3, without), path_prefix: "b", verify: false }),
    );
    const { body } = await takeSnapshot(server.test.url, server.root);
    for (const name of ["waits", "b"]) done(await server.ask("DELETE", `${AUTO}/config/${name}`));
    const sent = await sendSnapshot(server.test.url, server.root, "snapshot", body);
    assert.equal(sent.status, 204);
    await until(async () => {
      const { json } = await server.ask("GET", "sys/storage/raft/restore-status");
      return JSON.stringify(json).includes('"done"');
    });
    // Nothing is known of either here.
    refused(await server.run("b"), 502, /the snapshot failed: .*credentials/);
    assert.equal((await server.status("b")).consecutive_errors, 1);
    const events = (event: string) =>
      server.test.lines.filter((line) => line.includes(event) && line.includes("waits")).length;
    for (const [failures, pause] of [
      [1, 60],
      [2, 120],
      [3, 240],
    ] as const) {
      const { last_snapshot_error: error, ...status } = await server.ended("waits", 30n * SECOND);
      assert.match(error, /credentials/);
      assert.equal(status.consecutive_errors, failures);
      const wait = secondsBetween(status.last_snapshot_end, status.next_snapshot_start);
      assert.equal(Math.round(wait), pause);
      assert.deepEqual(
        [events("snapshot.started"), events("snapshot.failed")],
        [failures, failures],
      );
    }
    const { text } = await server.ask("GET", "sys/metrics?format=prometheus");
    assert.match(text, /holdfast_snapshot_errors_total\{kind="automated"\} ([4-9]|\d\d)\n/);
    assert.match(text, /holdfast_snapshot_failing_configurations 2\n/);
    assert.equal(s3.objects.size, 0);
  },
);
