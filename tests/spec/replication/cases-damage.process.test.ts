// Cases of docs/cases/replication.md on processes: what is damaged in the files of a running primary, or of its secondary, is
// found by a check, and mended from the other side.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { slotOf } from "../../../src/storage/rows/merkle.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { eventsIn, is, suiteEnds, textOf } from "../../support/replication/case-suite.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { until } from "../../support/until.ts";

const TREES = "/v1/sys/replication";
const PER_PAGE = 256;

/** In the files of a cluster that may run: SQLite lets two write in turns. */
function tamper<T>(cluster: ClusterProcess, change: (db: DatabaseSync) => T): T {
  const place = join(cluster.home, "data", "store");
  const files = readdirSync(place, { recursive: true, encoding: "utf8" });
  const file = files.find((name) => name.endsWith("store.db"));
  assert.ok(file !== undefined, files.join());
  const db = new DatabaseSync(join(place, file), { timeout: 5000 });
  try {
    return change(db);
  } finally {
    db.close();
  }
}

/** The first rows of secrets, by their keys. */
function keysOf(db: DatabaseSync, count: number): string[] {
  const like = "shared/ns/%/mounts/%damaged-%";
  const rows = db.prepare("SELECT key FROM data WHERE key LIKE ? ORDER BY key LIMIT ?");
  return rows.all(like, count).map((row) => String(row["key"]));
}

function flip(db: DatabaseSync, [table, column]: readonly [string, string], key: string): void {
  const row = db.prepare(`SELECT ${column} AS bytes FROM ${table} WHERE key = ?`).get(key);
  const bytes = Buffer.from(row!["bytes"] as Uint8Array);
  bytes[bytes.length - 1]! ^= 4;
  db.prepare(`UPDATE ${table} SET ${column} = ? WHERE key = ?`).run(bytes, key);
}

function reportOf(answer: Answer): Record<string, unknown> {
  is(answer, 200);
  return at(answer, "data", "merkle_corruption_report") as Record<string, unknown>;
}

