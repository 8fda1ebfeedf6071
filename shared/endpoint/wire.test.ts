import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { MINUTE, SECOND } from "../text/duration.ts";
import { Failure } from "../failure.ts";
import { type JsonValue, rawNumber } from "../json/json.ts";
import { readJson } from "../json/json-reader.ts";
import { Secret } from "../secret.ts";
import type { Field } from "./field.ts";
import { wire } from "./wire.ts";

function refusal(field: Field<unknown>, value: JsonValue | undefined): string {
  try {
    field.read(value);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, "invalid");
    return error.message;
  }
  return assert.fail(`${JSON.stringify(value)} was accepted`);
}

const x = wire.body("x");
const help = "Help.";

interface Row {
  readonly field: Field<unknown>;
  readonly accepts: readonly (readonly [input: JsonValue, value: unknown])[];
  readonly refuses: readonly JsonValue[];
  readonly says: string;
}

const rows: Readonly<Record<string, Row>> = {
  string: {
    field: x.string(help, { max: 3 }),
    accepts: [
      ["", ""],
      ["abc", "abc"],
    ],
    refuses: ["abcd", 1, true, [], {}, rawNumber("1.50")],
    says: "x must be a string of at most 3 characters",
  },
  oneOf: {
    field: x.oneOf(["a", "b", ""], help),
    accepts: [
      ["a", "a"],
      ["", ""],
    ],
    refuses: ["A", "c", 1, ["a"]],
    says: 'x must be one of a, b, ""',
  },
  integer: {
    field: x.integer(help, { min: -5, max: 10 }),
    accepts: [
      [0, 0],
      [10, 10],
      ["-5", -5],
      ["010", 10],
      [rawNumber("5.0"), 5],
      [rawNumber("-0"), 0],
    ],
    refuses: [
      11,
      -6,
      1.5,
      "11",
      "1.0",
      "1e1",
      "",
      " 1",
      "0x1",
      true,
      [],
      rawNumber("1.50"),
      rawNumber("5e0"),
      rawNumber("12345678901234567890"),
    ],
    says: "x must be a whole number from -5 to 10",
  },
  number: {
    field: x.number(help, { min: 0 }),
    accepts: [
      [0, 0],
      [1.5, 1.5],
      ["2.5", 2.5],
      [rawNumber("1.50"), 1.5],
      [rawNumber("1e3"), 1000],
    ],
    refuses: [-1, "x", "1e3", "", "Infinity", rawNumber("1e400"), rawNumber("-1.0"), null!, []],
    says: "x must be a number, at least 0",
  },
  boolean: {
    field: x.boolean(help),
    accepts: [
      [true, true],
      [false, false],
      ["true", true],
      ["false", false],
      ["1", true],
      ["0", false],
      ["t", true],
      ["True", true],
      ["TRUE", true],
      ["F", false],
    ],
    refuses: [1, 0, "", "yes", "tRUE", "on", [], {}],
    says: "x must be true or false",
  },
  duration: {
    field: x.duration(help, { min: SECOND, max: 2n * MINUTE }),
    accepts: [
      [90, 90n * SECOND],
      ["90", 90n * SECOND],
      ["1m30s", 90n * SECOND],
      ["1.5m", 90n * SECOND],
      [rawNumber("90.0"), 90n * SECOND],
      [rawNumber("9e1"), 90n * SECOND],
    ],
    refuses: [0, 121, "3m", "", "-1s", "1y", "1.5s", 1.5, true, [], {}, rawNumber("1.50")],
    says:
      "x must be a number of seconds, or a duration in whole seconds such as 90s, 1h30m or 182d, " +
      "at least 1s, at most 2m0s",
  },
  list: {
    field: x.list(help, { max: 2 }),
    accepts: [
      [[], []],
      [
        ["a", "b"],
        ["a", "b"],
      ],
      ["a, b", ["a", "b"]],
      ["", []],
    ],
    refuses: [["a", "b", "c"], "a,b,c", [1], [["a"]], [null], 1, {}, { length: 1e9 }],
    says: "x must be a list of strings, at most 2 of them",
  },
  texts: {
    field: x.texts(help, { max: 2, maxKey: 3, maxValue: 4 }),
    accepts: [
      [{}, {}],
      [{ abc: "wxyz" }, { abc: "wxyz" }],
    ],
    refuses: [{ a: "1", b: "2", c: "3" }, { abcd: "" }, { a: "12345" }, { "": "" }, { a: 1 }, []],
    says:
      "x must be an object of strings: at most 2 members, " +
      "names of 1 to 3 and values of up to 4 characters",
  },
  object: {
    field: x.object(help),
    accepts: [[{ a: [1] }, { a: [1] }]],
    refuses: ["", 1, [], true, rawNumber("1.50")],
    says: "x must be an object",
  },
};

