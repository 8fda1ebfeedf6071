import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { ChunkWatch } from "./chunk-watch.ts";

const HEAD = "POST /v1/sys/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

function chunks(count: number, data: string, extension = ""): string {
  return `${data.length.toString(16)}${extension}\r\n${data}\r\n`.repeat(count);
}

/** Whether any of the segments was too much. */
function judged(text: string, cuts: readonly number[] = [], watch = new ChunkWatch()): boolean {
  const whole = Buffer.from(text, "latin1");
  const places = [...new Set(cuts.map((cut) => cut % whole.length))].toSorted((a, b) => a - b);
  const ends = [...places, whole.length];
  return ends.some((end, i) => watch.isTooMuch(whole.subarray(ends[i - 1] ?? 0, end)));
}

test("T-N06: 2,048 chunks of a byte pass and one more does not, with extensions or without", () => {
  for (const extension of ["", ";a=b", `;${"x".repeat(100)}`]) {
    assert.equal(judged(HEAD + chunks(2048, "y", extension)), false);
    assert.equal(judged(HEAD + chunks(2049, "y", extension)), true);
  }
});

test("any number of chunks of 32 bytes pass, on average too, in either spelling of the size", () => {
  assert.equal(judged(HEAD + chunks(50_000, "y".repeat(32))), false);
  assert.equal(judged(HEAD + chunks(50_000, "y".repeat(31))), true);
  assert.equal(judged(HEAD + chunks(5000, "y") + chunks(20, "y".repeat(10_000))), false);
  assert.equal(judged(HEAD + "A\r\n0123456789\r\n".repeat(1000) + chunks(1500, "y")), true);
});

test("lines in the data of chunks, and bodies that are no chunks, are not counted", () => {
  const lines = '{\r\n"a":1,\r\n'.repeat(10_000);
  assert.equal(judged(HEAD + chunks(8, lines)), false);
  for (const body of [lines, "\n".repeat(100_000), "1\r\n".repeat(100_000), "f".repeat(100_000)]) {
    const head = `POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n`;
    const known = body.startsWith("1");
    assert.equal(judged(head + body), known, "a body of sizes is no JSON, and the one exception");
  }
  const trailers = "0\r\n" + "1: 2\r\n".repeat(10_000);
  assert.equal(judged(HEAD + chunks(3, "y") + trailers), false);
});

test("wherever segments end, and behind empty lines, the count is the same", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(), { maxLength: 40 }),
      fc.constantFrom("", "\r\n", "\r\n\r\n", "\n\n\r\n"),
      fc.constantFrom("", ";x", ";a=1;b=2"),
      fc.boolean(),
      (cuts, before, extension, much) => {
        const body = chunks(much ? 2049 : 2048, "yy", extension);
        // Cuts around the end of the head are the ones that matter.
        const near = cuts.map((cut, i) => (i % 2 === 0 ? cut % (HEAD.length + 20) : cut));
        return judged(before + HEAD + body, near) === much;
      },
    ),
    { numRuns: 300 },
  );
});

test("each request has its own count", () => {
  const watch = new ChunkWatch();
  for (let i = 0; i < 5; i++) {
    watch.restart();
    assert.equal(judged(HEAD + chunks(1500, "y"), [], watch), false);
  }
  assert.equal(judged(chunks(600, "y"), [], watch), true, "more of the last");
});
