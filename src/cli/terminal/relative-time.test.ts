// Times as people read them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { longTime, plainTime, relative, shortTime } from "./relative-time.ts";

const NOW = 1_772_359_200n * SECOND; // 2026-03-01T10:00:00Z

test("relative() tells the two largest units, before and after", () => {
  for (const [distance, text] of [
    [0n, "now"],
    [SECOND - 1n, "now"],
    [SECOND, "in 1s"],
    [59n * SECOND, "in 59s"],
    [-90n * SECOND, "1m30s ago"],
    [-HOUR, "1h ago"],
    [8n * HOUR - 1n, "in 7h59m"],
    [-(2n * DAY + 3n * HOUR + 59n * MINUTE), "2d3h ago"],
    [DAY + MINUTE, "in 1d"],
    [400n * DAY, "in 400d"],
  ] as const) {
    assert.equal(relative(NOW + distance, NOW), text);
  }
});

test("a record shows the exact time as well; no time and an odd one are none", () => {
  assert.equal(
    longTime("2026-03-01T09:00:00.123456789Z", NOW),
    "2026-03-01T09:00:00.123456789Z (59m59s ago)",
  );
  assert.equal(
    plainTime("2026-03-01T09:00:00.123456789Z", NOW),
    "2026-03-01T09:00:00Z (59m59s ago)",
  );
  assert.equal(shortTime("2026-03-01T18:00:00Z", NOW), "in 8h");
  for (const value of [null, undefined, "", "0001-01-01T00:00:00Z", "soon", 7]) {
    assert.equal(shortTime(value, NOW), "<none>");
    assert.equal(longTime(value, NOW), "<none>");
  }
});
