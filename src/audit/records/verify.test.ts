import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { text } from "@holdfast/shared/bytes";
import { SystemRandom } from "../../system/random.ts";
import { freshKey } from "../../crypto/aead.ts";
import { type ChainEvent, parseLine } from "../../signed/audit-line.ts";
import { Chain, NO_HEAD } from "./chain.ts";
import { Hmac } from "../../crypto/hmac.ts";
import { LineBuffer } from "../devices/line-buffer.ts";
import { ChainVerifier, verifyAuditFile } from "./verify.ts";

const key = freshKey(new SystemRandom());
const hmac = new Hmac(key);
const about = { time: "2026-01-01T00:00:00Z", device: "file/", prefix: "" };

/** A file of `count` records behind its first line. */
function written(count: number, chain = new Chain(hmac), event: ChainEvent = "started") {
  const lines = [sealedEvent(chain, event)];
  for (let i = 0; i < count; i++) lines.push(sealed(chain, `{"type":"request","text":"r${i}"}`));
  return { lines, chain };
}

function sealed(chain: Chain, record: string): string {
  const lines = new LineBuffer();
  chain.seal(record, lines);
  return text(lines.bytes).slice(0, -1);
}

function sealedEvent(chain: Chain, event: ChainEvent): string {
  const lines = new LineBuffer();
  chain.sealEvent(event, about, lines);
  return text(lines.bytes).slice(0, -1);
}

test("a whole file is good, and says where it ends", () => {
  const { lines, chain } = written(5);
  const verdict = verifyAuditFile(lines, key, { upTo: chain.head });
  assert.deepEqual(verdict, {
    problem: null,
    records: 6,
    first: 1,
    head: chain.head,
    foreign: 0,
    torn: 0,
  });
});

test("T-G09: the line of a cut, a swap or an edit is named", () => {
  const { lines } = written(6);
  const without = lines.toSpliced(3, 1);
  assert.deepEqual(verifyAuditFile(without, key).problem, {
    line: 4,
    reason: "record 4 is missing",
  });
  const several = lines.toSpliced(2, 3);
  assert.deepEqual(verifyAuditFile(several, key).problem, {
    line: 3,
    reason: "records 3 to 5 are missing",
  });
  const swapped = lines.with(2, lines[3]!).with(3, lines[2]!);
  assert.equal(verifyAuditFile(swapped, key).problem?.line, 3);
  const repeated = lines.toSpliced(4, 0, lines[3]!);
  assert.deepEqual(verifyAuditFile(repeated, key).problem, {
    line: 5,
    reason: "record 4 is out of order: the one before it is 4",
  });
  const edited = lines.with(3, lines[3]!.replace("r2", "r9"));
  assert.deepEqual(verifyAuditFile(edited, key).problem, {
    line: 4,
    reason: "record 4 was changed",
  });
  assert.equal(verifyAuditFile(lines.slice(1), key).problem?.line, 1);
});

test("T-G09: any change of any byte is found, at its line", () => {
  const { lines } = written(4);
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.integer({ min: 33, max: 126 }), (at, where, code) => {
      const index = at % lines.length;
      const line = lines[index]!;
      const place = where % line.length;
      const changed = line.slice(0, place) + String.fromCharCode(code) + line.slice(place + 1);
      if (changed === line) return;
      const { problem } = verifyAuditFile(lines.with(index, changed), key);
      assert.equal(problem?.line, index + 1);
    }),
    { numRuns: 500 },
  );
});

test("T-G09: a cut at the end shows against the record that must be there", () => {
  const { lines, chain } = written(4);
  const cut = lines.slice(0, -2);
  assert.equal(verifyAuditFile(cut, key).problem, null); // by itself it is a file like any other
  assert.deepEqual(verifyAuditFile(cut, key, { upTo: chain.head }).problem, {
    line: 4,
    reason: "records 4 to 5 are missing",
  });
});

test("a chain made with another key proves nothing", () => {
  const other = written(3, new Chain(new Hmac(freshKey(new SystemRandom()))));
  assert.deepEqual(verifyAuditFile(other.lines, key).problem, {
    line: 1,
    reason: "no record of this device begins the file",
  });
  // Lines of an earlier device may stand before the first of this one, and nowhere else.
  const { lines } = written(2);
  const after = verifyAuditFile([...other.lines, ...lines], key);
  assert.deepEqual([after.problem, after.foreign, after.records], [null, 4, 3]);
  assert.equal(verifyAuditFile([...lines, ...other.lines], key).problem?.line, 4);
  const continued = written(2, new Chain(hmac, { number: 7, mac: "ab" }), "continued");
  assert.equal(verifyAuditFile([...other.lines, ...continued.lines], key).problem?.line, 1);
});

test("the chain goes on over files: the next begins with the end of the one before", () => {
  const first = written(3);
  const next = written(2, first.chain, "rotated");
  const { head } = verifyAuditFile(first.lines, key);
  assert.equal(verifyAuditFile(next.lines, key, { from: head }).problem, null);
  assert.equal(verifyAuditFile(next.lines, key).first, 5);
  const shorter = verifyAuditFile(first.lines.slice(0, -1), key).head;
  assert.deepEqual(verifyAuditFile(next.lines, key, { from: shorter }).problem, {
    line: 1,
    reason: "record 4 is missing",
  });
});

