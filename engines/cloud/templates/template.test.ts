import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { Template } from "./template.ts";
import { TemplateError } from "./lexer.ts";

// 2026-01-01T00:00:00Z is a Thursday; 3 h 4 min 5.25 s later.
const clock = new FakeClock(1_767_225_600_000_000_000n + 11_045_250_000_000n);
const world = { clock, random: new SystemRandom() };
const FIELDS = { Type: "IAM", DisplayName: "ann", PolicyName: "deploy" };

function run(source: string, fields = FIELDS): string {
  return new Template(source, Object.keys(FIELDS)).run(fields, world);
}

function fault(source: string): string {
  try {
    run(source);
  } catch (error) {
    assert.ok(error instanceof TemplateError, String(error));
    return `${error.line}:${error.column} ${error.message}`;
  }
  return assert.fail(`no fault in ${source}`);
}

const GOOD: readonly (readonly [string, string])[] = [
  ["plain", "plain"],
  ["{{.Type}}-{{ .DisplayName }}", "IAM-ann"],
  ["{{ $.PolicyName }}", "deploy"],
  ["a {{- `b` -}} c", "abc"],
  ["a {{/* says nothing */}} b", "a  b"],
  ["a {{- /* says nothing */ -}} b", "ab"],
  ['{{ if eq .Type "STS" }}s{{ else }}i{{ end }}', "i"],
  ['{{ if eq .Type "STS" }}s{{ else if eq .Type "X" "IAM" }}x{{ else }}i{{ end }}', "x"],
  ["{{ with .DisplayName }}<{{ . }}>{{ else }}none{{ end }}", "<ann>"],
  ['{{ with "" }}some{{ else }}{{ .Type }}{{ end }}', "IAM"],
  ['{{ with $x := "v" }}{{ $x }}{{ $.Type }}{{ end }}', "vIAM"],
  ['{{ $x := "a" }}{{ $x }}{{ $x = "b" }}{{ $x }}', "ab"],
  ['{{ $x := "a" }}{{ if true }}{{ $x := "b" }}{{ $x }}{{ end }}{{ $x }}', "ba"],
  ['{{ $x := "a" }}{{ if true }}{{ $x = "b" }}{{ end }}{{ $x }}', "b"],
  ['{{ "A" | lowercase | printf "%s%s" "z" }}', "za"],
  ['{{ printf "%s" (uppercase (printf "%s-%s" .DisplayName .PolicyName)) }}', "ANN-DEPLOY"],
  ['{{ "t\\tq\\"\\u00e9\\\\" }}', 't\tq"é\\'],
  ["{{ eq 1 1 }} {{ ne 1 2 }} {{ lt 1 2 }} {{ le 2 2 }} {{ gt 1 2 }}", "true true true true false"],
  ['{{ ge "b" "a" }} {{ not true }} {{ and 1 0 2 }} {{ or "" "x" "y" }}', "true false 0 x"],
  ['{{ or true (truncate_sha256 1 "") }}', "true"], // what decides ends it
  ['{{ len "é" }} {{ index "abc" 1 }} {{ slice "abcd" 1 3 }}', "2 98 bc"],
  ['{{ print 1 2 "a" 3 }} {{ println "a" 1 }}', "1 2a3 a 1\n"],
  ["{{ -7 }} {{ 07 }} {{ -0 }}", "-7 7 0"],
  ['{{ truncate 3 "abcdef" }} {{ truncate 9 "abc" }} {{ truncate 2 "aé" }}', "abc abc a"],
  ['{{ "a.b.c" | replace "." "-" }} {{ replace "" "." "ab" }}', "a-b-c .a.b."],
  ['{{ sha256 "" | truncate 8 }}', "e3b0c442"],
  ['{{ base64 "hi" }}', "aGk="],
  ["{{ unix_time }} {{ unix_time_millis }}", "1767236645 1767236645250"],
  ['{{ timestamp "2006-01-02T15:04:05.000Z07:00" }}', "2026-01-01T03:04:05.250Z"],
  ['{{ timestamp "Mon Jan _2 3:4:5PM 06 -0700 MST 002" }}', "Thu Jan  1 3:4:5AM 26 +0000 UTC 001"],
  ['{{ timestamp "Monday January 20060102150405.999" }}', "Thursday January 20260101030405.25"],
  [
    '{{ printf `%5s|%-5s|%05d|%.2s|%x|%X|%q|%t|%v|%%` `a` `b` -7 `xyz` `hi` 255 `a"` true 1 }}',
    '    a|b    |-0007|xy|6869|FF|"a\\""|true|1|%',
  ],
  ["{{ printf `%.3d|%6.3d|%.1x` 7 7 `hi` }}", "007|   007|68"],
];

