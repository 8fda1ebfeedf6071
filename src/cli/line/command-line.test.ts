// Properties of the command line's grammar.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { byName, readFlags, readLine } from "./command-line.ts";
import { flag } from "./flag.ts";
import { UsageError } from "./usage-error.ts";

const FLAGS = {
  keyShares: flag.integer("n", { min: 1, max: 255 }),
  path: flag.string("p"),
  note: flag.pair("m").repeated(),
  force: flag.switch("f"),
  kind: flag.oneOf(["a", "b"], "k").default("a"),
  wait: flag.duration("d"),
};
const KNOWN = byName(FLAGS);
const read = (...args: string[]) => {
  const { flags, rest } = readLine(args, KNOWN);
  return { ...readFlags(FLAGS, flags), rest };
};

test("one dash and two, a value after = or after a space, all mean the same", () => {
  const any = fc.string().filter((text) => text !== "");
  fc.assert(
    fc.property(any, fc.constantFrom("-", "--"), fc.boolean(), (value, dashes, joined) => {
      const words = joined ? [`${dashes}path=${value}`] : [`${dashes}path`, value];
      assert.deepEqual(read(...words), { ...read(), path: value });
    }),
  );
});

test("arguments keep their order wherever flags stand, and everything after -- is one", () => {
  const word = fc.string().filter((text) => !text.startsWith("-"));
  fc.assert(
    fc.property(fc.array(word), fc.array(fc.string()), fc.nat(), (words, after, at) => {
      const place = words.length === 0 ? 0 : at % (words.length + 1);
      const line = [...words.slice(0, place), "-force", ...words.slice(place), "--", ...after];
      assert.deepEqual(read(...line), { ...read(), force: true, rest: [...words, ...after] });
    }),
  );
});

test("no line makes the reader fail in another way than with a usage error", () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom("-", "--", "-path", "-key-shares", "-force=x"),
  );
  fc.assert(
    fc.property(fc.array(word), (line) => {
      try {
        read(...line);
      } catch (error) {
        assert.ok(error instanceof UsageError);
      }
    }),
  );
});

test("a lone dash is an argument, and an empty value is a value", () => {
  assert.deepEqual(read("-").rest, ["-"]);
  assert.equal(read("-path=")["path" as keyof object], "");
});

test("the last of a flag given twice counts; a repeated one keeps all", () => {
  const values = read("-kind=b", "-kind", "a", "-note", "x=1", "--note=y=2=3");
  assert.deepEqual(values, { ...read(), kind: "a", note: [["x", "1"], ["y", "2=3"]] }); // prettier-ignore
});

test("a switch takes no word after it, but a value after =", () => {
  assert.deepEqual(read("-force", "word"), { ...read(), force: true, rest: ["word"] });
  assert.deepEqual(read("-force=false"), read());
  assert.throws(() => read("-force=maybe"), /-force is a switch/);
});

test("values out of range are refused by the flag's name and not repeated", () => {
  for (const [words, said] of [
    [["-key-shares=0"], /-key-shares takes a whole number from 1 to 255/],
    [["-key-shares=1e3"], /-key-shares takes/],
    [["-kind", "secret"], /-kind takes one of a, b/],
    [["-note=novalue"], /-note takes NAME=VALUE/],
    [["-wait", "soon"], /-wait takes a duration/],
    [["-path"], /-path needs a value: -path=TEXT/],
  ] as const) {
    assert.throws(() => read(...words), said);
  }
});

test("an unknown flag is refused with the nearest one, and without its value", () => {
  const refusal = (word: string): UsageError => {
    try {
      read(word);
    } catch (error) {
      if (error instanceof UsageError) return error;
    }
    return assert.fail();
  };
  assert.equal(refusal("-key-share=5").next, "did you mean -key-shares?");
  assert.equal(refusal("--froce").next, "did you mean -force?");
  assert.equal(refusal("-zzz").next, null);
  assert.match(refusal("-token=abc").message, /there is no -token flag/);
  assert.match(refusal("-x7Fq=abc").message, /begins with a dash is not a flag/);
  for (const word of ["-key-share=canary", "-token=canary", "-Canary=canary"]) {
    const { message, next } = refusal(word);
    assert.ok(!/canary/i.test(`${message}${next}`));
  }
});
