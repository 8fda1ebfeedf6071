// Durations: both dialects against tables of forms, exactness, and the way back.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import * as d from "./duration.ts";
import { Failure } from "../failure.ts";
import { rawNumber } from "../json/json.ts";

const { HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND } = d;
const MAX = 2n ** 63n - 1n;

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, "invalid");
    return error.message;
  }
  return assert.fail("it was accepted");
}

const tokenTable: readonly [input: unknown, nanos: bigint | null][] = [
  ["8h", 8n * HOUR],
  ["1h30m", 90n * MINUTE],
  ["1.5h", 90n * MINUTE],
  [".5s", 500n * MILLISECOND],
  ["1.s", SECOND],
  ["1h2m3s4ms5us6ns", HOUR + 2n * MINUTE + 3n * SECOND + 4_005_006n],
  ["3\u00b5s", 3n * MICROSECOND],
  ["3\u03bcs", 3n * MICROSECOND],
  ["2d", 48n * HOUR],
  ["-1m", -MINUTE],
  ["+1m", MINUTE],
  ["1s1s", 2n * SECOND],
  ["0.9999999999s", 999_999_999n],
  ["0.3333333333333333333h", 1_199_999_999_999n],
  ["9223372036854775807ns", MAX],
  ["-9223372036854775808ns", -MAX - 1n],
  ["0", null],
  ["-0", null],
  ["0s", null],
  ["", null],
  [null, null],
  [undefined, null],
  [0, null],
  [-0, null],
  [0n, null],
  [60_000_000_000, MINUTE],
  [60_000_000_000n, MINUTE],
  [1.9, 1n],
  [-1.9, -1n],
];
for (const [input, nanos] of tokenTable) {
  test(`parseTokenDuration(${typeof input} ${String(input)}) is ${String(nanos)}`, () => {
    assert.equal(d.parseTokenDuration(input), nanos);
  });
}

