// Programs as their authors write them: the three forms, what is refused at write, what a run says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { parseProgram, type Verdict, runTests } from "./program.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { testInput } from "./request/test-input.ts";

function judge(text: string, input: JsonObject = {}): Verdict {
  return parseProgram(text).evaluate(testInput(input));
}

function refusal(text: string): string {
  try {
    parseProgram(text);
  } catch (error) {
    assert.ok(error instanceof Failure, text);
    assert.equal(error.kind, "invalid");
    assert.match(error.message, /^failed to parse policy: \d+:\d+: /);
    return error.message.slice("failed to parse policy: ".length);
  }
  return assert.fail(`accepted: ${text}`);
}

const OFFICE = `# Only from the office, in office hours, for writes under secret/
rule office    { ip_in(request.connection.remote_addr, ["10.20.0.0/16"]) }
rule workhours { now.getDayOfWeek("Europe/Berlin") in [1,2,3,4,5] && now.getHours("Europe/Berlin") >= 7 && now.getHours("Europe/Berlin") < 18 }
main when request.operation in ["create","update","delete"] && request.path.startsWith("secret/") { rule.office && rule.workhours }
`;

function write(address: string, now: string): JsonObject {
  return {
    now,
    request: { path: "secret/a", operation: "update", connection: { remote_addr: address } },
  };
}

test("the first form is one expression", () => {
  const text =
    'request.path.startsWith("secret/") && ip_in(request.connection.remote_addr, "10.0.0.0/8")';
  const inside = { request: { path: "secret/a", connection: { remote_addr: "10.1.2.3" } } };
  assert.equal(judge(text, inside).passed, true);
  const outside = { request: { path: "secret/a", connection: { remote_addr: "11.1.2.3" } } };
  assert.deepEqual(judge(text, outside), {
    passed: false,
    error: null,
    description: "",
    rules: [{ name: "main", line: 1, column: 1, value: false }],
    steps: judge(text, outside).steps,
  });
});

test("the second form has named rules, each evaluated once and only when it is needed", () => {
  assert.equal(judge(OFFICE, write("10.20.1.1", "2026-03-02T12:00:00Z")).passed, true);
  assert.equal(judge(OFFICE, write("10.20.1.1", "2026-03-01T12:00:00Z")).passed, false, "a Sunday");
  assert.equal(
    judge(OFFICE, write("10.20.1.1", "2026-03-02T17:30:00Z")).passed,
    false,
    "18:30 there",
  );
  assert.equal(
    judge(OFFICE, write("10.20.1.1", "2026-07-06T05:30:00Z")).passed,
    true,
    "7:30 in summer",
  );
  assert.deepEqual(judge(OFFICE, write("10.20.1.1", "2026-03-01T12:00:00Z")).rules, [
    { name: "main", line: 4, column: 1, value: false },
    { name: "office", line: 2, column: 1, value: true },
    { name: "workhours", line: 3, column: 1, value: false },
  ]);
  const elsewhere = judge(OFFICE, write("10.21.1.1", "2026-03-02T12:00:00Z"));
  assert.deepEqual(
    elsewhere.rules.map(({ name }) => name),
    ["main", "office"],
  );
});

test("a condition after `when` that is false passes without asking main", () => {
  assert.equal(judge(OFFICE, { request: { operation: "read" } }).passed, true);
  const scoped = 'main when request.operation == "delete" { false }';
  assert.equal(judge(scoped, { request: { operation: "read" } }).passed, true);
  assert.equal(judge(scoped, { request: { operation: "delete" } }).passed, false);
  const broken = judge("main when request.data.x { true }", { request: { data: {} } });
  assert.equal(broken.passed, false);
  assert.equal(broken.error, "1:24: field not found: x");
});

test("the condition after `when` and the rules may hold braces of their own", () => {
  assert.equal(judge('main when "a" in {"a": 1} { false }').passed, false);
  assert.equal(judge('main when {"a": {"b": 1}}.a.b == 2 { false }').passed, true);
  assert.equal(judge('rule brace { "}" == "\\x7d" }\nmain { rule.brace } # }').passed, true);
});