test("a broken-off line is accepted only where the chain accounts for it", () => {
  const { lines, chain } = written(2);
  const torn = [...lines, '{"type":"requ', ""];
  const resumed = [...torn, sealedEvent(chain, "resumed"), sealed(chain, '{"a":1}')];
  const verdict = verifyAuditFile(resumed, key);
  assert.deepEqual([verdict.problem, verdict.torn, verdict.records], [null, 2, 5]);
  assert.equal(verifyAuditFile(torn, key).problem?.line, 4);
  const inserted = lines.toSpliced(2, 0, "somebody was here");
  assert.deepEqual(verifyAuditFile(inserted, key).problem, {
    line: 3,
    reason: "it is not a whole record",
  });
  const again = written(2);
  const continued = [...again.lines, "x", sealedEvent(again.chain, "continued")];
  assert.equal(verifyAuditFile(continued, key).problem?.line, 4);
});

test("a record cannot pass itself off as a line of the chain, nor end its own line", () => {
  const { lines, chain } = written(1);
  const sly = sealed(chain, '{"type":"request","data":{"type":"chain","x":",\\"mac\\":\\"\\"}"}}');
  const { problem, records } = verifyAuditFile([...lines, sly], key);
  assert.deepEqual([problem, records], [null, 3]);
});

const hmacs = [hmac, ...[1, 2].map(() => new Hmac(freshKey(new SystemRandom())))];

/** A file that chains of several keys have gone on with, one after another: so many records of each behind its line. */
function exchanged(turns: readonly (readonly [key: number, records: number])[]) {
  let head = NO_HEAD;
  return turns.flatMap(([which, count], i) => {
    const chain = new Chain(hmacs[which]!, head);
    const { lines } = written(count, chain, i === 0 ? "started" : "exchanged");
    head = chain.head;
    return lines.map((line) => ({ line, own: which === 0 }));
  });
}

const verified = (lines: readonly { readonly line: string }[]) =>
  verifyAuditFile(
    lines.map(({ line }) => line),
    key,
  );

test("T-G09: there and back between keys: lines of the others count as unchecked, and what is cut, edited or put in from the first own line on is found", () => {
  const turn = fc.tuple(fc.constantFrom(1, 2), fc.nat(3));
  const back = fc.tuple(fc.constant(0), fc.integer({ min: 2, max: 4 }));
  const turns = fc
    .array(fc.tuple(turn, fc.option(turn), back), { minLength: 1, maxLength: 3 })
    .map((rounds) => rounds.flatMap((round) => round.filter((one) => one !== null)));
  fc.assert(
    fc.property(fc.option(back), turns, fc.nat(), fc.nat(), (first, rest, at, where) => {
      const others = rest.filter(([which], i) => which === 0 || which !== rest[i - 1]?.[0]);
      const lines = exchanged(first === null ? others : [first, ...others]);
      const own = lines.filter((one) => one.own).length;
      const { problem, records, foreign } = verified(lines);
      assert.deepEqual([problem, records, foreign], [null, own, lines.length - own]);

      const begins = lines.findIndex((one) => one.own);
      const index = begins + (at % (lines.length - begins));
      const isLast = index === lines.length - 1;
      const there = lines[index]!;
      if (!isLast) assert.notEqual(verified(lines.toSpliced(index, 1)).problem, null, "cut");
      assert.notEqual(verified(lines.toSpliced(index, 0, there)).problem, null, "twice");
      const made = exchanged([[1, where % 3]]);
      if (index > begins) {
        assert.notEqual(verified(lines.toSpliced(index, 0, ...made)).problem, null, "put in");
      }
      if (!there.own) return;
      const edited = { ...there, line: there.line.replace('"type":"', '"type":"x') };
      assert.notEqual(verified(lines.with(index, edited)).problem, null, "edited");
    }),
    { numRuns: 300 },
  );
});

test("T-G09: lines of another key that no own line accounts for are called changed where they begin, and a copy of one accounts for nothing", () => {
  const all = exchanged([
    [0, 2],
    [1, 2],
    [0, 2],
  ]);
  const changed = { line: 4, reason: "it was changed, or is not of this device" };
  assert.deepEqual(verified(all.slice(0, 6)).problem, changed);
  // Own records go on as if nothing stood between.
  const plain = exchanged([[0, 4]]);
  const put = exchanged([
    [0, 2],
    [1, 0],
  ]).at(-1)!;
  const chain = new Chain(hmac, NO_HEAD);
  const { lines } = written(4, chain);
  const { number, mac } = parseLine(lines[2]!)!;
  const forged = sealedEvent(new Chain(hmacs[1]!, { number, mac }), "exchanged");
  assert.deepEqual(verifyAuditFile(lines.toSpliced(3, 0, forged), key).problem, changed);
  assert.deepEqual(verified(plain.toSpliced(3, 0, put)).problem, changed);
  // One after the other, the stretch of the other key and its end once more.
  const again = verified([...all, ...exchanged([[1, 5]]), all[6]!]);
  assert.deepEqual(again.problem, { line: 16, reason: "it stands there twice" });
});

test("lines of another key may go on over files", () => {
  const all = exchanged([
    [0, 2],
    [1, 3],
    [0, 2],
  ]).map(({ line }) => line);
  const verifier = new ChainVerifier(hmac);
  for (const file of [all.slice(0, 4), all.slice(4, 6), all.slice(6)]) {
    for (const line of file) verifier.take(line);
    verifier.endFile();
  }
  const { problem, foreign, records } = verifier.end();
  assert.deepEqual([problem, foreign, records], [null, 4, 6]);
  const cut = new ChainVerifier(hmac);
  for (const file of [all.slice(0, 4), all.slice(4, 6)]) {
    for (const line of file) cut.take(line);
    cut.endFile();
  }
  assert.equal(cut.end().problem?.line, 4);
  assert.equal(cut.problemFile, 0);
});
