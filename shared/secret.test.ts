// A secret must survive every usual way of printing a value by accident.

import assert from "node:assert/strict";
import test from "node:test";
import { format, inspect } from "node:util";
import { Secret } from "./secret.ts";

const secret = new Secret("hunter2");

const forms: readonly [way: string, text: string][] = [
  // oxlint-disable-next-line typescript/restrict-template-expressions -- the accident under test
  ["a template literal", `${secret}`],
  ["String()", String(secret)],
  ["concatenation", "" + secret],
  ["JSON", JSON.stringify({ deep: [{ secret }] })],
  ["inspect", inspect(secret)],
  ["inspect of what contains it", inspect({ deep: [{ secret }] }, { depth: 9, showHidden: true })],
  ["inspect without custom hooks", inspect(secret, { customInspect: false, showHidden: true })],
  ["%s", format("%s", secret)],
  ["%o", format("%o", secret)],
  ["%j", format("%j", { secret })],
  ["its own members", JSON.stringify(Object.getOwnPropertyDescriptors(secret))],
  ["a copy of its members", JSON.stringify(Object.assign({}, secret))],
];
for (const [way, text] of forms) {
  test(`a secret does not show through ${way}`, () => {
    assert.doesNotMatch(text, /hunter2/);
  });
}

test("a secret prints as [secret] wherever a hook decides", () => {
  assert.equal(String(secret), "[secret]");
  assert.equal(JSON.stringify([secret]), '["[secret]"]');
  assert.equal(inspect({ secret }), "{ secret: [secret] }");
});

test("reveal() gives the very value", () => {
  const key = Buffer.alloc(32, 7);
  assert.equal(new Secret(key).reveal(), key);
});

test("a secret of bytes does not print them", () => {
  assert.doesNotMatch(inspect({ key: new Secret(Buffer.alloc(4, 0xab)) }), /ab/);
});
