import assert from "node:assert/strict";
import test from "node:test";
import { FairShare } from "./fair-share.ts";

const LIMITS = { all: 120, perAddress: 100, part: 1 };

function fill(share: FairShare, client: string | null): number {
  let taken = 0;
  while (share.take(client, 1, LIMITS)) taken++;
  return taken;
}

test("one address gets half, the next half of what is left, and each finds something", () => {
  const share = new FairShare();
  assert.deepEqual(
    ["a", "b", "c", "d"].map((client) => fill(share, client)),
    [60, 30, 15, 7],
  );
  assert.equal(share.all, 112);
  share.giveBack("a", 60);
  share.giveBack("b", 30);
  assert.equal(fill(share, "c"), 41, "as much as is left");
});

test("with a small part of what is left, many addresses together leave something", () => {
  const share = new FairShare();
  const limits = { all: 9000, perAddress: 9000, part: 1 / 8 };
  const fillOne = (client: string) => {
    let taken = 0;
    while (share.take(client, 1, limits)) taken++;
    return taken;
  };
  assert.equal(fillOne("first"), 1000);
  for (let i = 0; i < 19; i++) fillOne(`other ${i}`);
  assert.ok(9000 - share.all > 800, String(share.all));
});

test("an address has its own bound too, and one that speaks for many has that of all", () => {
  const limits = { all: 120, perAddress: 10, part: 1 };
  const share = new FairShare();
  assert.equal(share.take("a", 10, limits), true);
  assert.equal(share.take("a", 1, limits), false);
  assert.equal(fill(share, null), 110);
  share.giveBack(null, 110);
  share.giveBack("a", 10);
  assert.equal(share.all, 0);
});

test("the first is taken whatever its size; nothing goes beyond the whole after that", () => {
  const share = new FairShare();
  assert.equal(share.take("a", 500, LIMITS), true);
  assert.equal(share.take("b", 1, LIMITS), false);
  share.giveBack("a", 500);
  assert.equal(share.take("b", 100, LIMITS), true);
  assert.equal(share.take("c", 21, LIMITS), false);
  assert.equal(share.take("c", 20, LIMITS), true);
});
