// Programs and data made to hold the server up. Bounded is what a run may do, in steps;
// how long that takes is measured by the bench.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { BOMB_DATA, BOMBS, nestedLoops } from "../../tests/support/program-bombs.ts";
import { keepsNobodyWaiting } from "../../tests/support/processor-time.ts";
import { MAX_STEPS } from "./limits.ts";
import { parseProgram, type Verdict } from "./program.ts";
import { testInput } from "./request/test-input.ts";

function judge(text: string, data: JsonObject = {}): Verdict {
  return parseProgram(text).evaluate(testInput({ request: { data } }));
}

const BIG = Array.from({ length: 5000 }, (_, i) => i);

test("loops within loops end with the budget, and the same run takes the same steps", () => {
  const bomb = nestedLoops(6, "true");
  const first = judge(bomb);
  assert.deepEqual([first.passed, first.error], [false, "the budget of 20000 steps is used up"]);
  assert.equal(first.steps, MAX_STEPS);
  const small = nestedLoops(3, "true");
  assert.equal(judge(small).passed, true);
  assert.equal(judge(small).steps, judge(small).steps);
  assert.ok(judge(small).steps >= 1000);
});

test("what stands in a loop counts by its size, so a long body cannot hide work", () => {
  const turns = (body: string) => judge(`request.data.big.all(x, ${body})`, { big: BIG }).steps;
  assert.ok(turns("true") <= 6000);
  const long = turns(`[${"1, ".repeat(1000)}1] != []`);
  assert.equal(long, MAX_STEPS);
});

test("text and lists that double stop at their limit, long before memory does", () => {
  const doubled = judge(`["a"]${".map(x, x + x)".repeat(40)} == []`);
  assert.match(doubled.error ?? "", /text grew beyond 65536 characters$/);
  assert.ok(doubled.steps < 200);
  const lists = judge(`[[1]]${".map(x, x + x)".repeat(40)} == []`);
  assert.match(lists.error ?? "", /a list grew beyond 10000 elements$/);
  const rules = Array.from({ length: 40 }, (_, i) => `rule r${i + 1} { rule.r${i} + rule.r${i} }`);
  const chained = judge(`rule r0 { "ab" }\n${rules.join("\n")}\nmain { rule.r40 == "" }`);
  assert.match(chained.error ?? "", /text grew beyond/);
  assert.match(
    judge("request.data.s.replace('', request.data.s) == ''", { s: "a".repeat(1000) }).error ?? "",
    /grew beyond/,
  );
  assert.match(
    judge("[request.data.s, request.data.s].join() == ''", { s: "a".repeat(60_000) }).error ?? "",
    /grew beyond/,
  );
  assert.match(
    judge("'%s%s'.format([request.data.s, request.data.s]) == ''", { s: "a".repeat(60_000) })
      .error ?? "",
    /grew beyond/,
  );
  assert.match(
    judge("request.data.s.split('').size() > 0", { s: "a".repeat(60_000) }).error ?? "",
    /10000 elements/,
  );
  assert.match(
    judge("(bytes(request.data.s) + bytes(request.data.s)).size() > 0", { s: "a".repeat(60_000) })
      .error ?? "",
    /grew beyond/,
  );
});

test("lists that hold each other twice are small to build and without end to compare", () => {
  const tower = `[0]${".map(x, [x, x])".repeat(60)}`;
  const { error, steps } = judge(`${tower} == ${tower}`);
  assert.equal(error, "the budget of 20000 steps is used up");
  assert.equal(steps, MAX_STEPS);
  assert.match(judge(`"%s".format(${tower}) == ""`).error ?? "", /grew beyond|budget/);
  assert.match(judge(`0 in ${tower} || ${tower} in [${tower}]`).error ?? "", /budget/);
});

