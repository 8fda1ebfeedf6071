import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  anyExpression,
  anyToken,
  madeToken,
  naively,
  NOW,
  printed,
} from "../../../tests/support/made/made-filters.ts";
import { Failure } from "@holdfast/shared/failure";
import type { Clock } from "@holdfast/shared/world";
import { parseFilter } from "./filter.ts";
import type { FilteredToken } from "./filtered-token.ts";
import { PatternMaker } from "./pattern.ts";

const STILL: Clock = { now: () => NOW, elapsed: () => 0n };
const REAL: Clock = { now: () => NOW, elapsed: () => process.hrtime.bigint() };

async function holds(text: string, token: Partial<FilteredToken> = {}): Promise<boolean> {
  return (await parseFilter(text, { clock: STILL })).matches(madeToken(token));
}

function refusalIn(error: unknown): string {
  assert.ok(error instanceof Failure, String(error));
  assert.equal(error.kind, "invalid");
  assert.equal(error.code, "invalid_parameter");
  const [, problem = ""] = /^failed to read result page: (.+)$/.exec(error.message) ?? [];
  assert.notEqual(problem, "", error.message);
  return problem;
}

/** Refused before any token is looked at. */
async function refusal(text: string): Promise<string> {
  return parseFilter(text, { clock: STILL }).then(
    () => assert.fail(`accepted: ${text}`),
    refusalIn,
  );
}

/** How many of these tokens are looked at before the filter is refused. */
async function scanned(
  text: string,
  tokens: Iterable<FilteredToken>,
  clock = STILL,
): Promise<number> {
  const filter = await parseFilter(text, { clock });
  let count = 0;
  try {
    for (const token of tokens) {
      filter.matches(token);
      count += 1;
    }
  } catch (error) {
    assert.match(refusalIn(error), /^the filter takes too much work on these tokens; narrow/);
  }
  return count;
}

