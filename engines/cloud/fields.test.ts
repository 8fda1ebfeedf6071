import assert from "node:assert/strict";
import test from "node:test";
import { type JsonValue, rawNumber } from "@holdfast/shared/json/json";
import { flag, items, seconds, secretText, text, toggle } from "./fields.ts";

/** As it comes out of a body: numbers of an odd spelling keep it. */
const inBody = (json: string): JsonValue =>
  /^\d+\.\d*0$/.test(json) ? rawNumber(json) : (JSON.parse(json) as JsonValue);

test("texts may be numbers and switches", () => {
  const field = text("f", "", "body", 5);
  for (const [input, found] of [
    ['"a"', "a"],
    ["123", "123"],
    ["1.50", "1.50"],
    ["true", "true"],
  ] as const) {
    assert.equal(field.read(inBody(input)), found);
    assert.equal(secretText("f", "").read(inBody(input)).reveal(), found);
  }
  for (const input of ["[]", "{}", '"123456"', "123456"]) {
    assert.throws(() => field.read(inBody(input)), /^Failure: f must be a string of at most 5/);
  }
  assert.equal(secretText("f", "").secret, true);
});

test("switches may be numbers and texts", () => {
  for (const input of [true, 1, "true", "1"]) assert.equal(toggle("f", "").read(input), true);
  for (const input of [false, 0, "false", "0"]) assert.equal(toggle("f", "").read(input), false);
  for (const input of ["", "yes", 2])
    assert.throws(() => toggle("f", "").read(input), /^Failure: f/);
  assert.deepEqual([flag("f", "").read(""), flag("f", "").read(1)], [true, true]);
});

test("lengths of time are whole seconds, and nothing is rounded", () => {
  const read = (json: string) => seconds("f", "").read(inBody(json));
  assert.deepEqual(
    ['""', "90", '"90"', '"1h30m"', '"1000ms"', '"1.5h"', '"2d"'].map(read),
    [0, 90, 90, 5400, 1, 5400, 172_800],
  );
  for (const input of ["-1", '"-5s"', '"soon"', '"40000d"', "{}", '"500ms"', '"1.5s"', "1.5"]) {
    assert.throws(() => read(input), /^Failure: f must be a number of seconds/);
  }
});

test("lists are arrays, or one text with commas; what is empty is none", () => {
  const read = (json: string) => items("f", "", 4).read(inBody(json));
  assert.deepEqual(read('["a", " b ", "", 7]'), ["a", "b", "7"]);
  assert.deepEqual(read('"a, b,"'), ["a", "b"]);
  assert.deepEqual(read("7"), ["7"]);
  assert.deepEqual(read('""'), []);
  for (const input of ['["a",{}]', '"a,b,c,d,e"', "{}"]) {
    assert.throws(() => read(input), /^Failure: f must be a list of strings, at most 4/);
  }
});
