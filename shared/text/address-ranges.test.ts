import assert from "node:assert/strict";
import { BlockList } from "node:net";
import test from "node:test";
import fc from "fast-check";
import { AddressRanges } from "./address-ranges.ts";

test("an address is in a list when it is in one of its ranges, of its own family", () => {
  const ranges = AddressRanges.read(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);
  assert.ok(ranges !== null);
  for (const inside of ["10.255.0.1", "192.0.2.7", "::ffff:10.1.2.3", "2001:db8::1"]) {
    assert.equal(ranges.has(inside), true, inside);
  }
  for (const outside of ["11.0.0.1", "192.0.2.8", "2001:db9::1", "::1", "", "pipe", "10.0.0"]) {
    assert.equal(ranges.has(outside), false, outside);
  }
  assert.deepEqual(ranges.texts, ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);
});

test("a list with anything else in it is no list", () => {
  for (const text of [
    "",
    "10.0.0.0/33",
    "10.0.0/8",
    "host",
    "10.0.0.0/8/8",
    "::/129",
    "010.0.0.1",
  ]) {
    assert.equal(AddressRanges.read(["10.0.0.1", text]), null, text);
  }
});

test("one list covers another when each range of that lies in a range of this", () => {
  const covers = (outer: string[], inner: string[]) =>
    AddressRanges.of(outer).covers(AddressRanges.of(inner));
  assert.equal(covers(["10.0.0.0/8"], ["10.1.0.0/16", "10.2.3.4"]), true);
  assert.equal(covers(["10.0.0.0/8"], ["10.0.0.0/8"]), true);
  assert.equal(covers(["10.0.0.0/8"], ["10.0.0.0/7"]), false);
  assert.equal(covers(["10.0.0.0/8"], ["10.0.0.1", "11.0.0.1"]), false);
  assert.equal(covers(["::/0"], ["10.0.0.1"]), false);
  assert.equal(covers([], ["10.0.0.1"]), false);
  assert.equal(covers([], []), true);
});

test("it agrees with the runtime's own list", () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const address = fc.tuple(fc.constantFrom(10, 11), byte, byte, byte).map((four) => four.join("."));
  fc.assert(
    fc.property(address, address, fc.integer({ min: 0, max: 32 }), (at, of, length) => {
      const list = new BlockList();
      list.addSubnet(of, length, "ipv4");
      assert.equal(AddressRanges.of([`${of}/${length}`]).has(at), list.check(at, "ipv4"));
    }),
  );
});