test("patterns that make others backtrack are answered, and large ones are paid for", () => {
  const text = `${"a".repeat(10_000)}b`;
  for (const pattern of ["^(a+)+$", "(a|a)*c", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"]) {
    const constant = judge(`request.data.s.matches("${pattern}")`, { s: text });
    assert.deepEqual([constant.passed, constant.error], [false, null], pattern);
    assert.ok(constant.steps < MAX_STEPS);
    const verdict = judge("request.data.s.matches(request.data.p)", { s: text, p: pattern });
    assert.deepEqual([verdict.passed, verdict.error], [false, null], pattern);
  }
  const heavy = { s: "a".repeat(60_000), p: "(a?){100}a{100}" };
  assert.match(judge("request.data.s.matches(request.data.p)", heavy).error ?? "", /budget/);
  assert.match(
    judge("'a'.matches(request.data.p)", { p: "a".repeat(513) }).error ?? "",
    /at most 512/,
  );
  assert.match(
    judge("'a'.matches(request.data.p)", { p: "(a{1000}){1000}" }).error ?? "",
    /too large counted|budget/,
  );
  assert.match(
    judge("request.data.s.matches('a')", { s: "a".repeat(65_537) }).error ?? "",
    /at most 65536/,
  );
  assert.throws(() => parseProgram(`"a".matches("${"a{900}".repeat(10)}")`), /too large counted/);
  const many = Array.from({ length: 10 }, (_, i) => `"a".matches("${i}a{400}")`).join(" && ");
  assert.throws(() => parseProgram(many), /too large together/);
});

test("loops, comparisons, patterns and every function that grows with its arguments are paid for", () => {
  for (const text of BOMBS) {
    const { passed, error, steps } = judge(text, BOMB_DATA);
    assert.deepEqual(
      [passed, error, steps],
      [false, "the budget of 20000 steps is used up", MAX_STEPS],
      text,
    );
  }
});

test("a budget is over within 50 ms on the processor, whatever uses it up", async () => {
  for (const text of BOMBS) {
    const program = parseProgram(text);
    const input = testInput({ request: { data: BOMB_DATA } });
    await keepsNobodyWaiting(text.slice(0, 200), () => program.evaluate(input));
  }
});

test("programs that judge one request have one budget together", () => {
  const program = parseProgram(nestedLoops(6, "true"));
  const input = testInput({});
  assert.equal(program.evaluate(input, 50_000).error, "the budget of 20000 steps is used up");
  const late = program.evaluate(input, 100);
  assert.deepEqual(
    [late.passed, late.error, late.steps],
    [false, "the budget of 80000 steps for all policies of one request is used up", 100],
  );
  // What costs nothing is judged all the same.
  assert.equal(parseProgram("request.path != ''").evaluate(input, 0).error, null);
});

test("a large body costs a policy nothing that it does not look at", () => {
  const data = { big: BIG, s: "a".repeat(1 << 20), flag: true };
  const { passed, steps } = judge("request.data.flag", data);
  assert.deepEqual([passed, steps], [true, 0]);
});

test("documents that are too large, too deep or too many in their parts are refused", () => {
  const refused = (text: string, why: RegExp) => assert.throws(() => parseProgram(text), why);
  refused(
    "(".repeat(3000) + "true" + ")".repeat(3000),
    /^Failure: failed to parse policy: 1:65: nesting too deep/,
  );
  refused(`main { ${"(".repeat(3000)}true${")".repeat(3000)} }`, /nesting too deep/);
  refused(`main { ${"{".repeat(3000)}`, /nesting too deep|expected/);
  refused(
    JSON.stringify({ expression: `${"[".repeat(3000)}${"]".repeat(3000)} == []` }),
    /nesting too deep/,
  );
  refused(`"${"x".repeat(70_000)}" == ""`, /policy is too large: at most 65536 bytes/);
  refused(`"${"x".repeat(17_000)}" == ""`, /at most 16384 bytes/);
  refused(`true${" ".repeat(20_000)}`, /at most 16384 bytes/);
  const chain = Array.from({ length: 900 }, (_, i) => `rule r${i + 1} { rule.r${i} && true }`);
  refused(
    `rule r0 { true }\n${chain.join("\n")}\nmain { rule.r900 }`,
    /build on each other too deeply/,
  );
});

test("a chain of rules as deep as is accepted still runs", () => {
  const chain = Array.from({ length: 400 }, (_, i) => `rule r${i + 1} { rule.r${i} && true }`);
  const { passed, error } = judge(`rule r0 { true }\n${chain.join("\n")}\nmain { rule.r400 }`);
  assert.deepEqual([passed, error], [true, null]);
});
