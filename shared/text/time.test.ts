// Times: the accepted forms, the calendar against JavaScript's own, and the exact round trip.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "../failure.ts";
import { InvariantError } from "../invariant.ts";
import { parseTime, showTime } from "./time.ts";

const MILLI = 1_000_000n;
const FIRST = BigInt(Date.parse("0001-01-01T00:00:00Z")) * MILLI;
const LAST = BigInt(Date.parse("9999-12-31T23:59:59Z")) * MILLI + 999_999_999n;

function floorMillis(instant: bigint): number {
  return Number((instant - (((instant % MILLI) + MILLI) % MILLI)) / MILLI);
}

const accepted: readonly [input: string, output: string][] = [
  ["2026-03-01T10:00:00.123456789Z", "2026-03-01T10:00:00.123456789Z"],
  ["2026-03-01T10:00:00.5Z", "2026-03-01T10:00:00.5Z"],
  ["2026-03-01T10:00:00.500000000Z", "2026-03-01T10:00:00.5Z"],
  ["2026-03-01T10:00:00.000Z", "2026-03-01T10:00:00Z"],
  ["2026-03-01t10:00:00z", "2026-03-01T10:00:00Z"],
  ["2026-03-01T10:00:00.1234567899999Z", "2026-03-01T10:00:00.123456789Z"],
  ["2026-03-01T10:00:00+01:30", "2026-03-01T08:30:00Z"],
  ["2026-03-01T00:00:00-23:59", "2026-03-01T23:59:00Z"],
  ["2026-03-01T00:00:00+00:01", "2026-02-28T23:59:00Z"],
  ["2024-03-01T00:00:00+00:01", "2024-02-29T23:59:00Z"],
  ["2026-03-01T10:00:00-00:00", "2026-03-01T10:00:00Z"],
  ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"],
  ["1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z"],
  ["0001-01-01T00:00:00.000000001Z", "0001-01-01T00:00:00.000000001Z"],
  ["9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"],
];
for (const [input, output] of accepted) {
  test(`parseTime(${input}) is the instant ${output}`, () => {
    const instant = parseTime(input);
    assert.ok(instant !== null);
    assert.equal(showTime(instant), output);
    assert.equal(floorMillis(instant), Date.parse(output.replace(/(\.\d{3})\d*Z/, "$1Z")));
  });
}

test("absent, empty and zero times are not set, the zero time in any offset", () => {
  const unset = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z", "0001-01-01T05:30:00+05:30"];
  for (const input of [undefined, null, "", ...unset]) assert.equal(parseTime(input), null);
});

const refused: readonly unknown[] = [
  "2026-02-29T00:00:00Z",
  "1900-02-29T00:00:00Z",
  "2026-04-31T00:00:00Z",
  "2026-00-01T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-01-00T00:00:00Z",
  "2026-01-32T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:60:00Z",
  "2016-12-31T23:59:60Z",
  "2026-01-01T00:00:00+24:00",
  "2026-01-01T00:00:00+00:60",
  "0000-12-31T23:59:59Z",
  "0001-01-01T00:00:00+00:01",
  "9999-12-31T23:59:59-00:01",
  "2026-01-01T00:00:00",
  "2026-01-01 00:00:00Z",
  "2026-01-01",
  "2026-1-1T00:00:00Z",
  "2026-01-01T00:00:00.Z",
  "2026-01-01T00:00:00,5Z",
  "2026-01-01T00:00:00+0100",
  "2026-01-01T00:00:00Z\n",
  " 2026-01-01T00:00:00Z",
  "+02026-01-01T00:00:00Z",
  "２０２６-01-01T00:00:00Z",
  "now",
  1_800_000_000,
  0,
  true,
  {},
];
for (const input of refused) {
  test(`parseTime() refuses ${JSON.stringify(input)}`, () => {
    assert.throws(
      () => parseTime(input),
      (error) => error instanceof Failure && error.kind === "invalid",
    );
  });
}

test("what showTime() writes is read back exactly, and it agrees with Date", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: FIRST + 1n, max: LAST }), (instant) => {
      const text = showTime(instant);
      assert.equal(parseTime(text), instant);
      const iso = new Date(floorMillis(instant)).toISOString();
      assert.equal(text.slice(0, 19), iso.slice(0, 19));
    }),
    { numRuns: 2_000 },
  );
});

test("every day of eight centuries has the date that Date gives it", () => {
  const day = 86_400n * 1_000_000_000n;
  for (let at = -210_000; at < 90_000; at += 1) {
    const iso = new Date(at * 86_400_000).toISOString();
    assert.equal(showTime(BigInt(at) * day).slice(0, 10), iso.slice(0, 10));
  }
});

test("showTime() has no form for instants outside the years 1 to 9999", () => {
  for (const instant of [FIRST - 1n, LAST + 1n]) {
    assert.throws(() => showTime(instant), InvariantError);
  }
  assert.equal(showTime(FIRST), "0001-01-01T00:00:00Z");
});
