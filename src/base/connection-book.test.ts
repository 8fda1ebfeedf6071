import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { type Busy, ConnectionBook, type Seat } from "./connection-book.ts";

const LIMITS = {
  connections: 12_000,
  connectionsPerAddress: 200,
  connectionsPerLocalAddress: 2_000,
};

/** A book, and the connections in it that say what they are and are looked at. */
function makeBook(limits: Partial<typeof LIMITS> = {}) {
  const book = new ConnectionBook();
  const dropped: string[] = [];
  const state = { looks: 0 };
  const enter = (place: string | null, busy: Busy, name = place ?? ""): Seat | null => {
    const seat = book.enter(place, false, { ...LIMITS, ...limits });
    if (seat === null) return null;
    seat.holder = {
      get busy() {
        state.looks++;
        return busy;
      },
      drop: () => void dropped.push(name),
    };
    return seat;
  };
  return { book, enter, dropped, state };
}

test("T-N03: with a full book a look at a few hundred connections decides, whatever they are doing", () => {
  for (const busy of ["idle", "sending", "working"] as const) {
    const { enter, state } = makeBook();
    for (let i = 0; i < 12_000; i++) assert.ok(enter(`place ${i}`, busy));
    state.looks = 0;
    for (let i = 0; i < 50; i++)
      assert.equal(enter(`new ${i}`, "idle") !== null, busy !== "working");
    assert.ok(state.looks <= 50 * 200, `${state.looks} looks`);
  }
});

test("the same holds for an address that has as many as it may", () => {
  const { book, state } = makeBook();
  const enter = () => book.enter("127.0.0.1", true, LIMITS);
  const holder = {
    get busy(): Busy {
      state.looks++;
      return "idle";
    },
    drop: () => {},
  };
  for (let i = 0; i < 2000; i++) enter()!.holder = holder;
  state.looks = 0;
  for (let i = 0; i < 50; i++) enter()!.holder = holder;
  assert.ok(state.looks <= 50 * 200, `${state.looks} looks`);
  assert.equal(book.all, 2000);
});

test("T-N03: each look is at other connections, so that the one that can go is found", () => {
  const { enter, dropped } = makeBook();
  for (let i = 0; i < 12_000; i++) {
    assert.ok(enter(`place ${i}`, i === 7_777 ? "idle" : "working"));
  }
  let tries = 0;
  while (tries < 60 && enter("new", "working") === null) tries++;
  assert.ok(tries > 0 && tries < 60, `${tries} tries`);
  assert.deepEqual(dropped, ["place 7777"]);
});

test("of as many as are looked at it is the one that is missed least, the oldest of those", () => {
  const { enter, dropped } = makeBook({ connections: 8 });
  const kinds = ["working", "sending", "idle", "beginning"] as const;
  for (const age of ["old", "young"]) {
    for (const busy of kinds) enter(`${age} ${busy}`, busy);
  }
  for (let i = 0; i < 6; i++) assert.ok(enter(`new ${i}`, "working"));
  assert.equal(enter("one too many", "working"), null);
  assert.deepEqual(dropped, [
    "old beginning",
    "young beginning",
    "old idle",
    "young idle",
    "old sending",
    "young sending",
  ]);
});

test("T-N03: who has many gives way to who has few, whatever either has said so far", () => {
  const { enter, dropped } = makeBook({ connections: 100 });
  for (let i = 0; i < 10; i++) enter(`single ${i}`, "beginning");
  for (let i = 0; i < 90; i++) enter("flood", "sending");
  for (let i = 0; i < 20; i++) assert.ok(enter(`new ${i}`, "beginning"));
  assert.deepEqual(new Set(dropped), new Set(["flood"]));
});

test("T-N03: who has many takes no place of those who have few, but of its own", () => {
  const { enter, dropped } = makeBook({ connections: 100 });
  for (let i = 0; i < 10; i++) enter(`single ${i}`, "idle");
  for (let i = 0; i < 89; i++) enter("flood", "working");
  enter("flood", "sending", "flood's own");
  assert.ok(enter("flood", "working"));
  assert.equal(enter("flood", "working"), null);
  assert.deepEqual(dropped, ["flood's own"]);
  assert.ok(enter("one more", "working"), "another may");
  assert.deepEqual(dropped, ["flood's own", "single 0"]);
});

test("what has left counts no more towards what addresses have", () => {
  const { book, enter, dropped } = makeBook({ connections: 20 });
  for (let i = 0; i < 100; i++) book.leave(enter("gone", "idle")!);
  enter("single", "beginning");
  for (let i = 0; i < 19; i++) enter("flood", "idle");
  assert.ok(enter("new", "beginning"));
  assert.deepEqual(dropped, ["flood"]);
});

test("a proxy that is believed speaks for many, and is as one that has few", () => {
  const { enter, dropped } = makeBook({ connections: 20 });
  for (let i = 0; i < 10; i++) enter(null, "idle", "proxy");
  for (let i = 0; i < 8; i++) enter("flood", "idle");
  for (let i = 0; i < 2; i++) enter(`single ${i}`, "idle");
  for (let i = 0; i < 3; i++) assert.ok(enter(null, "idle", "proxy"));
  assert.deepEqual(dropped, ["flood", "flood", "flood"]);
});

test("T-N03: who has left is let go, also where nobody ever had to make room", async () => {
  const { book, enter } = makeBook();
  enter("stays", "idle");
  // Many at once, again and again: the table behind a set is made anew with those who are in it.
  const crowd = (): WeakRef<Seat>[] => {
    const seats = Array.from({ length: 64 }, (_, i) => enter(`place ${i % 7}`, "idle")!);
    for (const seat of seats) book.leave(seat);
    return seats.map((seat) => new WeakRef(seat));
  };
  const left = Array.from({ length: 20 }, crowd).flat();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const remaining = () => left.filter((seat) => seat.deref() !== undefined).length;
  for (let i = 0; i < 20 && remaining() > 0; i++) {
    await nextTurn();
    collect();
  }
  assert.equal(remaining(), 0);
  assert.equal(book.all, 1);
});
