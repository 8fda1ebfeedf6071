import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "../failure.ts";
import { parseQuery } from "./query.ts";

function refusal(raw: string): string {
  try {
    parseQuery(raw);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, "invalid");
    return error.message;
  }
  return assert.fail(`${raw} was accepted`);
}

const table: readonly [raw: string, found: Readonly<Record<string, string | true>>][] = [
  ["", {}],
  ["a=1", { a: "1" }],
  ["a=1&b=2", { a: "1", b: "2" }],
  ["a", { a: true }],
  ["a=", { a: "" }],
  ["a=b=c", { a: "b=c" }],
  ["a+b=c+d", { "a b": "c d" }],
  ["a=%2B%26%3D", { a: "+&=" }],
  ["%61=%C3%A9", { a: "é" }],
  ["&a=1&&", { a: "1" }],
  ["A=1&a=2", { A: "1", a: "2" }],
];
for (const [raw, found] of table) {
  test(`"${raw}" is read as ${JSON.stringify(found)}`, () => {
    assert.deepEqual(Object.fromEntries(parseQuery(raw)), found);
  });
}

test("T-A16: a parameter given twice is refused, however it is spelt", () => {
  for (const raw of ["a=1&a=2", "a=1&a=1", "a&a", "per_page=1&%70er_page=2", "a%20b=1&a+b=2"]) {
    assert.match(refusal(raw), /given twice/);
  }
});

test("escapes that are none, and characters without the escape they need, are refused", () => {
  for (const raw of ["a=%", "a=%2", "a=%GG", "a=%C3", "%FF=1", "a=%C0%AF", "a=%ED%A0%80"]) {
    assert.match(refusal(raw), /not UTF-8/);
  }
  for (const raw of ["a=é", "a=\u00c3\u00a9", "a=b#c", "a=b c", "a=\u0000", "a=\n"]) {
    assert.match(refusal(raw), /needs an escape/);
  }
});

test("T-N09: names that reach a prototype are refused", () => {
  for (const name of ["__proto__", "constructor", "prototype", "%5F_proto__"]) {
    assert.match(refusal(`a=1&${name}=1`), /not allowed/);
  }
});

test("there may be 64 parameters and no more", () => {
  const raw = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=1`).join("&");
  assert.equal(parseQuery(raw(64)).size, 64);
  assert.match(refusal(raw(65)), /at most 64/);
  assert.match(refusal("&".repeat(64)), /at most 64/);
});

test("a refusal does not repeat the query", () => {
  for (const raw of ["hunter2=1&hunter2=2", "a=hunter2%", "hunter2=é"]) {
    assert.ok(!refusal(raw).includes("hunter2"));
  }
});

test("what URLSearchParams writes is read back, and any text is read or a Failure", () => {
  const names = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(fc.dictionary(names, fc.string({ unit: "grapheme" }), { maxKeys: 20 }), (query) => {
      const raw = new URLSearchParams(query).toString();
      if (/(?:^|&)(?:__proto__|constructor|prototype)=/.test(raw)) return;
      assert.deepEqual(Object.fromEntries(parseQuery(raw)), { ...query });
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (raw) => {
      try {
        parseQuery(raw);
      } catch (error) {
        assert.ok(error instanceof Failure, String(error));
      }
    }),
  );
});