test("the third form is JSON with variables by their bare names", () => {
  const text = JSON.stringify({
    variables: [
      { name: "address", expression: "request.connection.remote_addr" },
      { name: "office", expression: 'ip_in(address, "10.0.0.0/8")' },
    ],
    when: 'request.operation == "read"',
    expression: "office",
  });
  const from = (address: string, operation: string) =>
    judge(text, { request: { operation, connection: { remote_addr: address } } });
  assert.equal(from("10.0.0.1", "read").passed, true);
  assert.equal(from("11.0.0.1", "read").passed, false);
  assert.equal(from("11.0.0.1", "update").passed, true);
  // A variable that is neither true nor false is a value, and values are not for a trace.
  assert.deepEqual(
    from("11.0.0.1", "read").rules.map(({ name, value }) => ({ name, value })),
    [
      { name: "main", value: false },
      { name: "office", value: false },
    ],
  );
});

test("an expression may begin with a map, and what ends with its brace is JSON", () => {
  for (const text of [
    '{"a": 1}["a"] == 1',
    '# why\n{"read": true}[request.operation] || true',
    '{"a": {"b": [1]}} == {"a": {"b": [1]}}',
    '{"}": 1}.size() == 1',
    "{} == {}",
    '{request.path: 1}[request.path] == 1 // "}',
  ]) {
    const { passed, error } = judge(text, { request: { operation: "read", path: "x" } });
    assert.deepEqual([passed, error], [true, null], text);
  }
  for (const text of [
    '{"expression": "true"}',
    ' {"expression": "true" }\n',
    String.raw`{"expression": "'\/' == '/'"}`,
  ]) {
    assert.equal(judge(text).passed, true, text);
  }
  const refused = (text: string, why: RegExp) => assert.throws(() => parseProgram(text), why);
  refused('{"expression": "true"', /failed to parse policy: 1:22: /);
  refused('{"a": 1}', /unknown key "a"/);
  refused('{"a": 1}["a"] ==', /failed to parse policy: 1:17: /);
});

test("the comment right above main is the description", () => {
  const text = "# not this\n\n# Writes need\n//   an office\nmain { false }";
  assert.equal(judge(text).description, "Writes need\n  an office");
  assert.equal(judge("# top\nrule a { true }\nmain { rule.a }").description, "");
  assert.equal(judge("// why\nfalse").description, "why");
});

test("names, properties, functions and rules that do not exist are refused with a guess", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['request.pth == "a"', '1:9: unknown property "request.pth"; did you mean "request.path"?'],
    ['requst.path == "a"', '1:1: unknown name "requst"; did you mean "request"?'],
    [
      "token.namespace.pth == ''",
      '1:17: unknown property "token.namespace.pth"; did you mean "token.namespace.path"?',
    ],
    [
      "true &&\n  request.path.strtsWith('a')",
      '2:16: unknown function "strtsWith"; did you mean "startsWith"?',
    ],
    ["ip_on('10.0.0.1', '10.0.0.0/8')", '1:1: unknown function "ip_on"; did you mean "ip_in"?'],
    [
      "rule office { true }\nmain { rule.ofice }",
      '2:13: unknown rule "rule.ofice"; did you mean "rule.office"?',
    ],
    ["rule a { rule.b }\nrule b { true }\nmain { rule.a }", '1:15: unknown rule "rule.b"'],
    ["has(request.dta.x)", '1:13: unknown property "request.dta"; did you mean "request.data"?'],
    ["[1].all(x, y > 0)", '1:12: unknown name "y"; did you mean "x"?'],
    ["controlgroup == 1", '1:1: unknown name "controlgroup"'],
    ['{"expresion": "true"}', '1:2: unknown key "expresion"; did you mean "expression"?'],
  ];
  for (const [text, message] of cases) assert.equal(refusal(text), message, text);
});

