// The search against that of the runtime, on texts of few letters, where parts nearly match everywhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Meter } from "../running/meter.ts";
import { contains, lastPlace, Search } from "./text-search.ts";

const letters = fc.constantFrom("a", "b", "é", "😀", "\ud83d");
const texts = fc.string({ unit: letters, maxLength: 60 });

test("it finds what the runtime finds, from every place and from both ends", () => {
  fc.assert(
    fc.property(texts, texts, fc.nat(70), (text, part, from) => {
      const meter = new Meter();
      const place = Math.min(from, text.length);
      const found = part.length > text.length ? -1 : text.indexOf(part, place);
      assert.equal(new Search(text, part, meter).from(place), found);
      assert.equal(lastPlace(text, part, place, meter), text.lastIndexOf(part, place));
      assert.equal(contains(text, part, meter), text.includes(part));
    }),
  );
});

test("a part of the text itself is found, long or short, and then the next one", () => {
  fc.assert(
    fc.property(texts, texts, fc.integer({ min: 1, max: 40 }), (before, part, times) => {
      const text = `${before}${part}b`.repeat(times);
      const places = new Search(text, part, new Meter());
      let from = 0;
      for (let i = 0; i < times && part !== ""; i += 1) {
        const at = places.from(from);
        assert.equal(at, text.indexOf(part, from));
        from = at + part.length;
      }
    }),
  );
});
