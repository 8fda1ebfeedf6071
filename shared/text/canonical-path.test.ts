import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { CanonicalPath, isSegment, splitTarget } from "./canonical-path.ts";
import { Failure } from "../failure.ts";

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, "invalid");
    return error.message;
  }
  return assert.fail("it was accepted");
}

function readOrNull(raw: string): string | null {
  try {
    return CanonicalPath.parse(raw).text;
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return null;
  }
}

const acceptedTable: readonly [raw: string, text: string, folder: boolean][] = [
  ["/", "", true],
  ["/sys/health", "sys/health", false],
  ["/a/b/", "a/b", true],
  ["/a~!$'(),;=:@-_.b", "a~!$'(),;=:@-_.b", false],
  ["/a%20b", "a b", false],
  ["/%C3%A9", "é", false],
  ["/%F0%9F%98%80", "😀", false],
  ["/a%22%3C%3E%23%3F%7B%7D%7C%5B%5D%5E%60", 'a"<>#?{}|[]^`', false],
  ["/a..b/c...d", "a..b/c...d", false],
  ["/a/.well-known/keys", "a/.well-known/keys", false],
];
for (const [raw, text, folder] of acceptedTable) {
  test(`${raw} is read as "${text}"`, () => {
    const path = CanonicalPath.parse(raw);
    assert.deepEqual([path.text, path.folder], [text, folder]);
    assert.equal(path.segments.join("/"), text);
  });
}

test("T-A01: whatever a store could clean into another path is refused", () => {
  for (const rest of [
    "../other/x",
    "%2e%2e/other/x",
    "%2E%2E/other/x",
    "./x",
    "%2E/x",
    "/x",
    "%2Fx",
    "%2fx",
    "\\x",
    "%5Cx",
    "%5cx",
    "x/..",
    "x/.",
    "x//",
    "...",
    ".x",
    "x.",
    "x./y",
    "%20x",
    "x%20",
    "x%00",
    "x%2500",
    "x*",
    "+",
    "x%2A",
    "%2B",
  ]) {
    refusal(() => CanonicalPath.parse(`/secret/team/${rest}`));
  }
});

test("T-A02: needless and malformed escapes are refused", () => {
  for (const raw of [
    "/%61cl/tokens",
    "/acl/%74okens",
    "/acl/%2Dx",
    "/a%7Eb",
    "/a%5Fb",
    "/a%c3%a9", // lower-case hex
    "/%C0%AE%C0%AE", // overlong
    "/%E0%80%AF",
    "/%ED%A0%80", // half of a surrogate pair
    "/%F5%80%80%80",
    "/%C3", // cut short
    "/%u002e",
    "/%00",
    "/%0A",
    "/%7F",
    "/%",
    "/a%2",
    "/%GG",
    "/%%30",
  ]) {
    refusal(() => CanonicalPath.parse(raw));
  }
});

test("only origin form, printable ASCII and single slashes are read at all", () => {
  for (const raw of [
    "",
    "a",
    "*",
    "http://evil/x",
    "//evil/x",
    "//",
    "/a//b",
    "/a//",
    "/a b",
    "/a\tb",
    "/a#b",
    "/a?b",
    '/a"b',
    "/a<b",
    "/a\u00e9",
    "/a\u0000",
    "/a|b",
    "/a^b",
  ]) {
    refusal(() => CanonicalPath.parse(raw));
  }
});

test("invisible, unassigned and composed otherwise: refused in a path and as a name", () => {
  for (const text of [
    "a\u200bb",
    "a\u200db",
    "\u202ea",
    "\ufeffa",
    "a\u00ad",
    "a\u2028b",
    "a\u2029b",
    "a\u0085b",
    "a\u0378", // unassigned
    "a\ue000", // private use
    "e\u0301", // é in two parts
    "\u212b", // Ångström sign
  ]) {
    assert.equal(isSegment(text), false, JSON.stringify(text));
    refusal(() => CanonicalPath.parse(`/${encodeURIComponent(text)}`));
  }
});

test("lengths hold at their limit and are refused one above", () => {
  const long = "x".repeat(256);
  assert.equal(CanonicalPath.parse(`/${long}`).text, long);
  assert.match(
    refusal(() => CanonicalPath.parse(`/${long}x`)),
    /256 bytes/,
  );
  // Bytes of what it stands for, not characters.
  assert.match(
    refusal(() => CanonicalPath.parse(`/${"%C3%A9".repeat(129)}`)),
    /256 bytes/,
  );
  assert.equal(CanonicalPath.parse("/a".repeat(32)).segments.length, 32);
  assert.match(
    refusal(() => CanonicalPath.parse("/a".repeat(33))),
    /32 segments/,
  );
  const full = `/${`${"y".repeat(203)}/`.repeat(5)}`; // 1,021
  assert.ok(CanonicalPath.parse(`${full}zzz`));
  assert.match(
    refusal(() => CanonicalPath.parse(`${full}zzzz`)),
    /1024 bytes/,
  );
  assert.ok(splitTarget(`/${"a".repeat(8191)}`));
  assert.match(
    refusal(() => splitTarget(`/${"a".repeat(8192)}`)),
    /8192 bytes/,
  );
});