test("kinds that cannot fit are refused, and what cannot be told is left to the run", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["request.path", /^1:1: main must be true or false, but this is of kind string$/],
    ["'a' + 'b'", /^1:1: main must be true or false/],
    ["main when 1 + 1 { true }", /^1:11: the condition after when must be true or false/],
    ["request.path.startsWith(5)", /^1:14: wrong arguments \(string, int\) for startsWith\(\)/],
    ["request.path > 5", /^1:14: wrong arguments \(string, int\) for ">"/],
    ["request.path.foo == 1", /^1:14: unknown property "foo": "request.path" is of kind string/],
    ["request.path && true", /^1:1: a side of && must be true or false/],
    ["size(1, 2) == 1", /^1:1: wrong arguments \(int, int\) for size\(\)/],
    ["startsWith('a', 'b')", /^1:1: wrong arguments/],
    ["request.path.all(x, true)", /all\(\) goes through a list or a map/],
    ["rule a { 1 }\nmain { rule.a }", /^2:8: main must be true or false/],
  ];
  for (const [text, message] of cases) assert.match(refusal(text), message, text);
  assert.equal(judge("request.data.x", { request: { data: { x: true } } }).passed, true);
  const text = judge("request.data.x", { request: { data: { x: "yes" } } });
  assert.equal(text.passed, false);
  assert.equal(text.error, "the result must be true or false, but is of kind string");
});

test("syntax is refused at its place, in words", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /^1:1: expected an expression/],
    ["true &&", /^1:8: expected a value, found the end$/],
    ["(true", /^1:6: expected "\)" for the bracket of 1:1, found the end$/],
    ["true true", /^1:6: expected an operator or the end, found a constant$/],
    ["'abc", /^1:1: a string that begins here is not closed by '/],
    ["a.b(", /expected "\)"|expected a value/],
    ["true ? true", /^1:12: expected ":"/],
    ["request.data.x $ 1", /^1:16: unexpected "\$"/],
    ["'\\q' == ''", /^1:2: unknown escape/],
    ["9223372036854775808 > 0", /^1:1: an integer has at most 64 bits/],
    ["rule a { true }", /needs one main/],
    ["main { true } main { true }", /^1:15: main was already given on line 1/],
    [
      "rule a { true } rule a { true } main { true }",
      /^1:22: rule "a" was already given on line 1/,
    ],
    ["main { true", /^1:12: expected "}" for the bracket of 1:6/],
    ["main { (true} ", /^1:13: expected "\)", found "}"/],
    ["rule main { true } main { true }", /no name for a rule/],
    ["main { true } nonsense", /^1:15: expected "rule", "main" or "test"/],
    ['{"when": "true"}', /^1:1: a JSON program needs an "expression"/],
    [
      '{"expression": "true &&"}',
      /^1:16: expected a value, found the end \(at 1:8 of the string\)/,
    ],
    ['{"expression": true}', /^1:16: an expression is written as a string/],
    ["Type{a: 1} == 1", /messages are not supported/],
    ["[1].all(1, true)", /takes a variable and an expression/],
    ["has(true)", /has\(\) takes a property/],
  ];
  for (const [text, message] of cases) assert.match(refusal(text), message, text);
});

test("patterns, ranges and zones that stand in the document are read at write", () => {
  assert.match(refusal('request.path.matches("(")'), /^1:22: invalid pattern: missing closing \)/);
  assert.match(refusal('ip_in("10.0.0.1", "10.0.0.0/33")'), /^1:19: ip_in\(\) needs ranges/);
  assert.match(refusal('ip_in("10.0.0.1", ["10.0.0.0/8", "x"])'), /^1:34: ip_in\(\) needs ranges/);
  assert.match(refusal('now.getHours("Europe/Berln") > 1'), /^1:14: unknown time zone/);
});

test("a field that is not there is an error and a denial, which has() avoids", () => {
  const unguarded = judge('token.metadata.team == "a"');
  assert.equal(unguarded.passed, false);
  assert.equal(unguarded.error, "1:16: field not found: team");
  assert.deepEqual(unguarded.rules, [{ name: "main", line: 1, column: 1, value: null }]);
  const guarded = 'has(token.metadata.team) && token.metadata.team == "a"';
  assert.equal(judge(guarded).error, null);
  assert.equal(judge(guarded, { token: { metadata: { team: "a" } } }).passed, true);
});

test("and and or absorb errors as CEL defines, so that a login can pass", () => {
  const text = "request.unauthenticated || token.creation_time_unix > 1505654729";
  assert.equal(judge(text, { token: {} }).passed, true);
  assert.equal(judge(text, { token: { creation_time_unix: 1 } }).passed, false);
  assert.equal(
    judge("token.accessor != ''", { token: {} }).error,
    "1:7: field not found: accessor",
  );
});