for (const [kind, { field, accepts, refuses, says }] of Object.entries(rows)) {
  test(`${kind}: what is accepted becomes a typed value, the rest is refused by name`, () => {
    for (const [input, value] of accepts) assert.deepEqual(field.read(input), value);
    for (const input of refuses.filter((each) => each !== null)) {
      assert.equal(refusal(field, input), says, JSON.stringify(input));
    }
    assert.equal(field.required, true);
    for (const missing of [undefined, null]) {
      assert.equal(refusal(field, missing), says.replace("x must", "x is missing; it must"));
    }
  });
}

test("a secret is wrapped, marked and never part of a refusal", () => {
  const field = x.secret(help, { max: 8 });
  const found = field.read("hunter2");
  assert.ok(found instanceof Secret);
  assert.equal(found.reveal(), "hunter2");
  assert.equal(field.secret, true);
  assert.equal(field.schema.format, "password");
  assert.equal(x.string(help).secret, false);
  assert.ok(!refusal(field, "hunter2hunter2").includes("hunter2"));
});

test("no refusal repeats what was given", () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(rows)), fc.jsonValue(), ({ field }, input) => {
      const marked = [input, "q7-canary"] as JsonValue;
      assert.ok(
        !refusal(field, field === rows["list"]?.field ? { a: marked } : marked).includes("q7"),
      );
    }),
  );
});

test("a body read exactly and a field agree on numbers that are spelt oddly", () => {
  const body = readJson(Buffer.from('{"n":1.50,"i":5.0,"d":60.0,"big":9007199254740993}'));
  assert.equal(x.number(help).read(body["n"]), 1.5);
  assert.equal(x.integer(help).read(body["i"]), 5);
  assert.equal(x.duration(help).read(body["d"]), MINUTE);
  refusal(x.integer(help), body["big"]); // no double holds it: better refused than another number
  assert.deepEqual(x.json(help).read(body["n"]), rawNumber("1.50"));
});

test("an optional field is undefined when absent or null, and checked when given", () => {
  const field = x.integer(help).optional();
  assert.equal(field.required, false);
  assert.equal(field.read(undefined), undefined);
  assert.equal(field.read(null), undefined);
  assert.equal(field.read(3), 3);
  assert.equal(refusal(field, "x"), "x must be a whole number");
  assert.deepEqual([field.source, field.name, field.help], ["body", "x", help]);
  assert.equal(x.secret(help).optional().secret, true);
});

test("a default stands in for what is absent and is told in the schema", () => {
  const field = x.integer(help).default(7);
  assert.equal(field.read(undefined), 7);
  assert.equal(field.read(null), 7);
  assert.equal(field.read(0), 0);
  assert.equal(field.schema.default, 7);
  assert.equal(x.boolean(help).default(false).schema.default, false);
  assert.deepEqual(x.list(help).default([]).schema.default, []);
  const lasting = x.duration(help).default(MINUTE, "1m");
  assert.equal(lasting.read(undefined), MINUTE);
  assert.equal(lasting.schema.default, "1m");
  assert.equal("default" in x.duration(help).default(MINUTE).schema, false);
});

test("schemas say what validation does", () => {
  assert.deepEqual(x.integer(help, { min: 1, max: 9 }).schema, {
    type: "integer",
    minimum: 1,
    maximum: 9,
    description: help,
  });
  assert.deepEqual(x.string(help, { max: 5 }).schema, {
    type: "string",
    maxLength: 5,
    description: help,
  });
  assert.deepEqual(x.oneOf(["a"], help).schema.enum, ["a"]);
  assert.equal(x.duration(help).schema.oneOf?.length, 2);
});

test("places: path, query, body and param, each under its name", () => {
  for (const source of ["path", "query", "body", "param"] as const) {
    const field = wire[source]("some_name").string(help);
    assert.deepEqual([field.source, field.name], [source, "some_name"]);
  }
});

test("a text of very many commas is not taken apart further than to the limit", (t) => {
  const split = t.mock.method(String.prototype, "split");
  const text = ",".repeat(500_000);
  assert.match(refusal(x.list(help, { max: 3 }), text), /at most 3/);
  assert.match(refusal(x.policies(help, { max: 3 }), text), /at most 3/);
  const parts = split.mock.calls.map(({ result }) => result?.length ?? 0);
  assert.ok(parts.length >= 2 && Math.max(...parts) < 100, `${Math.max(...parts)} parts`);
});
