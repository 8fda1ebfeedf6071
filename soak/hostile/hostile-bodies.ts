// JSON that is dear to read: every limit of threats 3.2 at its edge, one beyond it, and as far beyond as a
// body can go. Texts only; which endpoint they are sent to is said in hostile-payloads.ts.

import { JSON_LIMITS } from "@holdfast/shared/json/json-limits";

export const MAX_BODY = 1024 * 1024; // bytes, the default of max_request_size
const { depth, keys, elements, tokens, keyBytes, numberBytes } = JSON_LIMITS;

export interface HostileBody {
  readonly name: string;
  readonly body: string | Buffer;
  /** Whether it is JSON within the limits; what it means is the endpoint's business. */
  readonly good: boolean;
}

/** A body of just so many bytes, filled with `piece` between `before` and `after`. */
export function filled(before: string, piece: string, after: string, size = MAX_BODY): string {
  const room = size - Buffer.byteLength(before + after);
  const times = Math.floor(room / Buffer.byteLength(piece));
  const text = before + piece.repeat(times) + after;
  return text + " ".repeat(size - Buffer.byteLength(text));
}

function member(count: number, name: (i: number) => string, value = "0"): string {
  return `{${Array.from({ length: count }, (_, i) => `"${name(i)}":${value}`).join(",")}}`;
}

function list(count: number, value: string): string {
  return `[${Array.from({ length: count }, () => value).join(",")}]`;
}

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
}

/** So many keys and values: the outer object, a key and a list for each list, and what fills them. */
function manyTokens(count: number): string {
  const full = Math.floor((count - 1) / (elements + 2));
  const rest = count - 1 - full * (elements + 2);
  const lists = Array.from({ length: full }, (_, i) => `"k${i}":${list(elements, "0")}`);
  if (rest > 1) lists.push(`"r":${list(rest - 2, "0")}`);
  return `{${lists.join(",")}}`;
}

function good(name: string, body: string | Buffer): HostileBody {
  return { name, body, good: true };
}

function bad(name: string, body: string | Buffer): HostileBody {
  return { name, body, good: false };
}