for (const [source, result] of GOOD) {
  test(`the template ${source} gives ${JSON.stringify(result)}`, () => {
    assert.equal(run(source), result);
  });
}

test("C18: truncate_sha256 20 keeps twelve letters of the alphabet and eight of the hash of the rest", () => {
  const hash = createHash("sha256").update("mnopqrstuvwxyz").digest("hex").slice(0, 8);
  assert.equal(run('{{ truncate_sha256 20 "abcdefghijklmnopqrstuvwxyz" }}'), `abcdefghijkl${hash}`);
  assert.equal(run('{{ truncate_sha256 26 "abcdefghijklmnopqrstuvwxyz" }}').length, 26);
});

test("C18: random gives letters and digits only, all of them, and never the same twice", () => {
  const source = "{{ random 62 }}{{ random 900 }}";
  const [one, other] = [run(source), run(source)];
  assert.match(one, /^[A-Za-z0-9]{962}$/);
  assert.equal(new Set(one + other).size, 62);
  assert.notEqual(one, other);
  assert.match(
    run("{{ uuid }}"),
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

const BROKEN: readonly (readonly [string, string])[] = [
  ["{{ .Type", "1:1 {{ without its }}"],
  ["{{ if true }}", "1:4 {{if}} without its {{end}}"],
  ["{{ if true }}a{{ else }}b", "1:4 {{if}} without its {{end}}"],
  ["a\n {{ end }}", "2:5 {{end}} without an if or with before it"],
  ["{{ if true }}{{ else }}{{ else }}{{ end }}", "1:27 a second {{else}}"],
  ["{{ .Nobody }}", "1:4 there is no field .Nobody; there are .Type, .DisplayName, .PolicyName"],
  ["{{ $.Nobody }}", "1:5 there is no field .Nobody; there are .Type, .DisplayName, .PolicyName"],
  ["{{ $x }}", "1:4 there is no variable $x"],
  ["{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", "1:39 there is no variable $x"],
  [
    "{{ shout .Type }}",
    "1:4 there is no function shout; there are eq, ne, lt, le, gt, ge, not, len, index, slice, print, println, " +
      "printf, random, truncate, truncate_sha256, uppercase, lowercase, replace, sha256, base64, unix_time, " +
      "unix_time_millis, timestamp, uuid, and, or",
  ],
  [
    "{{ range .Type }}{{ end }}",
    "1:4 range is not part of this language, which has if, else, with and end",
  ],
  ["{{ if true }}{{ else with .Type }}{{ end }}", "1:22 }} must stand here"],
  ['{{ "a }}', "1:4 a text in quotes does not end"],
  ["{{ `a }}", "1:4 a text in back quotes does not end"],
  [
    '{{ "\\x41" }}',
    '1:5 an escape that is not known; there are \\\\, \\", \\n, \\r, \\t and \\u with four digits',
  ],
  ['{{ "\\ud800" }}', "1:5 an escape that is half of a character"],
  ["{{ +1 }}", "1:4 a character that has no meaning here"],
  ["{{ }}", "1:4 a value must stand here"],
  ["{{ .Type .PolicyName }}", "1:4 only a function can have arguments"],
  ['{{ "a" | "b" }}', "1:10 behind | a function must stand"],
  ["{{ (eq 1 1 }}", "1:12 ) must stand here"],
  ["{{ # }}", "1:4 a character that has no meaning here"],
  ["{{ 99999999999999999999 }}", "1:4 a number that is too large"],
  ["{{ /* a */ b }}", "1:11 a comment stands alone: }} must follow it"],
  ["{{ . }}", "1:4 the data as a whole is no text"],
  ["{{ with .Type }}{{ .Sub }}{{ end }}", "1:20 there is no field .Sub here"],
  ['{{ eq "1" 1 }}', "1:4 eq: only two texts, two numbers or two truth values can be compared"],
  ['{{ truncate "a" 1 }}', "1:4 truncate: argument 2 must be a text"],
  ['{{ truncate_sha256 8 "abcdefghij" }}', "1:4 truncate_sha256: argument 1 must be at least 9"],
  ["{{ random 0 }}", "1:4 random: argument 1 must be from 1 to 1024"],
  ['{{ printf "%d" "a" }}', "1:4 printf: %d cannot show a text; %s, %v, %q, %x and %X can"],
  ['{{ printf "%f" 1 }}', "1:4 printf: %f cannot show a number; %d, %v, %x and %X can"],
  ['{{ printf "%s" }}', "1:4 printf: %s has no argument"],
  ['{{ printf "a" 1 }}', "1:4 printf: it has 1 arguments too many"],
  ['{{ slice "abc" 2 9 }}', "1:4 slice: 2 to 9 is out of the 3 bytes that there are"],
];

for (const [source, expected] of BROKEN) {
  test(`the template ${source} is refused with its place`, () => {
    assert.equal(fault(source), expected);
  });
}

test("the usual template of the comparable product can be read and gives its form", () => {
  const source =
    '{{ if (eq .Type "STS") }}{{ printf "vault-%s-%s" (unix_time) (random 20) | truncate 32 }}' +
    '{{ else }}{{ printf "vault-%s-%s-%s" (printf "%s-%s" (.DisplayName) (.PolicyName) | truncate 42) ' +
    "(unix_time) (random 20) | truncate 64 }}{{ end }}";
  assert.match(run(source), /^vault-ann-deploy-1767236645-[A-Za-z0-9]{20}$/);
  assert.match(run(source, { ...FIELDS, Type: "STS" }), /^vault-1767236645-[A-Za-z0-9]{15}$/);
});

test("a run ends at its limits: output, steps, and texts that double", () => {
  assert.match(fault('{{ printf "%1024s" "a" }}b'), /the result has more than 1024 bytes/);
  assert.match(fault("x".repeat(1025)), /the result has more than 1024 bytes/);
  assert.match(fault("{{ $x := 1 }}".repeat(6000)), /it takes more than 10000 steps/);
  const doubling = '{{ $x := "aaaaaaaaaaaaaaaa" }}' + "{{ $x = print $x $x }}".repeat(40);
  assert.match(fault(doubling), /more than 100000 bytes|more than 10000 steps/);
  const growing = `{{ $x := replace "a" "${"b".repeat(40_000)}" "${"a".repeat(40_000)}" }}`;
  assert.match(fault(growing), /replace: it would make a text of more than 100000 bytes/);
  const hashing = `{{ $x := "${"a".repeat(60_000)}" }}` + "{{ $y := sha256 $x }}".repeat(1000);
  assert.match(fault(hashing), /it takes more than 10000 steps/);
});

test("a template has fewer than 100,000 characters and is not nested deeper than 50", () => {
  assert.match(fault("x".repeat(100_000)), /^1:1 it has 100000 characters or more/);
  assert.match(fault(`{{ ${"(".repeat(60)}1${")".repeat(60)} }}`), /nested deeper than 50/);
  assert.match(fault("{{ if true }}".repeat(60)), /nested deeper than 50/);
});

test("whatever a template is, reading and running it ends with a text or a TemplateError", () => {
  const word = fc.constantFrom(
    "{{",
    "}}",
    "{{-",
    "-}}",
    "if",
    "else",
    "end",
    "with",
    " ",
    ".",
    ".Type",
    "$",
    "$x",
    ":=",
    "=",
    "|",
    "(",
    ")",
    '"a"',
    "`",
    "1",
    "-",
    "eq",
    "printf",
    "truncate",
    "random",
    "/*",
    "*/",
    "\n",
    "é",
  );
  const source = fc.array(word, { maxLength: 30 }).map((words) => words.join(""));
  fc.assert(
    fc.property(source, (text) => {
      try {
        assert.equal(typeof run(text), "string");
      } catch (error) {
        assert.ok(error instanceof TemplateError, String(error));
        assert.ok(error.line >= 1 && error.column >= 1);
      }
    }),
    { numRuns: 3000 },
  );
});
