// What functions of programs answer, each by examples, and by another implementation where there is one.

import assert from "node:assert/strict";
import { BlockList, isIPv6 } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { isInRange } from "./addresses.ts";
import { Meter } from "../running/meter.ts";
import { matchesGlob, matchesPath } from "./lookups.ts";
import { parseProgram } from "../program.ts";
import { testInput } from "../request/test-input.ts";
import { Zones } from "./zones.ts";

function holds(text: string, input: JsonObject = {}): void {
  const { passed, error } = parseProgram(text).evaluate(testInput(input));
  assert.deepEqual({ passed, error }, { passed: true, error: null }, text);
}

function failsOn(text: string, data: Record<string, JsonValue> = {}): string {
  const { passed, error } = parseProgram(text).evaluate(testInput({ request: { data } }));
  assert.equal(passed, false, text);
  assert.ok(error !== null, text);
  return error;
}

test("operators and loops follow CEL", () => {
  for (const text of [
    "1 + 2 * 3 == 7 && 7 / 2 == 3 && 7 % 2 == 1 && -7 / 2 == -3 && 1.5 + 1.5 == 3.0",
    "1 == 1.0 && 1u == 1 && 1 < 1.5 && 2u > 1.5 && 'a' < 'b' && b'a' < b'b' && false < true",
    "[1, 2] + [3] == [1, 2, 3] && 'a' + 'b' == 'ab' && b'a' + b'b' == b'ab'",
    "({'a': 1, 'b': [2]}) == {'b': [2], 'a': 1} && {'a': 1} != {'a': 2} && {1: 'x'}[1] == 'x'",
    "[[1, {'a': null}]] == [[1, {'a': null}]] && [1] != [1, 2] && null == null",
    "1 in [1, 2] && !(3 in [1, 2]) && 'a' in {'a': null} && 2 in {2u: 1} && [1] in [[1]]",
    "[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2].exists_one(x, x == 2)",
    "![1, 1].exists_one(x, x == 1) && [].all(x, false) && ![].exists(x, true)",
    "[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
    "[1, 2, 3].filter(x, x != 2) == [1, 3] && {'a': 1, 'b': 2}.map(k, k).size() == 2",
    "[[1, 2], [3]].map(l, l.map(x, x + 1)) == [[2, 3], [4]] && [1, 2].map(x, [x])[1][0] == 2",
    "(true ? 1 : 2) == 1 && !(false || false) && (false && request.data.x == 1) == false",
    "[1, 2].exists(x, x == 2 || request.data.none == 1) && [request].all(request, request.id != '')",
    "type(1) == int && type('a') == string && type([]) == list && dyn(1) == 1 && type(1) != type(1u)",
    "int('12') == 12 && int('-5') == -5 && int(1.9) == 1 && uint('3') == 3u && double('1.5') == 1.5",
    "string(1) == '1' && string(true) == 'true' && bytes('a') == b'a' && string(b'a') == 'a' && bool('true')",
    "int(timestamp(10)) == 10 && timestamp('1970-01-01T00:00:10Z') == timestamp(10)",
    "timestamp(10) - timestamp(5) == duration('5s') && timestamp(5) + duration('5s') == timestamp(10)",
    "duration('90m').getHours() == 1 && duration('90m').getMinutes() == 90 && duration('1.5s').getMilliseconds() == 500",
  ]) {
    holds(text);
  }
});

