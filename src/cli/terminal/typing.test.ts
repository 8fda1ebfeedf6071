// Lines out of keys.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Typing } from "./typing.ts";

test("keys of a raw terminal edit the line", async () => {
  const typing = new Typing(100);
  typing.take("wrong\u0015abX\u007f\b\u001b[Dc\r", true);
  assert.equal(await typing.next(), "ac");
  typing.take("\u001b[200~pasted\u001b[201~\r\n\r", true);
  assert.equal(await typing.next(), "pasted");
  assert.equal(
    await typing.next(),
    "",
    "the second return is an empty line, the first had both marks",
  );
});

test("lines are the same however the bytes arrive", async () => {
  const line = fc.stringMatching(/^[A-Za-z0-9+/=]{0,10}$/);
  const cuts = fc.array(fc.nat({ max: 40 }));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 5 }), cuts, async (lines, at) => {
      const text = lines.map((one) => `${one}\r`).join("");
      const typing = new Typing(100);
      let from = 0;
      for (const to of [...at.toSorted((a, b) => a - b), text.length]) {
        typing.take(text.slice(from, to), true);
        from = Math.max(from, to);
      }
      for (const one of lines) assert.equal(await typing.next(), one);
    }),
  );
});

test("Ctrl-C, Ctrl-D and the end of the input", async () => {
  const typing = new Typing(100);
  assert.equal(typing.take("abc\u0003", true), true);
  assert.equal(
    new Typing(9).take("\u0003", false),
    false,
    "a cooked terminal makes a signal of it",
  );
  const ended = new Typing(100);
  ended.take("\u0004", true);
  assert.equal(await ended.next(), null);
  const cut = new Typing(100);
  cut.take("no newline", true);
  cut.end();
  assert.equal(await cut.next(), "no newline");
  assert.equal(await cut.next(), null);
});

test("a line that has no end takes no memory", async () => {
  const typing = new Typing(4);
  typing.take("123456789\r", true);
  assert.equal(await typing.next(), "1234");
});
