// Cases of docs/cases/replication.md: clocks that are not the same, keys that change, and what takes the data of others for its
// own.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { HOUR } from "@holdfast/shared/text/duration";
import { type Answer, at } from "../../support/http-client.ts";
import { inSync, joined, ShiftedClock, startPrimary } from "../../support/replication/clusters.ts";
import { until } from "../../support/until.ts";

const FORCED = { force: true, address: "" };

function is(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

test("R-107: a clock that is an hour ahead changes nothing but what is told of it", async (t) => {
  const clock = new ShiftedClock();
  const a = await startPrimary(t);
  await a.put("x", { n: "1" });
  const b = await joined(t, a, "site-b", { world: { clock } });
  await inSync(a, b);
  clock.ahead = HOUR;
  await b.replication.recover();
  await a.put("y", { n: "1" });
  await inSync(a, b);
  const skewOf = (list: unknown) => Number((list as { clock_skew_ms: string }[])[0]?.clock_skew_ms);
  await until(async () => skewOf((await b.status())["primaries"]) < -3_500_000);
  is(await a.dr("primary/demote"), 200);
  const { warnings } = await b.replication.promote({ ...FORCED, force: false });
  assert.match(warnings.join("\n"), /the clock here is 3\d{3} seconds ahead of/);
  is(await b.server.call("GET", "/v1/secret/data/y", { token: a.token }), 200);
});

test("R-128: automated snapshots rest on a secondary, and begin where it is promoted", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "holdfast-dr-snapshots-"));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  const settings = { snapshot_roots: [place] };
  const a = await startPrimary(t, { settings });
  const config = "/v1/sys/storage/raft/snapshot-auto/config/hourly";
  const body = {
    storage_type: "local",
    path_prefix: `${place}/`,
    interval: "1h",
    local_max_space: 1_000_000_000,
  };
  const put = await a.server.call("POST", config, { token: a.token, body });
  assert.ok(put.status < 300, put.text);
  const b = await joined(t, a, "site-b", { settings });
  await inSync(a, b);
  is(await b.server.call("GET", config, { token: a.token }), 503);
  is(await a.dr("primary/demote"), 200);
  const before = Date.now();
  await b.replication.promote({ ...FORCED, force: false });
  is(await b.server.call("GET", config, { token: a.token }), 200);
  const path = "/v1/sys/storage/raft/snapshot-auto/status/hourly";
  const status = await b.server.call("GET", path, { token: a.token });
  is(status, 200);
  const next = Date.parse(String(at(status, "data", "next_snapshot_start")));
  assert.ok(next >= before + 3_000_000, status.text);
});

test("R-105: keys that are rotated before, while and after a cluster joins open everything there", async (t) => {
  const a = await startPrimary(t);
  const rotate = async () => {
    const answer = await a.server.call("POST", "/v1/sys/rotate", { token: a.token, body: {} });
    assert.ok(answer.status < 300, answer.text);
  };
  await a.put("x-0", { n: "1" });
  await rotate();
  await a.put("x-1", { n: "1" });
  const [b] = await Promise.all([joined(t, a), rotate()]);
  await a.put("x-2", { n: "1" });
  await inSync(a, b);
  await rotate();
  await a.put("x-3", { n: "1" });
  await inSync(a, b);
  is(await a.dr("primary/demote"), 200);
  await b.replication.promote({ ...FORCED, force: false });
  for (const i of [0, 1, 2, 3]) {
    is(await b.server.call("GET", `/v1/secret/data/x-${i}`, { token: a.token }), 200);
  }
});

test("R-127: nothing is restored on a secondary", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  for (const path of ["snapshot", "snapshot-force"]) {
    const url = `/v1/sys/storage/raft/${path}`;
    for (const token of [a.token, undefined]) {
      const refused = await b.server.call("POST", url, { token, body: "no archive" });
      is(refused, 400);
      assert.equal(refused.headers["x-service-error"], "restore_secondary");
    }
  }
  await a.put("x", { n: "1" });
  await inSync(a, b);
});