test("text functions count characters, not halves of them", () => {
  for (const text of [
    "size('a\u{1F600}b') == 3 && 'a\u{1F600}b'.size() == 3 && 'a\u{1F600}b'.charAt(1) == '\u{1F600}'",
    "'a\u{1F600}b'.substring(1, 2) == '\u{1F600}' && 'a\u{1F600}b'.indexOf('b') == 2",
    "'a\u{1F600}b\u{1F600}'.lastIndexOf('\u{1F600}') == 3 && 'abcb'.indexOf('b', 2) == 3 && 'abcb'.lastIndexOf('b', 2) == 1",
    "'abc'.substring(1) == 'bc' && 'abc'.substring(3) == '' && 'abc'.charAt(3) == ''",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b'.split(',', 0) == []",
    "'a,b'.split(',', 1) == ['a,b'] && 'a,b'.split(',', -1) == ['a', 'b'] && ''.split(',') == ['']",
    "'ab\u{1F600}'.split('') == ['a', 'b', '\u{1F600}'] && ''.split('') == []",
    "'hello'.replace('l', 'L') == 'heLLo' && 'hello'.replace('l', 'L', 1) == 'heLlo' && 'hello'.replace('l', '', 0) == 'hello'",
    "'ab'.replace('', '-') == '-a-b-' && 'ab'.replace('', '-', 1) == '-ab' && 'aaa'.replace('aa', 'b') == 'ba'",
    "'AbÄ'.lowerAscii() == 'abÄ' && 'abä'.upperAscii() == 'ABä' && ' a '.trim() == 'a'",
    "['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b' && [].join('-') == ''",
    "'%s is %d, %.2f and %x'.format(['a', 1, 1.005, 255]).startsWith('a is 1, 1.0')",
    "'secret/a'.startsWith('secret/') && 'x.pem'.endsWith('.pem') && 'abc'.contains('b')",
    "'secret/abc'.matches('^secret/[a-z]+$') && !'Secret'.matches('^secret') && 'abc'.matches('b') && matches('abc', 'b')",
  ]) {
    holds(text);
  }
  for (const text of [
    "'abc'.substring(2, 1) == ''",
    "'abc'.substring(4) == ''",
    "'abc'.charAt(9) == ''",
    "'abc'.indexOf('a', 9) == 0",
    "[1].join() == ''",
    "'%d'.format([]) == ''",
  ]) {
    failsOn(text);
  }
});

test("what is no number, time or length is an error, not nought", () => {
  for (const n of ["", " 1", "1x", "0x10", "1_000", "9223372036854775808", "NaN1", "1e400000"]) {
    assert.match(failsOn("int(request.data.n) >= 0", { n }), /int\(\) cannot convert this value/);
    if (n !== "9223372036854775808") failsOn("double(request.data.n) >= 0.0", { n });
    failsOn("uint(request.data.n) >= 0u", { n: n === "9223372036854775808" ? "-1" : n });
  }
  failsOn("timestamp(request.data.n) < now", { n: "2026-13-01T00:00:00Z" });
  failsOn("timestamp(request.data.n) < now", { n: 9e15 });
  failsOn("duration(request.data.n) > duration('0s')", { n: "1d" });
  failsOn("9223372036854775807 + request.data.n > 0", { n: 1 });
  failsOn("1 / request.data.n > 0", { n: 0 });
});

test("seconds reads every way of writing a length of time, in_list a list with commas", () => {
  holds(
    "seconds('1d') == 86400 && seconds('1h30m') == 5400 && seconds(90) == 90 && seconds('90') == 90",
  );
  holds("seconds(duration('2m')) == 120 && seconds('1500ms') == 1");
  failsOn("seconds(request.data.n) > 0", { n: "soon" });
  failsOn("seconds(request.data.n) > 0", { n: -5 });
  holds(
    "in_list('b', 'a, b ,c') && !in_list('d', 'a,b') && !in_list('', 'a,b') && in_list('', 'a,,b')",
  );
});

test("ip_in agrees with the runtime's list of blocks", () => {
  const v4 = fc.ipV4();
  const v6 = fc.ipV6().filter((text) => isIPv6(text));
  const check = (address: string, network: string, bits: number, family: "ipv4" | "ipv6") => {
    const list = new BlockList();
    list.addSubnet(network, bits, family);
    assert.equal(
      isInRange(address, `${network}/${bits}`),
      list.check(address, family),
      `${address} in ${network}/${bits}`,
    );
  };
  fc.assert(
    fc.property(v4, v4, fc.integer({ min: 0, max: 32 }), (a, b, bits) => {
      check(a, b, bits, "ipv4");
      check(b, b, bits, "ipv4");
    }),
  );
  fc.assert(
    fc.property(v6, v6, fc.integer({ min: 0, max: 128 }), (a, b, bits) => {
      const mapped = [a, b].some((text) => /^(?:0*:)*:?(?:0*:)*ffff:/i.test(text));
      fc.pre(!mapped);
      check(a, b, bits, "ipv6");
      check(b, b, bits, "ipv6");
    }),
  );
});

