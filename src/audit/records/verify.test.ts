import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { text } from "@holdfast/shared/bytes";
import { SystemRandom } from "../../system/random.ts";
import { freshKey } from "../../crypto/aead.ts";
import type { ChainEvent } from "../../signed/audit-line.ts";
import { Chain } from "./chain.ts";
import { Hmac } from "../../crypto/hmac.ts";
import { LineBuffer } from "../devices/line-buffer.ts";
import { verifyAuditFile } from "./verify.ts";

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