test("an error names what was written, never a value", () => {
  const data = { request: { data: { key: "s3cret", n: "s3cret", list: [] } } };
  for (const text of [
    "request.headers[request.data.key] == []",
    "int(request.data.n) == 1",
    "double(request.data.n) == 1.0",
    "bool(request.data.n)",
    "uint(request.data.n) == 1u",
    "timestamp(request.data.n) < now",
    "duration(request.data.n) > duration('1s')",
    "seconds(request.data.n) > 1",
    "ip_in(request.data.n, '10.0.0.0/8')",
    "now.getHours(request.data.n) > 1",
    "'a'.matches(request.data.n + '(')",
    "request.data.list[0] == 1",
    "request.data.n.substring(100) == ''",
    "dyn({request.data.key: 1, request.data.n: 2}) == {}",
    "'%d'.format([request.data.n]) == ''",
    "request.data.n < 5",
  ]) {
    const { passed, error } = judge(text, data);
    assert.equal(passed, false, text);
    assert.ok(error !== null, text);
    assert.doesNotMatch(error, /s3cret/, text);
  }
});

test("the budget is not absorbed: a run that uses it up has failed whatever or says", () => {
  const bomb = "[1,2,3,4,5,6,7,8,9,10]";
  let body = "true";
  for (let i = 0; i < 6; i += 1) body = `${bomb}.all(x${i}, ${body})`;
  const { passed, error } = judge(`${body} || true`);
  assert.equal(passed, false);
  assert.equal(error, "the budget of 20000 steps is used up");
});

test("every property of the table can be asked for, alone and as part of a whole", () => {
  const all = judge(
    `size(request.id) > 0 && request["path"] == request.path && "operation" in request &&
     size(token) > 10 && token["accessor"] == token.accessor && has(token.role) &&
     identity.groups.names == [] && size(identity.entity) == 0 && namespace.id == "root" &&
     replication.dr.mode == "disabled" && replication.performance.mode == "disabled" &&
     mfa.methods == {} && request.wrapping.ttl == duration("0s") && request.wrapping.ttl_seconds == 0`,
  );
  assert.deepEqual([all.passed, all.error], [true, null]);
  assert.equal(judge("size(token) == 0", { token: {} }).passed, true);
});

test("data of a request: integers are int, others double, null is a value that is there", () => {
  const data = { n: 5, f: 1.5, x: null, list: [1, "a", { b: true }], deep: { a: { b: "c" } } };
  const text = `type(request.data.n) == int && type(request.data.f) == double &&
    "x" in request.data && has(request.data.x) && request.data.x == null && !("y" in request.data) &&
    request.data.list[2].b && request.data.list == [1, "a", {"b": true}] &&
    request.data.deep.a.b == "c" && request.data.deep["a"]["b"] == "c" &&
    request.data.all(k, k in ["n", "f", "x", "list", "deep"]) && request.data.n == 5.0`;
  const { passed, error } = judge(text, { request: { data } });
  assert.deepEqual([passed, error], [true, null]);
});

test("names of the prototype are not there", () => {
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    assert.equal(judge(`has(request.data.${name})`).passed, false);
    assert.equal(judge(`"${name}" in request.data`).passed, false);
  }
});

test("warnings tell of sides that are never equal, and of a made-up request that ends in an error", () => {
  const { warnings } = parseProgram("request.path == 5 || true");
  assert.deepEqual(warnings, ["1:14: string and int are never equal"]);
  const [warning = ""] = parseProgram('request.data.ttl == "1h"').warnings;
  assert.match(warning, /^on a made-up request .*: 1:14: field not found: ttl; .*has\(\)$/);
  assert.deepEqual(parseProgram(OFFICE).warnings, []);
});

