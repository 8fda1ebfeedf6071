// Programs of governing policies that try to hold the server up, with the data that helps them: the
// tests ask that each ends with its budget, the bench how long that takes.

import type { JsonObject } from "@holdfast/shared/json/json";

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
  // Texts that repeat themselves, and parts that are nearly found at every place of them.
  same: "a".repeat(600_000),
  some: "a".repeat(60_000),
  nearly: `${"a".repeat(30_000)}b`,
  between: `${"a".repeat(15_000)}b${"a".repeat(15_000)}`,
  pairs: "ab".repeat(30_000),
  wide: "é😀".repeat(15_000),
  // Narrow characters in a text that is kept as a wide one.
  mixed: `ā${"a".repeat(60_000)}`,
  growing: NUMBERS.slice(0, 200).map((i) => "x".repeat(i)),
  slashes: "a/".repeat(30_000),
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
  // Searches that take the product of the lengths where they are not told to be linear.
  "request.data.same.lastIndexOf(request.data.nearly) == -1",
  "!request.data.same.contains(request.data.between)",
  "request.data.same.indexOf(request.data.between) == -1",
  "request.data.same.split(request.data.between).size() == 1",
  "request.data.some.replace(request.data.between, '') != ''",
  "!glob('*' + request.data.between + '*', request.data.same)",
  "!request.data.same.startsWith(request.data.nearly)",
  "!request.data.same.endsWith(request.data.nearly)",
  "request.data.some.replace('ab', 'c') != ''",
  "request.data.some.split('ab').size() == 1",
  "!request.data.some.contains('aaaaaaab')",
  "!request.data.some.contains('aaaaaaaab')",
  "request.data.some.lastIndexOf('baaaaaaa') == -1",
  // Many pieces, wide characters, and texts that are put together.
  "request.data.pairs.replace('ab', 'c') != ''",
  "request.data.pairs.split('b', 5000).size() > 0",
  "request.data.wide.size() > 0",
  "request.data.wide.lastIndexOf('é') > -1",
  "request.data.wide.indexOf('a', 9) == -1",
  "request.data.wide.substring(3, 9) != ''",
  "request.data.mixed.substring(1) == request.data.some",
  "request.data.mixed.substring(1) <= request.data.some",
  "request.data.some.startsWith(request.data.mixed.substring(1))",
  "request.data.growing.join(',').size() > 0",
  "(request.data.some + string(y)).contains('a')",
  "[request.data.some, ''].join(' ').trim() != ''",
  "request.data.some.upperAscii() != ''",
  "string(bytes(request.data.some)) != ''",
  "'%s'.format([request.data.map]) != ''",
  "path_match('+/+/c*', request.data.slashes) || true",
  `request.data.pairs.substring(0, 1000).matches('${alternatives(60)}') || true`,
  "request.data.wide.substring(0, 300).matches('\\\\pL{3,20}\\\\pN') || true",
  "'abc'.matches('\\\\pL' + string(y)) || true",
  "string(now) != ''",
  "string(duration('1h30m')) != ''",
  "(timestamp(y * 86400)).getHours('America/New_York') >= 0",
  "double('1.25e10') > 1.0",
  "request.data.map.map(k, k).size() > 0",
  "request.data.big.filter(z, z > 100).size() > 0",
  "[request.data.big, request.data.big] == [request.data.big, request.data.big]",
  // Errors, which the other side of an "or" swallows.
  "int('x') == 1 || true",
  "y / 0 == 1 || true",
  "timestamp('x') == now || true",
  "duration('x') == duration('1s') || true",
  "request.data.none.y == 1 || true",
  "request.data.map[request.data.s] == 1 || true",
  "request.data.big[-1] == 1 || true",
  "y.all(z, true) || true",
  "now.getHours('Nowhere/' + string(y)) == 1 || true",
  `${"y || ".repeat(200)}true`,
  `${"dyn(y) || ".repeat(200)}true`,
  `(${"dyn(y) && ".repeat(200)}false) || true`,
  "(dyn(y) ? true : false) || true",
  `${"mfa.methods.x.valid || ".repeat(100)}true`,
  `${"identity.entity.name == 'a' || ".repeat(100)}true`,
];

function alternatives(count: number): string {
  return Array.from({ length: count }, (_, i) => `a${i}`).join("|");
}

const TOWER = `[0]${".map(x, [x, x])".repeat(60)}`;

/** None of them is ever through with its budget. */
export const BOMBS: readonly string[] = [
  nestedLoops(6, "true"),
  `${TOWER} == ${TOWER}`,
  "request.data.s.matches(request.data.hard)",
  `rule bad { 1 / request.data.big[0] == 1 }
main { request.data.big.all(x, ${"rule.bad || ".repeat(200)}true) }`,
  ...BODIES.map((body) => `request.data.big.all(x, request.data.big.all(y, ${body}))`),
];
