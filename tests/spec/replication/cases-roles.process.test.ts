// Cases of docs/cases/replication.md on processes, with real TLS between them through proxies: how roles change, in a drill and
// when a site is lost, and what others do meanwhile. Each test begins where the one before it has ended.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import {
  comesTo,
  is,
  keyOf,
  suiteEnds,
  textOf,
  tokenFor,
  eventsIn,
} from "../../support/replication/case-suite.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  rejoinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const SNAPSHOTS = "/v1/sys/storage/raft/snapshot-auto";
const SYNC = "replication.sync-started";

describe("the roles of three clusters as processes change", () => {
  const ends = suiteEnds();
  /** Leads first, and after a forced failover again. */
  let a: ClusterProcess;
  /** Leads after the planned failover. */
  let b: ClusterProcess;
  let c: ClusterProcess;
  /** Of a user, with a lease; made on the first primary. */
  let user = "";
  /** For the third, of the first primary. */
  let old = "";
  let keyOfC: unknown;
  const operators = new Map<ClusterProcess, string>();

  async function operate(
    cluster: ClusterProcess,
    path: string,
    body: object = {},
  ): Promise<Answer> {
    const known = operators.get(cluster) ?? (await cluster.operationToken());
    operators.set(cluster, known);
    return await cluster.operate(path, body, known);
  }

  async function rotate(): Promise<void> {
    is(await a.call("POST", "/v1/sys/rotate", { token: a.token, body: {} }), 204);
  }

  before(async () => {
    const place = mkdtempSync(join(tmpdir(), "holdfast-cases-snapshots-"));
    ends.after(() => rmSync(place, { recursive: true, force: true }));
    const roots = () => `snapshot_roots = ["${place}"]`;
    [a, b, c] = await Promise.all([
      startPrimaryProcess(ends, roots),
      ClusterProcess.start(ends, roots),
      ClusterProcess.start(ends, roots),
    ]);
    const body = {
      storage_type: "local",
      path_prefix: `${place}/`,
      interval: "1h",
      local_max_space: 1_000_000_000,
    };
    is(await a.call("POST", `${SNAPSHOTS}/config/hourly`, { token: a.token, body }), 204);
  });

  test("R-105: keys are rotated before, while and after a cluster joins", async () => {
    is(await a.put("key-0", "1"), 200);
    await rotate();
    is(await a.put("key-1", "1"), 200);
    await Promise.all([joinProcess(a, b), rotate()]);
    is(await a.put("key-2", "1"), 200);
    await joinProcess(a, c, "site-c");
    for (const one of [b, c]) await equalProcesses(a, one);
    await rotate();
    is(await a.put("key-3", "1"), 200);
    for (const one of [b, c]) await equalProcesses(a, one);
  });

  test("R-127: nothing is restored on a secondary", async () => {
    const taken = await takeSnapshot(a.address, a.token);
    for (const path of ["snapshot", "snapshot-force"]) {
      const refused = await sendSnapshot(b.address, a.token, path, taken.body);
      assert.equal(refused.status, 400, refused.text);
      assert.equal(refused.headers["x-service-error"], "restore_secondary");
    }
  });

  test("R-45: a ticket is good for what it names, until it ends, and only as it was signed", async () => {
    const ticketFor = async (operations: string[], ttl = "1h") => {
      const made = await a.dr("primary/operator-ticket", { operations, ttl });
      is(made, 200);
      return String(at(made, "data", "ticket"));
    };
    const ticket = await ticketFor(["promote"]);
    is(await b.operate("promote", { dry_run: true }, ticket), 200);
    is(await b.operate("disable", {}, ticket), 403);
    const last = ticket.at(-3) === "A" ? "B" : "A";
    is(
      await b.operate(
        "promote",
        { dry_run: true },
        `${ticket.slice(0, -3)}${last}${ticket.slice(-2)}`,
      ),
      403,
    );
    const short = await ticketFor(["promote"], "1s");
    await until(async () => (await b.operate("promote", { dry_run: true }, short)).status === 403);
    assert.equal((await b.status())["mode"], "secondary");
  });

  test("R-47: one whose primary lives and is connected is not promoted", async () => {
    const refused = await operate(b, "promote");
    is(refused, 400, "replication_promotion_refused");
    assert.match(refused.text, /primary-gone/);
    assert.equal((await b.status())["mode"], "secondary");
  });

  test("R-51: writes around a demotion are taken before it or refused, and all that were taken are on the other side", async () => {
    const body = { policies: ["default"], ttl: "1h", renewable: true };
    const made = await a.call("POST", "/v1/auth/token/create", { token: a.token, body });
    user = String(at(made, "auth", "client_token"));
    keyOfC = await keyOf(c, (await operate(c, "promote", { dry_run: true })) && operators.get(c)!);
    old = await tokenFor(a, "again", keyOfC);
    const writes: Promise<Answer>[] = [];
    let isOver = false;
    const writing = (async () => {
      while (!isOver) {
        const one = a.put(`w-${writes.length}`, "1");
        writes.push(one);
        if (writes.length % 4 === 0) await one;
      }
    })();
    await until(() => writes.length > 40);
    const demoted = await a.dr("primary/demote");
    isOver = true;
    await writing;
    is(demoted, 200);
    const answers = await Promise.all(writes);
    for (const { status, text } of answers) assert.ok(status === 200 || status === 503, text);
    assert.ok(answers.filter(({ status }) => status === 200).length >= 40);
    taken = answers.flatMap(({ status }, i) => (status === 200 ? [`w-${i}`] : []));
  });
  let taken: string[] = [];

  test("R-56: one that was just demoted knows no primary that could have moved", async () => {
    const moved = await operate(a, "update-primary", {
      update_primary_addrs: [`https://127.0.0.1:${b.way.port}`],
    });
    is(moved, 400, "replication_primary_unknown");
    assert.equal((await a.status())["state"], "idle");
  });

  test("R-49: promoted after that it is a primary that runs, without secondaries, one epoch and one generation on", async () => {
    const was = await b.status();
    is(await operate(b, "promote"), 200);
    operators.delete(b);
    const { mode, state, known_secondaries, epoch, ssct_generation_counter, cluster_id } =
      await b.status();
    assert.deepEqual([mode, state, known_secondaries], ["primary", "running", []]);
    assert.equal(epoch, Number(was["epoch"]) + 1);
    assert.equal(ssct_generation_counter, Number(was["ssct_generation_counter"]) + 1);
    assert.equal(cluster_id, was["cluster_id"]);
    for (const path of taken) assert.equal(await b.value(path), "1", path);
    for (const i of [0, 1, 2, 3]) assert.equal(await b.value(`key-${i}`), "1", "by every key");
  });

  test("R-50: tokens and leases of the old primary are good on the new one", async () => {
    is(await b.call("GET", "/v1/auth/token/lookup-self", { token: user }), 200);
    is(await b.call("POST", "/v1/auth/token/renew-self", { token: user, body: {} }), 200);
  });

  test("R-128: automated snapshots rest on a secondary, and run from its promotion on", async () => {
    is(await c.call("GET", `${SNAPSHOTS}/config/hourly`, { token: c.token }), 503);
    is(await b.call("GET", `${SNAPSHOTS}/config/hourly`, { token: b.token }), 200);
    const status = await b.call("GET", `${SNAPSHOTS}/status/hourly`, { token: b.token });
    const next = Date.parse(String(at(status, "data", "next_snapshot_start")));
    assert.ok(next > Date.now(), status.text);
  });

  test("R-58: a token of a primary that was superseded is refused", async () => {
    is(await operate(c, "update-primary", { token: await tokenFor(b, "site-c", keyOfC) }), 200);
    await equalProcesses(b, c);
    is(await operate(c, "update-primary", { token: old }), 400, "replication_epoch_superseded");
    await equalProcesses(b, c);
  });

  test("R-53: after a planned failover the old primary follows by the log, and nothing is copied or compared", async () => {
    const before = eventsIn(a, SYNC);
    await rejoinProcess(b, a, "site-a", operators.get(a));
    is(await b.put("later", "1"), 200);
    await equalProcesses(b, a);
    assert.equal(eventsIn(a, SYNC), before);
    const { divergent_entries, secondary_id } = await a.status();
    assert.deepEqual([divergent_entries, secondary_id], [0, "site-a"]);
  });

  test("R-62, R-64: a primary that was cut off while another was promoted is fenced when it is reached, its secondaries are told so, and it writes nothing", async () => {
    b.way.cut();
    await comesTo(a, "state", "idle");
    is(await operate(a, "promote", { force: true }), 200);
    operators.delete(a);
    for (let i = 0; i < 10; i++) is(await b.put(`apart-${i}`, "1"), 200);
    is(await a.put("of-a", "1"), 200);
    b.way.heal();
    await comesTo(b, "state", "fenced");
    is(await b.put("refused", "1"), 503, "replication_fenced");
    is(await b.dr("primary/secondary-token", { id: "site-d" }), 503, "replication_fenced");
    assert.equal(await b.value("apart-0"), "1", "it reads");
    is(await b.call("GET", "/v1/sys/health"), 473);
    await operate(c, "recover");
    const refusal = /refuses: another cluster of the set was promoted/;
    await until(async () => refusal.test(textOf(await c.status(), "last_sync_error")));
    is(await a.put("of-a", "2"), 200);
    assert.equal((await a.status())["state"], "running");
  });

  test("R-63: a fence counts once, also after a start; one of a cluster that was revoked does not", async () => {
    const { conflicting_primary: by } = await b.status();
    await b.kill();
    await b.startAgain();
    await comesTo(b, "state", "fenced");
    assert.equal((await b.status())["conflicting_primary"], by);
    is(await b.put("refused", "1"), 503);
    await rejoinProcess(a, c, "site-c3", operators.get(c));
    await equalProcesses(a, c);
    is(await a.dr("primary/revoke-secondary", { id: "site-c3" }), 204);
    is(await operate(c, "promote", { force: true }), 200);
    await until(() => c.log.includes("the primary of before refuses this cluster"));
    assert.equal((await a.status())["state"], "running");
    is(await a.put("of-a", "3"), 200);
  });

  test("R-54: what only the other one wrote is given up when it follows by a token: counted, and listed with its keys", async () => {
    is(await b.dr("primary/demote"), 200);
    await rejoinProcess(a, b, "site-b4");
    await equalProcesses(a, b);
    const { divergent_entries: count } = await b.status();
    assert.ok(Number(count) >= 10);
    const operation = await b.operationToken();
    operators.set(b, operation);
    const tails = await b.call("GET", "/v1/sys/replication/divergent", { token: operation });
    is(tails, 200);
    const id = String(at(tails, "data", "tails", 0, "id"));
    assert.equal(at(tails, "data", "tails", 0, "entries"), count);
    const listed = await b.call("GET", `/v1/sys/replication/divergent/${id}`, { token: operation });
    is(listed, 200);
    const entries = at(listed, "data", "entries") as { changed: unknown[] }[];
    assert.equal(entries.length, count);
    assert.ok(entries.every(({ changed }) => changed.length > 0));
  });

  test("R-126: a restore on the primary brings its secondary to the restored state by a comparison", async () => {
    const { body: archive } = await takeSnapshot(a.address, a.token);
    is(await a.put("of-a", "4"), 200);
    is(await a.put("gone", "1"), 200);
    await equalProcesses(a, b);
    const before = eventsIn(b, SYNC);
    const sent = await sendSnapshot(a.address, a.token, "snapshot", archive);
    assert.equal(sent.status, 204, sent.text);
    await until(async () => {
      const { token } = a;
      const answer = await a.call("GET", "/v1/sys/storage/raft/restore-status", { token });
      return answer.status === 200 && at(answer, "data", "state") === "done";
    });
    await until(() => eventsIn(b, SYNC) > before);
    await equalProcesses(a, b);
    is(await a.dr("primary/demote"), 200);
    is(await operate(b, "promote"), 200);
    assert.deepEqual([await b.value("of-a"), await b.value("gone")], ["3", null]);
  });
});