const tokenRefusals: readonly [input: string, message: string][] = [
  ["abc", 'time: invalid duration "abc"'],
  ["10", 'time: missing unit in duration "10"'],
  ["1.2.3s", 'time: missing unit in duration "1.2.3s"'],
  ["1w", 'time: unknown unit "w" in duration "1w"'],
  ["1h2x3s", 'time: unknown unit "x" in duration "1h2x3s"'],
  ["1 h", 'time: unknown unit " h" in duration "1 h"'],
  ["1H", 'time: unknown unit "H" in duration "1H"'],
  [" 1h", 'time: invalid duration " 1h"'],
  ["-", 'time: invalid duration "-"'],
  ["--1s", 'time: invalid duration "--1s"'],
  [".s", 'time: invalid duration ".s"'],
  [".", 'time: invalid duration "."'],
  ["1e3s", 'time: unknown unit "e" in duration "1e3s"'],
  ["9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'],
  ["300000h1000000h2000000h", 'time: invalid duration "300000h1000000h2000000h"'],
  [
    '1"\\\n\x1b\x7f',
    'time: unknown unit "\\"\\\\\\x0a\\x1b\\x7f" in duration "1\\"\\\\\\x0a\\x1b\\x7f"',
  ],
  ["0.1ns", 'time: duration "0.1ns" is below one nanosecond'],
  ["-0.0000000001s", 'time: duration "-0.0000000001s" is below one nanosecond'],
  ["0.4ns0.5ns", 'time: duration "0.4ns0.5ns" is below one nanosecond'],
  ["1\u202e", 'time: unknown unit "\\xe2\\x80\\xae" in duration "1\\xe2\\x80\\xae"'],
];
for (const [input, message] of tokenRefusals) {
  test(`parseTokenDuration() refuses ${JSON.stringify(input)} in its own words`, () => {
    assert.equal(
      refusal(() => d.parseTokenDuration(input)),
      message,
    );
  });
}

test("what is not zero does not become zero in either dialect", () => {
  for (const input of [0.5, -0.4, 0.9, Number.MIN_VALUE]) {
    assert.match(
      refusal(() => d.parseTokenDuration(input)),
      /is below one nanosecond$/,
    );
  }
  assert.match(
    refusal(() => d.parseDuration("0.4ns")),
    /^time: duration "0.4ns" is below one nanosecond; accepted is/,
  );
  assert.equal(d.parseDuration("0.0s"), 0n);
});

test("numbers beyond 64 bits of nanoseconds are refused in both dialects", () => {
  const message = 'time: invalid duration "9223372036854775808"';
  assert.equal(
    refusal(() => d.parseTokenDuration(2n ** 63n)),
    message,
  );
  assert.equal(
    refusal(() => d.parseTokenDuration(1e30)),
    'time: invalid duration "1e+30"',
  );
  assert.equal(
    refusal(() => d.parseDuration(1e10)),
    'time: invalid duration "10000000000"',
  );
  assert.equal(
    refusal(() => d.parseDuration("9223372037")),
    'time: invalid duration "9223372037"',
  );
  assert.equal(d.parseDuration("9223372036"), 9_223_372_036n * SECOND);
  // Printing this number in full would take longer than the whole test run.
  const huge = 2n ** 40_000_000n;
  assert.equal(
    refusal(() => d.parseTokenDuration(huge)),
    'time: invalid duration "Infinity"',
  );
});

test("types other than text and number are refused in both dialects", () => {
  for (const input of [true, false, {}, [], ["1h"], () => 1, Symbol("1h"), NaN, Infinity]) {
    assert.match(
      refusal(() => d.parseTokenDuration(input)),
      /^a duration must be text such as/,
    );
    assert.match(
      refusal(() => d.parseDuration(input)),
      /^a duration must be a whole number of/,
    );
  }
});

const table: readonly [input: unknown, nanos: bigint][] = [
  [90, 90n * SECOND],
  [90n, 90n * SECOND],
  [0, 0n],
  ["90", 90n * SECOND],
  ["0", 0n],
  ["90s", 90n * SECOND],
  ["1.5h", 90n * MINUTE],
  ["182d", 182n * 24n * HOUR],
  ["1d12h", 36n * HOUR],
  ["7ns", 7n],
  ["250ms", 250n * MILLISECOND],
  ["5us", 5n * MICROSECOND],
];
for (const [input, nanos] of table) {
  test(`parseDuration(${typeof input} ${String(input)}) is ${nanos}`, () => {
    assert.equal(d.parseDuration(input), nanos);
  });
}

test("parseDuration() has no sign, no fraction of a bare number and nothing for absent", () => {
  const bad = [-1, -1n, 1.5, "-1", "-1s", "+1s", "1.5", "", null, undefined, "1h ", "0x10", "1_0"];
  for (const input of bad) {
    const message = refusal(() => d.parseDuration(input));
    assert.match(message, /a whole number of seconds or text such as "90s" or "1h30m"$/);
  }
});

test("a number of JSON is its value, however it is spelt, and exactly that", () => {
  for (const spelt of ["3600.0", "36e2", "3.6E+3", "36000e-1"]) {
    assert.equal(d.parseDuration(rawNumber(spelt)), 3600n * SECOND, spelt);
  }
  for (const spelt of ["-1.0", "1.50", "1.0000000000000000000001", "1e400", "15e-1", "1e9999"]) {
    assert.equal(d.parseWholeSeconds(rawNumber(spelt)), undefined, spelt);
  }
});

test("parseWholeSeconds() rounds nothing", () => {
  for (const [input, seconds] of [
    [0, 0],
    ["0ms", 0],
    [90, 90],
    ["90", 90],
    ["1000ms", 1],
    ["1.5h", 5400],
  ] as const) {
    assert.equal(d.parseWholeSeconds(input), BigInt(seconds) * SECOND);
  }
  for (const input of ["1ns", "500ms", "1500ms", "1.5s", 1.5, "", "soon", null]) {
    assert.equal(d.parseWholeSeconds(input), undefined);
  }
});

test("a refusal shows at most 64 characters of the input, and long texts are refused", () => {
  const long = "7".repeat(2 ** 20);
  for (const input of [long, `${long}s`, `1${"Q".repeat(2 ** 20)}`, `1${"Q".repeat(100)}`]) {
    for (const parse of [d.parseTokenDuration, d.parseDuration]) {
      const quoted = refusal(() => parse(input)).match(/[7Q]/g) ?? [];
      assert.ok(quoted.length > 0 && quoted.length <= 64);
    }
  }
});

test("texts beyond 128 characters are refused even if their value is small", () => {
  assert.equal(d.parseDuration(`0.${"1".repeat(125)}s`), 111_111_111n);
  for (const text of [`0.${"1".repeat(126)}s`, "1s".repeat(65)]) {
    assert.match(
      refusal(() => d.parseDuration(text)),
      /^time: invalid duration/,
    );
    assert.match(
      refusal(() => d.parseTokenDuration(text)),
      /^time: invalid duration/,
    );
  }
  assert.match(
    refusal(() => d.parseDuration("90".padStart(129, "0"))),
    /^time: invalid duration/,
  );
});

const texts: readonly [nanos: bigint, text: string][] = [
  [0n, "0s"],
  [1n, "1ns"],
  [1_100n, "1.1\u00b5s"],
  [2_200_000n, "2.2ms"],
  [250n * MILLISECOND, "250ms"],
  [1_500n * MILLISECOND, "1.5s"],
  [SECOND + 1n, "1.000000001s"],
  [MINUTE, "1m0s"],
  [90n * SECOND, "1m30s"],
  [HOUR, "1h0m0s"],
  [36n * HOUR, "36h0m0s"],
  [5n * HOUR + 6n * MINUTE + 7n * SECOND + MILLISECOND, "5h6m7.001s"],
  [-MINUTE, "-1m0s"],
  [MAX, "2562047h47m16.854775807s"],
  [-MAX - 1n, "-2562047h47m16.854775808s"],
];
for (const [nanos, text] of texts) {
  test(`showDuration(${nanos}) is ${text}`, () => {
    assert.equal(d.showDuration(nanos), text);
  });
}

test("what showDuration() writes is read back exactly", () => {
  const signed = fc.bigInt({ min: -MAX - 1n, max: MAX });
  const small = fc.bigInt({ min: 1n, max: 10n * SECOND });
  fc.assert(
    fc.property(fc.oneof(signed, small), (nanos) => {
      const text = d.showDuration(nanos);
      assert.equal(d.parseTokenDuration(text) ?? 0n, nanos);
      if (nanos > 0n) assert.equal(d.parseDuration(text), nanos);
    }),
  );
});

test("decimal fractions are exact: n.f of a unit is (n.f × unit) without what is below 1 ns", () => {
  const digits = fc.array(fc.nat(9), { minLength: 1, maxLength: 25 }).map((all) => all.join(""));
  fc.assert(
    fc.property(fc.nat(1000), digits, (whole, fraction) => {
      const scale = 10n ** BigInt(fraction.length);
      const exact = ((BigInt(whole) * scale + BigInt(fraction)) * HOUR) / scale;
      assert.equal(d.parseDuration(`${whole}.${fraction}h`), exact);
    }),
  );
});