test("tests of a document run on made-up requests, in both notations", () => {
  const text = `main { request.operation == "read" && has(request.data.a) && token.metadata.team == "x" }
test "reads" { input = { request = { operation = "read", data = { a = [1, -2.5, null] } } token = { metadata = { team = "x" } } } want = true }
test "writes" { input = {"request": {"operation": "update"}}, want: false }
test "wrong" { want = true }
test "error" { input = { request = { data = { a = 1 } } } want = false }`;
  assert.deepEqual(
    runTests(parseProgram(text)).map(({ name, line, got, passed }) => [name, line, got, passed]),
    [
      ["reads", 2, true, true],
      ["writes", 3, false, true],
      ["wrong", 4, false, false],
      ["error", 5, null, false],
    ],
  );
  const json = JSON.stringify({
    expression: "request.operation == 'read'",
    tests: [{ name: "t", input: { request: { operation: "list" } }, want: false }],
  });
  assert.deepEqual(runTests(parseProgram(json)), [
    { name: "t", line: 1, want: false, got: false, error: null, passed: true },
  ]);
});

test("a test that asks for what no request has is refused at write", () => {
  const test = (body: string) => refusal(`main { true }\ntest "t" { ${body} }`);
  assert.equal(
    test("input = { request = { pth = 'a' } } want = true"),
    '2:1: input of the test: unknown property "request.pth"; did you mean "request.path"?',
  );
  assert.match(
    test("input = { request = { path = 5 } } want = true"),
    /"request.path" must be text/,
  );
  assert.match(test("input = { now = 'noon' } want = true"), /"now" must be a time/);
  assert.match(test("input = {}"), /needs want = true or false/);
  assert.match(test("wnt = true"), /unknown key of a test "wnt"; did you mean "want"/);
  assert.match(test("want = true want = false"), /already given/);
  assert.match(refusal('main { true } test "" { want = true }'), /name of the test/);
});

test("two programs on one request see the same, and one program forgets the last request", () => {
  const input = testInput({ request: { path: "a" } });
  const is = (path: string) => parseProgram(`request.path == "${path}"`);
  assert.equal(is("a").evaluate(input).passed, true);
  assert.equal(is("b").evaluate(input).passed, false);
  const program = parseProgram('rule a { request.path == "a" }\nmain { rule.a }');
  assert.equal(program.evaluate(input).passed, true);
  assert.equal(program.evaluate(testInput({ request: { path: "b" } })).passed, false);
  assert.equal(program.evaluate(input).passed, true);
});

test("whatever the document and the request, there is a refusal or a verdict, and never an exception", () => {
  const pieces = fc.constantFrom(
    ..."rule |main |when |test |'t' |{ |} |input = |want = |true |a |rule.a |request.data.x ".split(
      "|",
    ),
    ..."request.path |token |[1, 2]|.all(x, |) |( |&& |== |+ |'s' |1 |-|!|size(|.matches(|now ".split(
      "|",
    ),
    ...'has(request.data.x) |? |: |, |# c\n|\n|/* |{}|{"expression": "|"}|in |[|]|null '.split("|"),
  );
  const data = fc.dictionary(fc.constantFrom("x", "y"), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 2,
  });
  let ran = 0;
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 14 }), data, (parts, values) => {
      try {
        const program = parseProgram(parts.join(""));
        const verdict = program.evaluate(testInput({ request: { data: values } }));
        assert.equal(typeof verdict.passed, "boolean");
        assert.ok(verdict.error === null || !verdict.passed);
        ran += 1;
      } catch (error) {
        assert.ok(error instanceof Failure, String(error));
        assert.match(error.message, /^failed to parse policy: \d+:\d+: /);
      }
    }),
    {
      numRuns: 3000,
      examples: [
        [["request.data.x ", "== ", "1 "], { x: 1 }],
        [["request.data.x "], { x: [] }],
      ],
    },
  );
  assert.ok(ran >= 2);
});

test("nothing of a request stays when a program has judged it, whatever came of it", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (const text of [OFFICE, "request.data.a.b", 'request.path.matches("^s") && 1 / 0 == 1']) {
    const program = parseProgram(text);
    const seen = new WeakRef(testInput({ request: { path: "secret/a", data: { a: "hunter2" } } }));
    program.evaluate(seen.deref()!);
    for (let i = 0; i < 100 && seen.deref() !== undefined; i++) {
      await nextTurn();
      collect();
    }
    assert.equal(seen.deref(), undefined, program.text);
  }
});
