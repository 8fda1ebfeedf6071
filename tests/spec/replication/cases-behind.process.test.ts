// Cases of docs/cases/replication.md on processes: secondaries that do not have everything, programs that are not of one version,
// clocks that are not the same, and what is wrong in the memory of a primary.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { at } from "../../support/http-client.ts";
import { eventsIn, firstOf, is, suiteEnds, textOf } from "../../support/replication/case-suite.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { StagedProgram } from "../../support/daemon/staged-server.ts";
import { until } from "../../support/until.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const LARGE = "x".repeat(64 * KIB);
const HOUR = 3600;

function staged(ends: ReturnType<typeof suiteEnds>): StagedProgram {
  const place = mkdtempSync(join(tmpdir(), "holdfast-staged-"));
  ends.after(() => rmSync(place, { recursive: true, force: true }));
  return new StagedProgram(place);
}

describe("a secondary as a process that does not have everything", () => {
  const ends = suiteEnds();
  let a: ClusterProcess;
  let b: ClusterProcess;
  let operation = "";

  const promote = (how: object = {}) => b.operate("promote", how, operation);

  test("R-46: one that has not copied everything is not promoted, by force neither, and goes on copying", async () => {
    [a, b] = await Promise.all([startPrimaryProcess(ends), ClusterProcess.start(ends)]);
    for (let i = 0; i < 24; i++) is(await a.put(`x-${i}`, LARGE), 200);
    a.way.limit(300 * KIB); // enough to be taken, and seconds for the data, which does not come then
    await joinProcess(a, b);
    a.way.hold("back");
    await until(async () => (await b.call("GET", "/v1/sys/health")).status === 472);
    operation = await b.operationToken();
    for (const force of [false, true]) {
      const early = await promote({ force });
      is(early, 400, "replication_promotion_refused");
      assert.match(early.text, /check \\"(?:copied|keys)\\"/); // by then some of it may have come
    }
    assert.equal((await b.status())["mode"], "secondary");
    a.way.heal();
    await equalProcesses(a, b);
  });

  test("R-48: one that is behind is promoted by force alone, and says exactly which entries are lost", async () => {
    a.way.cut();
    await until(async () => (await b.status())["state"] === "idle");
    const { last_remote_wal: had } = await b.status();
    for (let i = 0; i < 8; i++) is(await a.put(`lost-${i}`, LARGE), 200);
    const { last_dr_wal: head } = await a.status();
    // It hears the first answer of the primary, and of the log at most a part of a message.
    a.way.heal();
    a.way.hold("back", { after: 8 * KIB });
    is(await b.operate("recover", {}, operation), 200);
    const missing = `entries ${Number(had) + 1} to ${Number(head)} of the primary`;
    await until(async () => (await promote({ dry_run: true })).text.includes(missing));
    const rehearsed = await promote({ dry_run: true });
    assert.deepEqual(
      ["lost_from", "lost_to"].map((name) => at(rehearsed, "data", name)),
      [Number(had) + 1, Number(head)],
    );
    is(await promote(), 503, "replication_promotion_early");
    const forced = await promote({ force: true });
    is(forced, 200);
    assert.ok(forced.text.includes(missing), forced.text);
    for (const check of ["complete", "primary-gone"]) {
      assert.ok(forced.text.includes(`\\"${check}\\"`), forced.text);
    }
    for (let i = 0; i < 8; i++) assert.equal(await b.value(`lost-${i}`), null);
    assert.equal(await b.value("x-23"), LARGE);
  });
});

