// The lag of the last hour, and no more of it.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { LAG_STEP, LagHistory } from "./lag-history.ts";

function peer(id: string, lagEntries: number | null, lagSeconds: number | null) {
  return { id, connected: true, remoteIndex: 1, lagEntries, lagSeconds, heartbeatAge: 0 };
}

test("an hour is kept, in points of ten seconds, for each secondary since it was there", () => {
  const history = new LagHistory();
  const start = 1_000_000n * SECOND;
  for (let i = 0; i < 1000; i++) {
    const late = i >= 900 ? [peer("late", null, null)] : [];
    history.note(start + BigInt(i) * LAG_STEP, [peer("early", i, i / 1000), ...late]);
  }
  const early = history.of("early") as Record<string, number[]>;
  assert.equal(early["times"]!.length, 360);
  assert.equal(early["times"]![359], 1_000_000 + 9990);
  assert.deepEqual([early["wal_lag"]![0], early["wal_lag"]![359]], [640, 999]);
  assert.deepEqual([early["lag_ms"]![0], early["lag_ms"]![359]], [640, 999]);
  const late = history.of("late") as Record<string, (number | null)[]>;
  assert.equal(late["times"]!.length, 100);
  assert.equal(late["wal_lag"]![0], null);
  assert.deepEqual(history.of("nobody"), { times: [], wal_lag: [], lag_ms: [] });
});

test("of many secondaries a bounded number is kept, and after a clock was set back nothing of its future", () => {
  const history = new LagHistory();
  const many = Array.from({ length: 200 }, (_, i) => peer(`s${i}`, 0, 0));
  history.note(100n * SECOND, many);
  assert.equal((history.of("s127")["times"] as number[]).length, 1);
  assert.equal((history.of("s128")["times"] as number[]).length, 0);
  history.note(50n * SECOND, many);
  assert.deepEqual(history.of("s0")["times"], [50]);
});