test("a target is cut at its first question mark", () => {
  assert.deepEqual(splitTarget("/a?b=c?d&e"), { path: "/a", query: "b=c?d&e" });
  assert.deepEqual(splitTarget("/a"), { path: "/a", query: "" });
  assert.deepEqual(splitTarget("/a?"), { path: "/a", query: "" });
});

test("what is left below a namespace keeps its slash", () => {
  const path = CanonicalPath.parse("/a/b/c/");
  assert.equal(path.after(0), path);
  assert.deepEqual([path.after(2).text, path.after(2).folder], ["c", true]);
  assert.deepEqual([path.after(3).text, path.after(3).segments.length], ["", 0]);
  const plain = CanonicalPath.parse("/a");
  assert.deepEqual([plain.asFolder().text, plain.asFolder().folder], ["a", true]);
  assert.equal(path.asFolder(), path);
  assert.equal(CanonicalPath.of(["x", "y"]).text, "x/y");
});

test("names: what stands in a path as one segment, and nothing else", () => {
  for (const text of ["a", "a b", "é", "Team-1", "x".repeat(256), "~", ".well-known"]) {
    assert.equal(isSegment(text), true, text);
  }
  const bad = [
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "a%b",
    "a*",
    "+",
    " a",
    "a.",
    ".well-knowns",
    "x".repeat(257),
    "\ud800",
  ];
  for (const text of bad) assert.equal(isSegment(text), false, JSON.stringify(text));
});

test("a refusal does not repeat the path", () => {
  for (const raw of ["/hunter2/..", "/hunter2%", `/${"hunter2".repeat(50)}`, "hunter2"]) {
    assert.ok(!refusal(() => CanonicalPath.parse(raw)).includes("hunter2"));
  }
});

const bytes = fc.uint8Array({ maxLength: 40 });

test("T-A03, T-A05: for any bytes there is one reading or a Failure, and it reads back as itself", () => {
  const pieces = [
    "/",
    "a",
    "..",
    ".",
    "%2F",
    "%2E",
    "%C3%A9",
    "%61",
    "%",
    "\\",
    " ",
    "é",
    "~",
    "//",
  ];
  const spelt = fc.oneof(
    fc.string({ unit: "binary" }),
    bytes.map((raw) => Buffer.from(raw).toString("latin1")),
    fc.array(fc.constantFrom(...pieces)).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(spelt, (raw) => {
      let path: CanonicalPath;
      try {
        path = CanonicalPath.parse(`/${raw}`);
      } catch (error) {
        assert.ok(error instanceof Failure, String(error));
        return;
      }
      for (const segment of path.segments) {
        assert.ok(isSegment(segment), JSON.stringify(segment));
        assert.equal(segment.split(/[/\\]/).length, 1);
      }
      // Escaping what needs it, and nothing else, gives a spelling of the same path.
      const again = path.segments.map((each) => encodeURIComponent(each)).join("/");
      const slash = path.folder && path.segments.length > 0 ? "/" : "";
      assert.deepEqual(CanonicalPath.parse(`/${again}${slash}`), path);
    }),
    { numRuns: 5000 },
  );
});

test("T-A03: of a thousand other spellings of a path none is read as that path or one below it", () => {
  const plain = "secret/locked/x";
  const odd = [
    "%2e",
    "%2E",
    "%2F",
    "%5C",
    "//",
    "/./",
    "/../locked/",
    "\\",
    "%00",
    "%20",
    "*",
    "%u0061",
  ];
  let tried = 0;
  for (let at = 0; at < plain.length; at++) {
    const before = plain.slice(0, at);
    const after = plain.slice(at);
    const escape = `%${(plain.codePointAt(at) ?? 0).toString(16)}`;
    const spellings = [
      ...odd.map((piece) => before + piece + after),
      before + escape + after.slice(1),
      before + escape.toUpperCase() + after.slice(1),
    ];
    for (const spelling of spellings) {
      for (const start of ["/", "//", "/./", "/%2E/", "\\"]) {
        tried++;
        const text = readOrNull(start + spelling);
        assert.ok(text === null || !text.startsWith("secret/locked/"), start + spelling);
      }
    }
  }
  assert.ok(tried >= 1000, String(tried));
});