describe("two clusters as processes that are not of one version, time or memory", () => {
  const ends = suiteEnds();
  let a: ClusterProcess;
  let b: ClusterProcess;
  let [here, there]: StagedProgram[] = [];
  let operation = "";

  before(async () => {
    here = staged(ends);
    there = staged(ends);
    const kept = () => `replication { wal_retention_bytes = "16MiB" }`;
    a = await startPrimaryProcess(ends, kept, here.command);
    b = await ClusterProcess.start(ends, undefined, there.command);
    await joinProcess(a, b);
    await equalProcesses(a, b);
    operation = await b.operationToken();
  });

  async function isLate(): Promise<void> {
    is(await a.put("later", "1"), 200);
  }

  test("R-106: a secondary that is older than its primary is refused, hears why, and goes on once it is upgraded", async () => {
    await b.kill();
    await isLate();
    there!.set({ isOlder: true });
    await b.startAgain();
    await until(async () => {
      const why = JSON.stringify((await b.status())["last_sync_error"] ?? null);
      return why.includes("the primary is newer than this secondary");
    });
    const { state, last_remote_wal: has } = await b.status();
    assert.equal(state, "idle");
    assert.ok(Number(has) < Number((await a.status())["last_dr_wal"]));
    await b.kill();
    there!.set({});
    await b.startAgain();
    await equalProcesses(a, b);
  });

  test("R-102: a page whose hash in memory is wrong is named without subpages, and made anew", async () => {
    const check = async () => {
      const { token } = a;
      const path = "/v1/sys/replication/merkle-check";
      const answer = await a.call("POST", path, { token, body: { deep: false } });
      is(answer, 200);
      return at(answer, "data", "merkle_corruption_report") as Record<string, unknown>;
    };
    const { merkle_root: root } = await a.status();
    assert.equal((await check())["corrupted_root"], false);
    here!.set({ damagesPage: true });
    let found: Record<string, unknown> = {};
    await until(async () => (found = await check())["corrupted_root"] === true);
    const tree = (found["corrupted_tree_map"] as Record<string, Record<string, unknown>>)["1"]!;
    const pages = Object.values(tree["corrupted_index_tuples_map"] as Record<string, unknown>);
    assert.deepEqual(pages, [{ corrupted: true, subpages: [] }]);
    assert.equal((await check())["corrupted_root"], false, "it is made anew");
    assert.equal((await a.status())["merkle_root"], root);
    await equalProcesses(a, b);
  });

  test("R-96: one that is behind the log that is kept compares, and fetches what has changed and nothing else", async () => {
    const unchanged = 40;
    for (let i = 0; i < unchanged; i++) is(await a.put(`same-${i}`, LARGE), 200);
    const { token } = a;
    const body = { max_versions: 1 };
    is(await a.call("POST", "/v1/secret/metadata/changed", { token, body }), 204);
    await equalProcesses(a, b);
    await b.kill();
    const larger = LARGE.repeat(8);
    for (let i = 0; i < (18 * MIB) / larger.length; i++) is(await a.put("changed", larger), 200);
    is(await a.call("DELETE", "/v1/secret/metadata/same-0", { token }), 204);
    const carried = a.way.carried("back");
    await b.startAgain();
    await equalProcesses(a, b);
    assert.equal(eventsIn(b, "replication.sync-started"), 1, "since it was started again");
    // One secret, and hashes.
    const came = a.way.carried("back") - carried;
    assert.ok(came < (unchanged * LARGE.length) / 2, `${came} bytes came`);
  });

  test("R-107: a clock that is an hour ahead changes nothing but what is told of it", async () => {
    await b.kill();
    await isLate();
    there!.set({ secondsAhead: HOUR });
    await b.startAgain();
    await equalProcesses(a, b);
    const skewOf = (list: unknown) => Number(textOf(firstOf(list), "clock_skew_ms"));
    // Both tell how far the primary's is from that of the secondary.
    const isAhead = (list: unknown) => skewOf(list) < -(HOUR - 60) * 1000;
    await until(async () => isAhead((await b.status())["primaries"]));
    await until(async () => isAhead((await a.status())["secondaries"]));
    is(await a.dr("primary/demote"), 200);
    operation = await b.operationToken();
    const promoted = await b.operate("promote", {}, operation);
    is(promoted, 200);
    assert.match(promoted.text, /the clock here is 3[56]\d{2} seconds ahead of/);
    assert.equal(await b.value("later"), "1");
  });
});
