// What needs attention, through HTTP: each code with its cause, since when, and with a remedy. Who sees it is in
// attention-seen.test.ts.

import { CHEAP_TYPE, cheapUserpass } from "../../support/servers/login-server.ts";
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { DAY, MINUTE } from "@holdfast/shared/text/duration";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { CHECKS } from "../../../src/attention/checks.ts";
import { at } from "../../support/http-client.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { WatchedEngine } from "../../support/stores/watched-engine.ts";
import { facts, itemsIn, watched } from "./watched-attention.ts";

test("PV55: each code is opened and closed by its cause", async (t) => {
  let disk: WatchedEngine | null = null;
  const stage = await watched(t, {
    engine: (inner: ConstructorParameters<typeof WatchedEngine>[0]) =>
      (disk = new WatchedEngine(inner)),
    engineTypes: [cheapUserpass()],
  });
  const { server } = stage;
  const file = (name: string) => join(server.test.auditDirectory, `${name}.log`);
  const enable = (name: string, more: object = {}) => {
    const options = { file_path: file(name), ...more };
    return server.must("POST", `sys/audit/${name}`, { type: "file", options });
  };

  // audit
  await stage.opened("audit.none");
  await enable("first");
  await stage.closed("audit.none");
  await stage.opened("audit.single");
  await enable("second", { log_raw: "true" });
  await stage.closed("audit.single");
  assert.equal((await stage.opened("log-raw")).subject, "second/");
  await server.must("DELETE", "sys/audit/second");
  await stage.closed("log-raw");
  const dead = { type: "socket", options: { address: "127.0.0.1:9" }, skip_test: true };
  await server.must("POST", "sys/audit/dead", dead);
  assert.equal((await stage.opened("audit.failing")).subject, "dead/");
  await server.must("DELETE", "sys/audit/dead");
  await stage.closed("audit.failing");

  // An audit file that is edited while the server is sealed.
  await server.must("PUT", "sys/seal");
  const lines = readFileSync(file("first"), "utf8").split("\n");
  const kept = lines.slice(0, -2); // without the checkpoint that nobody could have forged
  writeFileSync(
    file("first"),
    `${kept.with(-1, kept.at(-1)!.replace('"time":"20', '"time":"21')).join("\n")}\n`,
  );
  await server.test.unseal(server.shares);
  assert.equal((await stage.opened("audit.broken")).subject, "first/");
  await server.must("PUT", "sys/seal");
  await server.test.unseal(server.shares);
  await stage.closed("audit.broken");

  // seal and keys
  await stage.opened("seal.share-one");
  const begun = await server.must("POST", "sys/rekey/init", {
    secret_shares: 3,
    secret_threshold: 2,
  });
  const nonce = at(begun, "data", "nonce") ?? at(begun, "nonce");
  await server.must("POST", "sys/rekey/update", { key: server.shares[0], nonce });
  await stage.closed("seal.share-one");
  await server.time.passSlowly(366n * DAY, 30n * DAY);
  await server.must("GET", "sys/attention");
  await stage.opened("key.old");
  await server.must("PUT", "sys/rotate");
  await stage.closed("key.old");

  // leases and what engines left behind
  await server.counting("count", { ttl: 600 });
  const lease = await server.issue();
  server.outside.fail("revoke", () => new PermanentFailure("gone for good"), 1);
  await server.revoke(lease.id, { sync: true });
  const stuck = await stage.opened("lease.irrevocable");
  assert.deepEqual([stuck.subject, stuck.namespace], ["count/", ""]);
  await server.must("POST", `sys/leases/revoke-force/${lease.id}`);
  await stage.closed("lease.irrevocable");
  server.outside.fail("made", () => new Error("no"), 1);
  server.outside.fail("undo", () => new Error("not now"));
  await server.ask("GET", "count/creds/r");
  await server.passUntil(
    async () => (await stage.items("orphans")).length > 0,
    3600n * 1_000_000_000n,
  );
  await stage.opened("orphans");
  const [orphan = ""] = at(await server.must("LIST", "count/orphans"), "data", "keys") as string[];
  await server.must("DELETE", `count/orphans/${orphan}`);
  await server.passUntil(async () => (await stage.items("orphans")).length === 0);

  // the disk, and the console
  assert.ok(disk !== null);
  (disk as WatchedEngine).free = 20 * 1024 * 1024;
  await stage.opened("disk.reserve");
  (disk as WatchedEngine).free = 1024 ** 3;
  await stage.closed("disk.reserve");
  const header = "sys/config/ui/headers/Content-Security-Policy";
  await server.must("POST", header, { values: ["default-src 'self'"] });
  await stage.opened("csp.weakened");
  await server.must("DELETE", header);
  await stage.closed("csp.weakened");

  // snapshots
  await stage.opened("snapshot.none");
  const config = "sys/storage/raft/snapshot-auto/config/nightly";
  const place = { storage_type: "local", path_prefix: join(server.test.directory, "snapshots") };
  await server.must("POST", config, { ...place, local_max_space: 1, interval: "1h" });
  await stage.closed("snapshot.none");
  await stage.closed("snapshot.late");
  await server.time.passSlowly(3n * 3600n * 1_000_000_000n, 10n * MINUTE);
  assert.equal((await stage.opened("snapshot.late")).subject, "nightly");
  const failing = await stage.opened("snapshot.failing");
  assert.deepEqual([failing.subject, failing.severity], ["nightly", "soon"]);
  assert.match(failing.text, /^the last \d+ attempts at .* failed: .*local_max_space is 1 bytes/);
  // Who may not read the status learns neither the name nor what the status says.
  const narrow = await server.client('path "sys/attention" { capabilities = ["read"] }');
  const unnamed = itemsIn(await server.ask("GET", "sys/attention", undefined, { token: narrow }));
  const theirs = unnamed.find(({ code }) => code === "snapshot.failing");
  assert.equal(theirs?.subject, null);
  assert.match(theirs?.text ?? "", /^the last \d+ attempts at an automated snapshot failed$/);
  await server.must("POST", config, { local_max_space: 1_000_000_000 });
  await server.must("POST", "sys/storage/raft/snapshot-auto/run/nightly");
  await stage.closed("snapshot.late");
  await stage.closed("snapshot.failing");

  // drills: the first snapshot is proven at once
  const drills = "sys/storage/raft/snapshot-auto/drills/nightly";
  const proven = () => async () =>
    at(await server.ask("GET", drills), "data", "drills", 0, "result") === "proven";
  await server.passUntil(proven(), 1_000_000_000n);
  await stage.closed("drill.failed");
  const [name = ""] = readdirSync(place.path_prefix);
  writeFileSync(join(place.path_prefix, name), "no longer what it was");
  await server.must("POST", "sys/storage/raft/snapshot-auto/drill/nightly");
  const failed = await stage.opened("drill.failed");
  assert.equal(failed.subject, "nightly");
  const signed = await server.must("GET", `sys/evidence/${failed.evidence}`);
  assert.equal(at(signed, "data", "kind"), "snapshot.drill");
  await stage.closed("drill.late");
  await server.must("POST", config, { drill: "1h", local_max_space: 1 });
  await server.time.passSlowly(3n * 3600n * 1_000_000_000n, 10n * MINUTE);
  assert.equal((await stage.opened("drill.late")).subject, "nightly");
  await server.must("POST", config, { local_max_space: 1_000_000_000 });
  await server.must("POST", "sys/storage/raft/snapshot-auto/run/nightly");
  await server.passUntil(proven(), 1_000_000_000n);
  await stage.closed("drill.late");
  await stage.closed("drill.failed");

  // logins that fail, and tokens that do not end
  await server.must("POST", "sys/auth/people", { type: CHEAP_TYPE });
  await server.must("POST", "auth/people/users/ada", { password: "correct horse" });
  const login = (password: string) => server.ask("POST", "auth/people/login/ada", { password });
  for (let i = 0; i < 5; i++) await login("wrong");
  assert.equal((await stage.opened("origin.locked")).subject, "auth/people/");
  await server.time.pass(15n * MINUTE);
  await stage.closed("origin.locked");
  for (let i = 0; i < 5; i++) await login("wrong");
  await stage.opened("origin.locked");
  await server.must("POST", "auth/people/users/ada", { password: "battery staple" });
  await stage.closed("origin.locked");
  const first = await stage.opened("token.never-ends"); // the root token
  const [made, passing] = [{}, { ExpirationTTL: "1h" }].map((more) =>
    server.test.call("PUT", "/acl/token", {
      token: server.root,
      body: { Type: "management", ...more },
    }),
  );
  const accessor = String(at(await made!, "AccessorID"));
  assert.equal((await passing!).status, 200);
  const unending = (await stage.items("token.never-ends")).map(({ subject }) => subject);
  assert.deepEqual(new Set(unending), new Set([first.subject, accessor]));
  await server.must("POST", "auth/token/revoke-accessor", { accessor });
  assert.equal((await stage.items("token.never-ends")).length, 1);

  // The bootstrap is open on another server, which runs in development mode; certificates are by facts.
  const dev = await startServer({ dev: { rootToken: "dev-root" } });
  t.after(() => dev.stop());
  await dev.open();
  const codesOf = async () =>
    itemsIn(await dev.call("GET", "/v1/sys/attention", { token: "dev-root" })).map(
      ({ code }) => code,
    );
  const before = await codesOf();
  assert.ok(before.includes("dev-mode") && before.includes("bootstrap.open"));
  assert.equal((await dev.call("POST", "/acl/bootstrap")).status, 200);
  assert.ok(!(await codesOf()).includes("bootstrap.open"));
  const ending = CHECKS.find(({ code }) => code === "certificate.ending");
  const certificate = (ends: bigint) => facts({ certificates: () => [{ listener: "l", ends }] });
  assert.equal(ending?.find(certificate(20n * DAY), 0n)?.length, 1);
  assert.equal(ending?.find(certificate(31n * DAY), 0n)?.length, 0);
  const doubled = CHECKS.find(({ code }) => code === "replication.duplicated");
  const among = {
    fenced: true,
    torn: true,
    rivals: [],
    doubled: [{ name: "site-b", from: ["10.0.0.1", "10.0.0.2"] }],
    divergent: 0,
    orphans: { waiting: 0, left: 0 },
    behind: [{ name: "", text: "x" }],
    portless: [{ name: "site-b", text: "x" }],
    awaited: [],
    standIns: [{ name: "region-c/site-d", text: "x" }],
    bare: [{ name: "", text: "x" }],
  };
  const both = facts({
    replication: () => [
      { ...among, kind: "dr" },
      { ...among, kind: "performance" },
    ],
  });
  assert.match(doubled?.find(both, 0n)?.[0]?.detail ?? "", /from 10\.0\.0\.1 and 10\.0\.0\.2$/);
  assert.deepEqual(doubled?.find(facts(), 0n), []);
  const subjects = (name: string) =>
    CHECKS.find(({ code }) => code === name)
      ?.find(both, 0n)
      ?.map(({ subject, seenBy }) => `${subject} ${seenBy}`);
  assert.deepEqual(subjects("replication.duplicated"), [
    "site-b sys/replication/dr/status",
    "performance/site-b sys/replication/performance/status",
  ]);
  const own = [" sys/replication/dr/status", "performance sys/replication/performance/status"];
  assert.deepEqual(subjects("replication.no-port"), subjects("replication.duplicated"));
  assert.deepEqual(subjects("replication.fenced"), own);
  assert.deepEqual(subjects("replication.lag"), own);
  assert.deepEqual(subjects("replication.torn"), own);
  assert.deepEqual(subjects("replication.bare"), own);
  stage.seen.add("replication.duplicated").add("replication.conflict"); // replication/rivals.test.ts
  for (const code of ["dev-mode", "bootstrap.open", "certificate.ending"]) stage.seen.add(code);
  // Other clusters: replication/divergence.test.ts, orphans.test.ts, awaited.test.ts, no-cluster-port.test.ts, topology.test.ts and performance-torn.test.ts.
  for (const code of [
    "fenced",
    "torn",
    "divergent",
    "orphans",
    "lag",
    "awaited",
    "stand-in",
    "bare",
    "no-port",
  ])
    stage.seen.add(`replication.${code}`);
  // Rotations need a cloud: attention-rotations.test.ts.
  for (const code of ["rotation.failed", "rotation.overdue"]) stage.seen.add(code);
  stage.seen.add("mount.not-loaded"); // plugins/reload.process.test.ts
  stage.seen.add("restore.left").add("evidence.unproven"); // snapshots/restore-other-keys.test.ts
  assert.deepEqual(
    CHECKS.map(({ code }) => code).filter((code) => !stage.seen.has(code)),
    [],
    "every code has its cause here",
  );

  // Openings and closings are written down.
  await server.time.pass(2n * MINUTE);
  await server.passUntil(async () => {
    const history = itemsIn(await server.must("GET", "sys/attention/history"));
    return history.some(({ code }) => code === "key.old");
  });
  const [single] = await stage.items("audit.single");
  await server.time.passSlowly(10n * MINUTE, MINUTE);
  assert.equal((await stage.opened("audit.single")).since, single?.since, "since the first time");
});

