// Programs of governing policies that try to hold the server up, with the data that helps them: the
// tests ask that each ends with its budget, the bench how long that takes.

import type { JsonObject } from "../../src/base/json.ts";

const NUMBERS = Array.from({ length: 5000 }, (_, i) => i);
const TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";

/** As large as a body may be, in every direction. */
export const BOMB_DATA: JsonObject = {
  big: NUMBERS,
  s: "aB".repeat(32_000),
  mb: "a".repeat(1 << 20),
  csv: "a,".repeat(500_000),
  needle: `b${"a".repeat(30_000)}`,
  texts: NUMBERS.map((i) => `t${i}`),
  map: Object.fromEntries(NUMBERS.slice(0, 1000).map((i) => [`k${i}`, i])),
  zones: ["europe/berlin", "EUROPE/berlin", "Europe/Berlin"],
  hard: "(a?){100}a{100}",
};

export function nestedLoops(levels: number, body: string): string {
  return levels === 0 ? body : `${TEN}.all(x${levels}, ${nestedLoops(levels - 1, body)})`;
}

/** Each inside two loops over 5,000 elements, which would be 25 million turns. */
const BODIES = [
  "true",
  "y > -1 && y < 10000",
  "request.data.map.k1 == 1 && request.data.map.k2 == 2",
  "(y * 3 + 1) % 7 - 2 > -10",
  "double(y) * 1.5 > -10.0",
  `[${"1, ".repeat(1000)}1] != []`,
  `${"y == -1 || ".repeat(500)}true`,
  "!(-1 in request.data.big)",
  "!('zz' in request.data.texts)",
  "!(1 in request.data.map)",
  "request.data.big == request.data.big",
  "request.data.map == request.data.map",
  "!request.data.mb.contains('b')",
  "!request.data.s.contains(request.data.needle)",
  "request.data.s.indexOf('zz') == -1",
  "request.data.s.size() > 0",
  "request.data.s <= request.data.s",
  "request.data.s == request.data.s + ''",
  "request.data.s.lowerAscii() != ''",
  "request.data.s.replace('a', 'b') != ''",
  "'a,b,c'.split(',').size() == 3",
  "request.data.texts.join() != ''",
  "(request.data.big + request.data.big).size() > 0",
  "request.data.big.map(z, z).size() > 0",
  "in_list('b', request.data.csv) || true",
  "glob('*zz*', request.data.s) || true",
  "path_match('a/+/c*', request.data.s) || true",
  "bytes(request.data.s) <= bytes(request.data.s)",
  "now.getHours(request.data.zones[y % 3]) >= 0",
  "now.getHours('Europe/Berlin') >= 0",
  "timestamp('2026-01-01T00:00:00Z') < now",
  "now - timestamp(0) > duration('1s')",
  "seconds('1d') > 0",
  "!ip_in('10.1.2.3', ['192.168.0.0/16', '2001:db8::/32'])",
  "'%f'.format([1.5]) != ''",
  "'abc'.matches('^[a-z]+$')",
  "'abc'.matches(string(y)) || true",
  "request.data.s.substring(0, 200).matches('(a?){100}a{100}') || true",
];

const TOWER = `[0]${".map(x, [x, x])".repeat(60)}`;

/** None of them is ever through with its budget. */
export const BOMBS: readonly string[] = [
  nestedLoops(6, "true"),
  `${TOWER} == ${TOWER}`,
  "request.data.s.matches(request.data.hard)",
  ...BODIES.map((body) => `request.data.big.all(x, request.data.big.all(y, ${body}))`),
];