test("every filter means what the plainest evaluator says", async () => {
  const choices = fc.infiniteStream(fc.nat());
  const tokens = fc.array(anyToken, { minLength: 5, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(anyExpression, choices, tokens, async (expression, stream, some) => {
      const text = printed(expression, (options) => Number(stream.next().value) % options);
      const filter = await parseFilter(text, { clock: STILL });
      for (const token of some) {
        let expected: boolean | null;
        try {
          expected = naively(expression, token);
        } catch (error) {
          assert.ok(error instanceof RangeError);
          expected = null;
        }
        if (expected !== null) assert.equal(filter.matches(token), expected, text);
        else {
          const problem = /\/Policies\/0 at part 1: index 0 is out of range \(length = 0\)$/;
          assert.throws(() => filter.matches(token), problem);
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test("filters as the manual shows them", async () => {
  const reader = { policies: ["deploy", "readonly"], expires: NOW + 1n };
  assert.ok(await holds('Type == "client" and Policies contains "readonly"', reader));
  assert.ok(!(await holds('Type == "client" and Policies contains "read"', reader)));
  assert.ok(await holds("ExpirationTime is not nil", reader));
  assert.ok(!(await holds("ExpirationTime is not nil")));
  assert.ok(await holds('any Policies as p { p matches "^read" }', reader));
  assert.ok(!(await holds('any Policies as p { p matches "^only" }', reader)));
  const either = "Name is empty or not Global == true";
  assert.ok(await holds(either, { name: "", global: true }));
  assert.ok(await holds(either, { name: "x", global: false }));
  assert.ok(!(await holds(either, { name: "x", global: true })));
  assert.ok(await holds("Type == client"));
});

test("values are converted to the type of the field", async () => {
  for (const text of ["1", "t", "T", "true", "TRUE", "True"]) {
    assert.ok(await holds(`Global == ${text}`, { global: true }), text);
  }
  for (const text of ["0", "f", "F", "false", "FALSE", "False"]) {
    assert.ok(await holds(`Global == ${text}`, { global: false }), text);
  }
  for (const text of ["255", '"255"', '"0xff"', '"0b11111111"', '"0o377"']) {
    assert.ok(await holds(`CreateIndex == ${text}`, { createIndex: 255n }), text);
  }
  assert.ok(await holds("CreateIndex == 18446744073709551615", { createIndex: 2n ** 64n - 1n }));
  assert.ok(await holds("ExpirationTTL == 28800000000000", { ttl: 28_800_000_000_000n }));
  assert.ok(await holds("ExpirationTTL == 0 and ExpirationTTL > -1", { ttl: null }));
  for (const text of [
    "Global == yes",
    "CreateIndex == -1",
    "CreateIndex == 1.0",
    'CreateIndex == "010"',
  ]) {
    const problem = await refusal(text);
    assert.match(problem, /^error getting match value in expression: ".+" is not /, text);
  }
  for (const value of ['"1_0"', "18446744073709551616", "x", '""', '"0x"', '"0xx"']) {
    assert.match(
      await refusal(`CreateIndex == ${value}`),
      / is not a whole number from 0 on$/,
      value,
    );
  }
  assert.match(await refusal("ExpirationTTL == 9223372036854775808"), / is not a whole number$/);
});

test("times and numbers have an order, and what has expired can be asked for", async () => {
  const token = { expires: NOW, createIndex: 9n, created: NOW - 1n };
  assert.ok(await holds('ExpirationTime <= "2026-03-01T10:00:00Z"', token));
  assert.ok(!(await holds('ExpirationTime < "2026-03-01T11:00:00+01:00"', token)));
  assert.ok(await holds('CreateTime < "2026-03-01T10:00:00Z"', token));
  assert.ok(await holds("CreateIndex > 8 and CreateIndex >= 9 and CreateIndex < 10", token));
  // The boundary at which a token is refused.
  assert.ok(await holds("Expired == true", { expires: NOW - 1n }));
  assert.ok(!(await holds("Expired == true", token)));
  assert.ok(!(await holds("Expired == true", { expires: null })));
  const absent = { expires: null };
  for (const operator of ["<", "<=", ">", ">="]) {
    assert.ok(
      !(await holds(`ExpirationTime ${operator} "2026-03-01T10:00:00Z"`, absent)),
      operator,
    );
  }
  assert.match(await refusal('CreateTime < "yesterday"'), /"yesterday" is not an RFC 3339 time/);
  assert.match(await refusal('CreateTime < ""'), /"" is not an RFC 3339 time/);
});

test("the names of a quantifier hide fields and end with it", async () => {
  const token = { name: "outer", policies: ["a", "b"] };
  assert.ok(await holds("any Policies as Name { Name == b } and Name == outer", token));
  assert.ok(await holds("any Policies as i, p { i == 1 and p == b }", token));
  assert.ok(await holds("all Policies as i, _ { i < 2 }", token));
  assert.ok(await holds("any Policies as p { all Policies as p { p != c } and p == b }", token));
  assert.ok(!(await holds("any Policies as p { p == a }", { type: "management", policies: [] })));
  assert.ok(await holds("all Policies as p { p == a }", { type: "management", policies: [] }));
  assert.ok(await holds("all Roles as r { r.ID == x or r.Name == y }", token));
  assert.match(
    await refusal("any Policies as p { p == a } and p == a"),
    /struct field with name "p"$/,
  );
});

test("an unknown field is refused in the words that clients match on", async () => {
  assert.equal(
    await refusal('Bogus == "x"'),
    'error finding value in datum: /Bogus at part 0: couldn\'t find key: struct field with name "Bogus"',
  );
  assert.match(await refusal("name == x"), /struct field with name "name"$/);
  assert.match(
    await refusal("Name.x == 1"),
    /^error finding value in datum: \/Name\/x: at part 1, invalid/,
  );
  assert.match(
    await refusal("Policies.first == 1"),
    /\/Policies\/first at part 1: couldn't convert value/,
  );
  assert.match(
    await refusal("any Roles as r { r.Secret == 1 }"),
    /\/r\/Secret at part 1: couldn't find key/,
  );
  assert.match(await refusal('"/\u00e9" == 1'), /struct field with name "\\u00e9"$/);
});

test("T-B09: neither secret nor hash can be asked about", async () => {
  for (const field of ["SecretID", "Hash", "secret", "namespaceId"]) {
    for (const rest of ['matches "^a"', "== x", "is empty", "contains a", "is nil", "< 1"]) {
      const problem = `couldn't find key: struct field with name "${field}"`;
      const expected = `error finding value in datum: /${field} at part 0: ${problem}`;
      assert.equal(await refusal(`${field} ${rest}`), expected);
    }
  }
});

test("T-C12: nothing of the language underneath can be reached", async () => {
  for (const name of [
    "constructor",
    "toString",
    "this",
    "globalThis",
    "__proto__",
    "length",
    "prototype",
  ]) {
    for (const path of [`/${name}`, `/Policies/${name}`, `/Name/${name}`, `/Policies/0/${name}`]) {
      assert.match(await refusal(`"${path}" == x`), /^error finding value in datum: /, path);
    }
    assert.match(await refusal(`Policies["${name}"] is empty`), /^error finding value in datum: /);
  }
});

test("an operator is refused for a type it is not for, whatever tokens there are", async () => {
  const wrong = [
    "Policies == a",
    "Roles == a",
    "CreateTime == a",
    "ExpirationTime != a",
    '"" == a',
  ];
  wrong.push(
    "Global contains t",
    "CreateIndex contains 1",
    "Roles contains a",
    "a in ExpirationTime",
  );
  wrong.push(
    "Global matches t",
    "Policies matches t",
    "CreateIndex matches 1",
    "CreateTime matches t",
  );
  wrong.push(
    "Global is empty",
    "CreateIndex is empty",
    "CreateTime is empty",
    "Name is nil",
    "Type is not nil",
  );
  wrong.push(
    "Global is nil",
    "ExpirationTTL is nil",
    "Name < a",
    "Global > f",
    "Policies <= a",
    '"" is nil',
  );
  for (const text of wrong) {
    assert.match(
      await refusal(text),
      /^cannot perform \S+ operations on type .+; it is for /,
      text,
    );
    assert.match(await refusal(`Name is empty or ${text}`), /^cannot perform /, text);
    assert.match(await refusal(`any Policies as p { ${text} }`), /^cannot perform /, text);
  }
  assert.match(await refusal("any Name as n { n == a }"), /^"Name" is not a list or a map$/);
  assert.match(
    await refusal("all Policies.0 as n { n == a }"),
    /^"Policies.0" is not a list or a map$/,
  );
});

test("a place that a list does not have is refused when it is come to, and not before", async () => {
  const filter = await parseFilter("Type == client and Policies.1 == b", { clock: STILL });
  assert.ok(!filter.matches(madeToken({ type: "management", policies: [] })));
  assert.ok(filter.matches(madeToken({ policies: ["a", "b"] })));
  assert.throws(() => filter.matches(madeToken({ policies: ["a"] })), {
    code: "invalid_parameter",
    message:
      "failed to read result page: error finding value in datum: /Policies/1 at part 1: index 1 is out of range (length = 1)",
  });
});

test("a pattern that cannot be used is refused without being shown", async () => {
  const start = /^failed to compile regular expression: /;
  for (const pattern of [
    "(",
    "a**",
    "[z-a]",
    "\\1",
    "(?=a)",
    "(?<=a)b",
    "a{1001}",
    "\\C",
    "(?P<n",
    "|+",
  ]) {
    const problem = await refusal(`Name matches \`hunter2${pattern}\``);
    assert.match(problem, start, pattern);
    assert.doesNotMatch(problem, /hunter2/);
  }
  assert.match(
    await refusal(`Name matches "${"x".repeat(257)}"`),
    /it may have at most 256 bytes$/,
  );
  assert.ok(!(await holds(`Name matches "${"x".repeat(256)}"`)));
  const large = ["x{1000}", "(x{40}){20}", "(?:x{0,400}y{0,400})"];
  for (const pattern of large)
    assert.match(await refusal(`Name matches "${pattern}"`), /it is too large/);
  const many = Array.from({ length: 40 }, (_, at) => `Name matches "${at}x{20}"`).join(" or ");
  assert.match(await refusal(many), /it is too large/);
});

test("T-C13: patterns that others take for ever on take time that grows with the text", async () => {
  const maker = await PatternMaker.load();
  const long = `${"a".repeat(64 * 1024)}!`;
  const catastrophic = ["^(a+)+$", "^(a|aa)+$", "^(a*)*b", "(a?){20}a{20}$", "(.*a){10}b"];
  const from = performance.now();
  for (const pattern of catastrophic) assert.ok(!maker.make(pattern).foundIn(long), pattern);
  // Some 30 ms. Backtracking would outlast the universe, so a slow day is no matter here.
  assert.ok(performance.now() - from < 10_000);
});

const MANY = Array.from({ length: 1024 }, (_, at) => `policy-${at}`);

function* copies(token: FilteredToken, count: number): Generator<FilteredToken> {
  for (let at = 0; at < count; at += 1) yield token;
}

test("work that multiplies is refused, on any machine after the same number of tokens", async () => {
  const heavy = madeToken({ name: "a".repeat(256), policies: MANY });
  const nested = "any Policies as a { any Policies as b { any Policies as c { a == x } } }";
  assert.equal(await scanned(nested, copies(heavy, 10)), 0);
  const wide = Array.from({ length: 200 }, (_, at) => `a${at} in Policies`).join(" or ");
  const count = await scanned(wide, copies(heavy, 1000));
  assert.ok(count > 0 && count < 100, String(count));
  const searched = `Name contains "${"a".repeat(127)}b"`;
  const searches = Array.from({ length: 25 }, () => searched).join(" or ");
  assert.ok((await scanned(searches, copies(heavy, 1000))) < 1000);
});

test("usual filters are never refused, and neither are a few heavy tokens among others", async () => {
  const usual = [
    "Type == client and Policies contains readonly or Name matches `(?i)prod.*(east|west)`",
    "any Policies as p { p matches `^read` or p contains deploy } and not Expired == true",
    Array.from({ length: 100 }, (_, at) => `Name == "name-${at}"`).join(" or "),
  ];
  const token = madeToken({
    name: "ci-deployer-prod-eu",
    policies: ["deploy", "logs", "readonly"],
  });
  for (const text of usual) assert.equal(await scanned(text, copies(token, 20_000), REAL), 20_000);
  const some = [madeToken({ policies: MANY }), ...copies(token, 100)];
  const mixed = Array.from({ length: 50 }, () => some).flat();
  assert.equal(await scanned("any Policies as p { p == x }", mixed), mixed.length);
});

test("a pattern is charged with the time it takes, but not with a pause of the process", async () => {
  let at = 0n;
  const slow: Clock = { now: () => NOW, elapsed: () => (at += 1_000_000n) }; // a millisecond a match
  const token = madeToken({ name: "x".repeat(256) });
  assert.ok((await scanned("Name matches `y.{30}`", copies(token, 1000), slow)) < 30);
  let pauses = 0;
  const pausing: Clock = {
    now: () => NOW,
    elapsed: () => {
      pauses += 1;
      return pauses % 100 === 0 ? (at += 1_000_000_000n) : at;
    },
  };
  const short = madeToken({ name: "x".repeat(20) });
  assert.equal(await scanned("Name matches `^re`", copies(short, 1000), pausing), 1000);
});

test("a pattern made to explode is stopped within a thousand tokens", async () => {
  let seed = 1;
  const bits = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 2 === 0 ? "0" : "1";
  };
  const names = Array.from({ length: 1000 }, () => Array.from({ length: 256 }, bits).join(""));
  const tokens = names.map((name) => madeToken({ name }));
  assert.ok((await scanned("Name matches `1[01]{200}$`", tokens, REAL)) < 1000);
});
