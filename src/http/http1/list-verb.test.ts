import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { ListVerb } from "./list-verb.ts";

/** What the parser gets to see when these bytes come in these segments. */
function through(text: string, cuts: readonly number[] = []): { seen: string; rewritten: boolean } {
  const verb = new ListVerb();
  const bytes = Buffer.from(text, "latin1");
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    verb.feed(bytes.subarray(from, cut));
    from = cut;
  }
  return { seen: bytes.toString("latin1"), rewritten: verb.rewritten };
}

test("LIST and a space become LINK and a space, whatever follows stays", () => {
  const { seen, rewritten } = through("LIST /v1/LIST HTTP/1.1\r\nLIST : LIST \r\n");
  assert.equal(seen, "LINK /v1/LIST HTTP/1.1\r\nLIST : LIST \r\n");
  assert.equal(rewritten, true);
});

test("LINK stays LINK, and is not taken for a LIST", () => {
  assert.deepEqual(through("LINK /"), { seen: "LINK /", rewritten: false });
});

test("other verbs are not touched", () => {
  for (const text of [
    "GET /",
    "LOCK /",
    "L",
    "LI",
    "LIMIT /",
    "list /",
    " LIST /",
    "PLIST /",
    "",
  ]) {
    assert.deepEqual(through(text), { seen: text, rewritten: false });
  }
});

test("however it is cut, the result is the same, and never a verb that was not sent", () => {
  const starts = fc.constantFrom(
    "LIST ",
    "LIST",
    "LISK ",
    "LIST\t",
    "LISTS ",
    "LINK ",
    "\r\nLIST ",
    "LIS",
  );
  fc.assert(
    fc.property(
      starts,
      fc.string({ maxLength: 8 }),
      fc.array(fc.nat(12), { maxLength: 5 }),
      (start, rest, places) => {
        const text = start + rest;
        const length = Buffer.byteLength(text, "latin1");
        const cuts = [...new Set(places.filter((place) => place < length))].toSorted(
          (a, b) => a - b,
        );
        const whole = through(text);
        assert.deepEqual(through(text, cuts), whole);
        assert.equal(whole.rewritten, /^[\r\n]*LIST /.test(text));
        if (/^[\r\n]*LINK /.test(whole.seen) && !whole.rewritten)
          assert.match(text, /^[\r\n]*LINK /);
      },
    ),
    { numRuns: 2000 },
  );
});

test("it starts anew with every request", () => {
  const verb = new ListVerb();
  verb.feed(Buffer.from("LIST /a"));
  assert.equal(verb.rewritten, true);
  verb.restart();
  assert.equal(verb.rewritten, false);
  const next = Buffer.from("LIST /b");
  verb.feed(next);
  assert.equal(next.toString(), "LINK /b");
});