test("since never goes forward once somebody was told it, and begins anew with what opens anew", async (t) => {
  const stage = await watched(t);
  const { server } = stage;
  await server.must("POST", "sys/mounts/kv", { type: "kv" });
  await server.time.pass(2n * MINUTE); // what was there from the start is written down
  const header = "sys/config/ui/headers/Content-Security-Policy";
  const weaken = () => server.must("POST", header, { values: ["default-src 'self'"] });
  await weaken();
  const first = await stage.opened("csp.weakened");
  await server.time.passSlowly(3n * MINUTE, 1_000_000_000n * 7n);
  assert.equal((await stage.opened("csp.weakened")).since, first.since);
  await server.must("DELETE", header);
  await server.time.passSlowly(3n * MINUTE, 1_000_000_000n * 7n);
  await weaken();
  const again = await stage.opened("csp.weakened");
  assert.ok(again.since > first.since);
  // Gone and back before anything was written down.
  await server.must("DELETE", header);
  await stage.closed("csp.weakened");
  await server.time.passSlowly(2n * MINUTE, 1_000_000_000n * 7n);
  await weaken();
  assert.ok((await stage.opened("csp.weakened")).since > again.since);
});

test("every remedy begins with a command, but for those that no command does", () => {
  const others = CHECKS.filter(({ remedy }) => !remedy.startsWith("holdfast "));
  assert.deepEqual(others.map(({ code }) => code).toSorted(), [
    "audit.failing",
    "certificate.ending",
    "disk.reserve",
    "origin.locked",
    "replication.no-port",
    "restore.left",
  ]);
});
