import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import { Cron, CronFault } from "./cron.ts";

function after(text: string, from: string): string | null {
  const next = new Cron(text).next(parseTime(from) ?? 0n);
  return next === null ? null : showTime(next);
}

test("the next time is the first whole minute that fits, after now", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"],
    ["* * * * *", "2026-01-01T00:00:59.999Z", "2026-01-01T00:01:00Z"],
    ["0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"],
    ["0 3 * * *", "2026-01-01T02:59:00Z", "2026-01-01T03:00:00Z"],
    ["*/15 9-17 * * MON-FRI", "2026-01-02T17:45:00Z", "2026-01-05T09:00:00Z"],
    ["5/20 0 * * ?", "2026-01-01T00:05:00Z", "2026-01-01T00:25:00Z"],
    ["0 0 1 jan,jul *", "2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"],
    ["0 0 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"],
    ["0 0 * * 5-7", "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"],
    ["0 0 13 * FRI", "2026-01-03T00:00:00Z", "2026-01-09T00:00:00Z"], // either of both
    ["59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"],
    ["0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"], // 2100 has none
  ];
  for (const [text, from, expected] of rows) {
    assert.equal(Date.parse(after(text, from) ?? ""), Date.parse(expected), `${text} ${from}`);
  }
  assert.equal(after("0 0 30 2 *", "2026-01-01T00:00:00Z"), null);
});

test("what is no schedule is refused, and says which field", () => {
  for (const [text, why] of [
    ["", /0 fields/],
    ["0 3 * *", /4 fields/],
    ["0 0 3 * * *", /6 fields/],
    ["@daily", /1 fields/],
    ["60 3 * * *", /^minute cannot be "60"/],
    ["0 24 * * *", /^hour/],
    ["0 3 0 * *", /^day of month/],
    ["0 3 * 13 *", /^month/],
    ["0 3 * * 8", /^day of week/],
    ["0 3 * * FUN", /^day of week/],
    ["5-1 3 * * *", /^minute/],
    ["*/0 3 * * *", /^minute/],
    ["1,,2 3 * * *", /^minute/],
    ["*-5 3 * * *", /^minute/],
    ["-1 3 * * *", /^minute/],
    [`0 3 * * ${"1,".repeat(200)}1`, /over 256 characters/],
  ] as const) {
    assert.throws(
      () => new Cron(text),
      (error: unknown) => {
        assert.ok(error instanceof CronFault, text);
        assert.match(error.message, why, text);
        return true;
      },
    );
  }
});

test("any text is a schedule or refused, and the next time is later and fits again from before it", () => {
  const word = fc.stringMatching(/^[0-9*?,/A-Z-]{1,6}$/);
  const one = fc.integer({ min: 1, max: 12 }).map(String);
  const field = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("*", "?", "*/5", "1-9/2") },
    one,
    word,
  );
  fc.assert(
    fc.property(
      fc.array(field, { minLength: 5, maxLength: 5 }),
      fc.integer({ min: 0, max: 2 ** 40 }),
      (fields, ms) => {
        const from = BigInt(ms) * 1_000_000n;
        let cron: Cron;
        try {
          cron = new Cron(fields.join(" "));
        } catch (error) {
          assert.ok(error instanceof CronFault);
          return;
        }
        const next = cron.next(from);
        if (next === null) return;
        assert.ok(next > from && next % 60_000_000_000n === 0n);
        assert.equal(cron.next(next - 1n), next);
      },
    ),
  );
});