describe("damage in the files of clusters as processes", () => {
  const ends = suiteEnds();
  let a: ClusterProcess;
  let b: ClusterProcess;
  let operation = "";

  before(async () => {
    [a, b] = await Promise.all([startPrimaryProcess(ends), ClusterProcess.start(ends)]);
    for (let i = 0; i < 8; i++) is(await a.put(`damaged-${i}`, `${i}`), 200);
    await joinProcess(a, b);
    await equalProcesses(a, b);
    operation = await b.operationToken();
  });

  const checkPrimary = (deep: boolean) =>
    a.call("POST", `${TREES}/merkle-check`, { token: a.token, body: { deep } });
  const checkSecondary = async () =>
    reportOf(await b.operate("merkle-check", { deep: true }, operation));

  /** What others have changed in a file is read from the next commit on. */
  async function seen(): Promise<void> {
    is(await a.put("other", "1"), 200);
    const { last_dr_wal: index } = await a.status();
    await until(async () => Number((await b.status())["last_remote_wal"]) >= Number(index));
  }

  test("R-100: a subpage whose stored sum is wrong is named by page and subpage, and mended", async () => {
    // What was summed lately is beside the sums, and comes to its place at a start.
    await a.kill();
    await a.startAgain();
    await b.operate("recover", {}, operation);
    await equalProcesses(a, b);
    const { merkle_root: root } = await a.status();
    const slot = tamper(a, (db) => {
      const [key = ""] = keysOf(db, 1);
      const wrong = slotOf("shared", key)!;
      const { changes } = db.prepare("UPDATE sum SET count = count + 1 WHERE slot = ?").run(wrong);
      assert.equal(changes, 1);
      return wrong;
    });
    await seen();
    const report = reportOf(await checkPrimary(false));
    assert.equal(report["corrupted_root"], true);
    const shared = (report["corrupted_tree_map"] as Record<string, Record<string, unknown>>)["1"]!;
    const page = String(Math.floor(slot / PER_PAGE));
    assert.deepEqual(shared["corrupted_index_tuples_map"], {
      [page]: { corrupted: false, subpages: [slot % PER_PAGE] },
    });
    assert.equal(reportOf(await checkPrimary(true))["corrupted_root"], false);
    assert.equal((await a.status())["merkle_root"], root);
    await equalProcesses(a, b);
  });

  test("R-101: a leaf and a value that are damaged on a secondary are found by a deep check, and fetched by a comparison", async () => {
    const compared = eventsIn(b, "replication.sync-started");
    tamper(b, (db) => {
      const [leaf = "", value = ""] = keysOf(db, 2);
      flip(db, ["leaf", "hash"], leaf);
      flip(db, ["data", "value"], value);
    });
    await seen();
    const found = await checkSecondary();
    assert.equal(found["corrupted_root"], true);
    assert.ok(Number(found["corrupted_keys_count"]) >= 1);
    await until(() => eventsIn(b, "replication.sync-started") > compared);
    await equalProcesses(a, b);
    await until(async () => (await checkSecondary())["corrupted_root"] === false);
  });

  test("a leaf and a value that are damaged on the primary are healed from its secondary, and never go there", async () => {
    const compared = eventsIn(b, "replication.sync-started");
    tamper(a, (db) => {
      const [leaf = "", value = ""] = keysOf(db, 2);
      flip(db, ["leaf", "hash"], leaf);
      flip(db, ["data", "value"], value);
    });
    await seen();
    const answer = await checkPrimary(true);
    assert.equal(reportOf(answer)["healed_keys_count"], 2, answer.text);
    assert.equal(reportOf(await checkPrimary(true))["corrupted_root"], false);
    for (let i = 0; i < 8; i++) assert.equal(await a.value(`damaged-${i}`), `${i}`);
    await equalProcesses(a, b);
    assert.equal(eventsIn(b, "replication.sync-started"), compared, "nothing was to be fetched");
    assert.equal((await checkSecondary())["corrupted_root"], false);
  });

  test("R-104: a second reindex beside the first is refused, and writes meanwhile leave the roots as they should be", async () => {
    const reindex = () => a.call("POST", `${TREES}/reindex`, { token: a.token, body: {} });
    let isOver = false;
    let writes = 0;
    const writing = (async () => {
      for (; !isOver; writes++) is(await a.put(`damaged-${writes % 8}`, `again ${writes}`), 200);
    })();
    const both = await Promise.all([reindex(), reindex()]);
    assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([200, 400]));
    await until(async () => (await a.status())["last_reindex_epoch"] !== "0" && writes > 20);
    isOver = true;
    await writing;
    assert.equal(reportOf(await checkPrimary(true))["corrupted_root"], false);
    await equalProcesses(a, b);
  });

  test("R-104: a primary that is killed while it reindexes has the same roots when it is back", async () => {
    // The status shows a root for a second: only that of a new process is surely of its index.
    await a.kill();
    await a.startAgain();
    const { merkle_root: root, last_dr_wal: index } = await a.status();
    for (const milliseconds of [0, 3, 15]) {
      const body = { force: true }; // as it would be done where it is needed
      is(await a.call("POST", `${TREES}/reindex`, { token: a.token, body }), 200);
      await pause(milliseconds); // it takes some: each time another stage is cut off
      await a.kill();
      await a.startAgain();
      assert.equal(reportOf(await checkPrimary(true))["corrupted_root"], false);
      const now = await a.status();
      assert.deepEqual([now["merkle_root"], now["last_dr_wal"]], [root, index]);
    }
    await b.operate("recover", {}, operation);
    await equalProcesses(a, b);
  });

  test("R-103: what differs and cannot be mended is compared three times; then the secondary rests, and says so", async () => {
    // Both have lost the same row, and the sums of the primary still have it.
    for (const one of [a, b]) {
      tamper(one, (db) => {
        const [key = ""] = keysOf(db, 1);
        for (const table of ["data", "leaf"]) {
          db.prepare(`DELETE FROM ${table} WHERE key = ?`).run(key);
        }
      });
    }
    await seen();
    const tries = () => b.log.split("rows that were taken over do not add up").length - 1;
    const before = tries();
    await checkSecondary();
    await until(async () => (await b.status())["state"] === "idle");
    assert.match(textOf(await b.status(), "last_sync_error"), /three comparisons/);
    assert.equal(tries() - before, 3);
    assert.match(b.log, /cannot be mended: event=replication\.corruption-detected/);
  });
});
