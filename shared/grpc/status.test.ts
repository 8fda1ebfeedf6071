import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { HOUR, MILLISECOND, SECOND } from "../text/duration.ts";
import { often } from "../../tests/support/often.ts";
import { readTimeout, showTimeout } from "./headers.ts";
import { MessageRoom } from "./message-room.ts";
import { decodeText, encodeText, readStatus, Status } from "./status.ts";

const MIB = 1024 * 1024;

test("a text goes through a header, whatever is in it", () => {
  assert.equal(encodeText("50 % – ja\n"), "50 %25 %E2%80%93 ja%0A");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
      assert.match(encodeText(text), /^[\x20-\x7e]*$/);
      assert.equal(decodeText(encodeText(text)), text);
    }),
    { numRuns: often(200) },
  );
  assert.equal(decodeText("100 % %zz %"), "100 % %zz %");
  assert.ok(encodeText("x".repeat(100_000)).length <= 1024);
});

test("a status of a peer is one of the protocol's, or unknown", () => {
  assert.equal(readStatus("0", undefined), null);
  assert.deepEqual(
    [readStatus("14", "a%20b")?.status, readStatus("14", "a%20b")?.message],
    [14, "a b"],
  );
  for (const code of [undefined, "", "-1", "17", "99", "1e1", "0x0", ["0", "0"]]) {
    assert.equal(readStatus(code, "x")?.status, Status.unknown, String(code));
  }
  assert.equal(readStatus("2", "caf%C3%A9%0A%1B[31m%E2%80%AEx")?.message, "café??[31m?x");
  assert.ok((readStatus("2", "x".repeat(1_000_000))?.message.length ?? 0) <= 1024);
});

test("a timeout has eight digits at most, and is never shorter on the wire", () => {
  assert.equal(showTimeout(5n * SECOND), "5000000u");
  assert.equal(showTimeout(1n), "1n");
  assert.equal(showTimeout(-1n), "1n");
  assert.equal(showTimeout(100_000_000n * HOUR), "99999999H");
  assert.equal(readTimeout("250m"), 250n * MILLISECOND);
  for (const text of ["", "5", "S", "-5S", "5s", "123456789S", "5 S", "1.5S"]) {
    assert.equal(readTimeout(text), undefined, text);
  }
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10_000_000n * HOUR }), (timeout) => {
      const read = readTimeout(showTimeout(timeout)) ?? 0n;
      assert.ok(read >= timeout && Number(read - timeout) <= Number(timeout) / 1_000_000 + 1);
    }),
    { numRuns: often(200) },
  );
});

test("room is taken in order, given back once, and small messages need none", async () => {
  const room = new MessageRoom(10 * MIB);
  assert.throws(() => room.take(11 * MIB), /larger than there is room/);
  const first = room.take(6 * MIB);
  await first.ready;
  const order: string[] = [];
  const second = room.take(6 * MIB);
  const third = room.take(MIB);
  const left = room.take(5 * MIB);
  void second.ready.then(() => order.push("second"));
  void third.ready.then(() => order.push("third"));
  room.take(1000).giveBack();
  await Promise.resolve();
  assert.deepEqual([order, room.taken], [[], 6 * MIB], "those behind the second wait for it");
  left.giveBack(); // gave up waiting
  await left.ready;
  first.giveBack();
  first.giveBack();
  await third.ready;
  assert.deepEqual([order, room.taken], [["second", "third"], 7 * MIB]);
  second.giveBack();
  third.giveBack();
  assert.equal(room.taken, 0);
});