test("ip_in takes single addresses, lists, mapped and scoped ones, and nothing else", () => {
  holds(
    "ip_in('10.1.2.3', '10.0.0.0/8') && !ip_in('11.1.2.3', '10.0.0.0/8') && ip_in('10.1.2.3', '10.1.2.3')",
  );
  holds("ip_in('10.1.2.3', ['192.168.0.0/16', '10.0.0.0/8']) && !ip_in('10.1.2.3', [])");
  holds(
    "ip_in('::ffff:10.1.2.3', '10.0.0.0/8') && ip_in('fe80::1%eth0', 'fe80::/10') && !ip_in('::1', '0.0.0.0/0')",
  );
  for (const address of [
    "",
    "10.1.2",
    "10.1.2.256",
    "010.1.2.3",
    "10.1.2.3.4",
    "1:2",
    ":::",
    "1::2::3",
    "x",
    "10.1.2.3 ",
    "1:2:3:4:5:6:7:8:9",
  ]) {
    assert.match(
      failsOn("ip_in(request.data.a, '10.0.0.0/8')", { a: address }),
      /needs an IP address/,
    );
  }
  for (const range of [
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "::/129",
    "/8",
    "",
  ]) {
    assert.match(failsOn("ip_in('10.1.2.3', request.data.r)", { r: range }), /needs a range/);
  }
});

test("glob has stars at the ends, path_match those of ACL rules", () => {
  const meter = new Meter();
  assert.deepEqual(
    [
      matchesGlob("a*", "ab", meter),
      matchesGlob("*b", "ab", meter),
      matchesGlob("*a*", "bab", meter),
      matchesGlob("a*b", "axb", meter),
      matchesGlob("a*b", "a*b", meter),
      matchesGlob("*", "", meter),
      matchesGlob("a", "ab", meter),
    ],
    [true, true, true, false, true, true, false],
  );
  const rows: readonly (readonly [string, string, boolean])[] = [
    ["secret/a", "secret/a", true],
    ["secret/a", "secret/ab", false],
    ["secret/*", "secret/", true],
    ["secret/*", "secret", false],
    ["secret/+/b", "secret/a/b", true],
    ["secret/+/b", "secret/a/c/b", false],
    ["kv/+", "kv/", true],
    ["+/a*", "x/abc/d", true],
    ["+/a*", "x/b", false],
    ["a/+b", "a/xb", false],
    ["/secret/a", "secret/a", true],
  ];
  for (const [rule, path, want] of rows) {
    assert.equal(matchesPath(rule, path), want, `${rule} on ${path}`);
    holds(`path_match("${rule}", "${path}") == ${want}`);
  }
});

test("the parts of a time are those of the wall clock, wherever the server stands", () => {
  const zones = new Zones();
  const names = [
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Pacific/Apia",
    "UTC",
    "Australia/Lord_Howe",
  ];
  fc.assert(
    fc.property(
      fc.integer({ min: -2_000_000_000, max: 4_000_000_000 }),
      fc.constantFrom(...names),
      (seconds, zone) => {
        const clock = zones.read(seconds, zone);
        const date = new Intl.DateTimeFormat("en-GB", {
          timeZone: zone,
          dateStyle: "short",
          timeStyle: "medium",
        });
        const pad = (value: number) => String(value).padStart(2, "0");
        const expected = `${pad(clock.day)}/${pad(clock.month + 1)}/${clock.year}, ${pad(clock.hour)}:${pad(clock.minute)}:${pad(clock.second)}`;
        assert.equal(expected, date.format(seconds * 1000));
        const weekday = new Intl.DateTimeFormat("en-US", { timeZone: zone, weekday: "short" });
        const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        assert.equal(days[clock.weekday], weekday.format(seconds * 1000));
      },
    ),
  );
  holds(
    "timestamp('2026-03-29T01:30:00Z').getHours() == 1 && timestamp('2026-03-29T02:30:00Z').getHours() == 2",
  );
  holds(
    "timestamp('2026-03-29T02:30:00Z').getHours('Europe/Berlin') == 4 && timestamp('2026-03-29T02:30:00Z').getHours('+02:00') == 4",
  );
  holds(
    "timestamp('2026-12-31T23:30:00Z').getFullYear('+01:00') == 2027 && timestamp('2026-12-31T00:00:00Z').getDayOfYear() == 364",
  );
  holds(
    "timestamp('2024-02-29T00:00:00Z').getDate() == 29 && timestamp('2024-02-29T00:00:00Z').getDayOfMonth() == 28 && timestamp('2024-02-29T00:00:00Z').getMonth() == 1",
  );
  holds(
    "timestamp('2026-01-01T00:00:00.123Z').getMilliseconds() == 123 && timestamp('1969-12-31T23:59:59Z').getSeconds() == 59",
  );
  holds(
    "timestamp('2026-01-01T00:00:00Z').getHours('-05:30') == 18 && timestamp('2026-01-01T00:00:00Z').getMinutes('-05:30') == 30",
  );
});