export function hostileBodies(): HostileBody[] {
  const longKey = (i: number) => String(i).padStart(keyBytes, "k");
  const digits = "1234567890".repeat(Math.ceil(numberBytes / 10)).slice(0, numberBytes);
  const manyKeys = Array.from({ length: 90_000 }, (_, i) => `"${i.toString(36)}":0`).join(",");
  const invalidUtf8 = Buffer.from(filled('{"a":"', "x", '"}'));
  invalidUtf8[MAX_BODY - 3] = 0xff;
  return [
    good(`depth ${depth}`, nested(depth)),
    bad(`depth ${depth + 1}`, nested(depth + 1)),
    bad("1 MiB of [", filled('{"a":', "[", "")),
    bad('1 MiB of {"a":', filled("", '{"a":', "")),
    bad("1 MiB of [], 31 deep", filled('{"a":[', `${"[".repeat(30)}${"]".repeat(30)},`, "0]}")),
    good(
      `${keys} keys`,
      member(keys, (i) => `k${i}`),
    ),
    bad(
      `${keys + 1} keys`,
      member(keys + 1, (i) => `k${i}`),
    ),
    bad("1 MiB of keys", filled(`{${manyKeys},`, '"zz":0,', '"z":0}')),
    good(`${keys} keys of ${keyBytes} bytes`, member(keys, longKey)),
    bad(
      `a key of ${keyBytes + 1} bytes`,
      member(1, () => "k".repeat(keyBytes + 1)),
    ),
    bad("a key of 1 MiB", filled('{"', "k", '":0}')),
    good(
      `${keys} keys in escapes`,
      member(keys, (i) => `${"\\u006b".repeat(100)}${i}`),
    ),
    good(`${elements} elements`, `{"a":${list(elements, "0")}}`),
    bad(`${elements + 1} elements`, `{"a":${list(elements + 1, "0")}}`),
    good(`${tokens} tokens`, manyTokens(tokens)),
    bad(`${tokens + 1} tokens`, manyTokens(tokens + 1)),
    good(
      "24 objects of 1,000 keys",
      member(
        24,
        (i) => `o${i}`,
        member(keys, (i) => `k${i}`),
      ),
    ),
    good(
      "9 lists of 5,000 strings",
      member(9, (i) => `l${i}`, list(elements, '"0123456789"')),
    ),
    good(
      "9 lists of 2,500 empty objects",
      member(9, (i) => `l${i}`, list(2500, "{}")),
    ),
    good("a string of 1 MiB", filled('{"a":"', "x", '"}')),
    good("1 MiB of é", filled('{"a":"', "é", '"}')),
    good("1 MiB of 😀", filled('{"a":"', "😀", '"}')),
    good("1 MiB of \\u0041", filled('{"a":"', "\\u0041", '"}')),
    good("1 MiB of \\n", filled('{"a":"', "\\n", '"}')),
    good("1 MiB of line separators", filled('{"a":"', "\u2028", '"}')),
    good("1 MiB of escaped pairs", filled('{"a":"', "\\ud83d\\ude00", '"}')),
    bad("half a pair after 1 MiB", filled('{"a":"', "x", '\\ud800"}')),
    bad("no UTF-8 after 1 MiB", invalidUtf8),
    bad("1 MiB of overlong slashes", Buffer.alloc(MAX_BODY, Buffer.from([0xc0, 0xaf]))),
    bad("a byte order mark", '\ufeff{"a":0}'),
    good("1 MiB of spaces", filled("{", " ", "}")),
    good(`numbers of ${numberBytes} digits`, `{"a":${list(1000, digits)}}`),
    bad(`a number of ${numberBytes + 1} digits`, `{"a":${digits}0}`),
    bad("a number of 1 MiB", filled('{"a":', "1", "}")),
    good(
      "45,000 odd numbers",
      member(9, (i) => `l${i}`, list(elements, "1.0E-7")),
    ),
    good("numbers beyond a double", `{"a":${list(elements, "1e400")}}`),
    bad("no number", '{"a":-}'),
    bad("a key twice, the last of 1,000", `${member(999, (i) => `k${i}`).slice(0, -1)},"k0":0}`),
    bad("a key twice, in escapes", '{"a":0,"\\u0061":0}'),
    bad("__proto__", '{"a":{"__proto__":{"x":1}}}'),
    bad("constructor.prototype", '{"constructor":{"prototype":{"x":1}}}'),
    bad("__proto__ in escapes", '{"\\u005f_proto__":0}'),
    // Large whole numbers as keys are kept by number, and those apart by powers of two lie together
    // in tables that do not mix them.
    good(
      "1,000 keys apart by 2^20",
      member(keys, (i) => String(i * 2 ** 20)),
    ),
    bad(
      "60,000 keys like numbers",
      member(60_000, (i) => String(i * 2 ** 15)),
    ),
    good(`${keys} keys of one hash`, member(1000, collisions())),
    bad("1 MiB without an end", filled('{"a":"', "x", "")),
    bad("1 MiB of commas", filled('{"a":[', ",", "]}")),
    bad("1 MiB of zeros", Buffer.alloc(MAX_BODY)),
  ];
}

/** Keys of equal FNV-1a, the scanner's hash: ten pairs that collide one after the other give 1,024. */
function collisions(): (i: number) => string {
  const pairs: (readonly [string, string])[] = [];
  let state = -2128831035;
  for (let step = 0; step < 10; step++) {
    const seen = new Map<number, string>();
    for (let n = 0; ; n++) {
      const text = n.toString(36).padStart(5, "_");
      const hash = fnv(state, text);
      const other = seen.get(hash);
      seen.set(hash, text);
      if (other === undefined) continue;
      pairs.push([other, text]);
      state = hash;
      break;
    }
  }
  return (i) => pairs.map((pair, bit) => pair[(i >> bit) & 1]).join("");
}

function fnv(state: number, text: string): number {
  let hash = state;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash;
}
