import assert from "node:assert/strict";
import { test } from "node:test";
import { type Event, IDLE, progressOf, type State, step } from "./unseal.ts";

const share = (byte: number) => Buffer.alloc(33, byte);
const give = (byte: number, freshNonce: string): Event => {
  return { do: "give", share: share(byte), required: 3, freshNonce };
};

function after(...events: Event[]): State {
  return events.reduce<State>((state, event) => step(state, event).state, IDLE);
}

const table: readonly [name: string, State, progress: number, nonce: string][] = [
  ["nothing", after(), 0, ""],
  ["the first share", after(give(1, "a")), 1, "a"],
  ["a second share", after(give(1, "a"), give(2, "b")), 2, "a"],
  ["the same share twice", after(give(1, "a"), give(1, "b")), 1, "a"],
  ["a drop", after(give(1, "a"), { do: "drop" }), 0, ""],
  ["a drop of nothing", after({ do: "drop" }), 0, ""],
  ["a share after a drop", after(give(1, "a"), { do: "drop" }, give(1, "c")), 1, "c"],
];
for (const [name, state, progress, nonce] of table) {
  test(`after ${name} the progress is ${progress} and the nonce "${nonce}"`, () => {
    assert.deepEqual(progressOf(state), { progress, nonce });
  });
}

test("the last share completes the attempt, and dropping hands back all of them", () => {
  const state = after(give(1, "a"), give(2, "a"));
  const taken = step(state, give(3, "a"));
  assert.deepEqual(taken.enough?.shares, [share(1), share(2), share(3)]);
  const dropped = step(taken.state, { do: "drop" });
  assert.deepEqual(dropped, {
    state: IDLE,
    enough: null,
    kept: false,
    dropped: taken.enough?.shares,
  });
});

test("nothing is complete before, and a repeated share is handed back", () => {
  assert.equal(step(IDLE, give(1, "a")).enough, null);
  const repeated = step(after(give(1, "a"), give(2, "a")), give(2, "a"));
  assert.equal(repeated.enough, null);
  assert.deepEqual(repeated.dropped, [share(2)]);
});

test("a wrong set is kept, and three of them are dropped", () => {
  const failed = step(after(give(1, "a"), give(2, "a"), give(3, "a")), { do: "fail" });
  assert.equal(failed.kept, true);
  assert.deepEqual(progressOf(failed.state), { progress: 2, nonce: "a" });
  const nine = [4, 5, 6, 7, 8, 9].reduce(
    (at, byte) => step(at, give(byte, "x")).state,
    failed.state,
  );
  const spent = step(nine, { do: "fail" });
  assert.equal(spent.kept, false);
  assert.deepEqual(spent.state, IDLE);
  assert.equal(spent.dropped.length, 9);
});

test("right shares wait with those beside them gone, take no more, and go when dropped", () => {
  const first = step(after(give(1, "a"), give(2, "a"), give(3, "a")), { do: "fail" });
  const four = step(first.state, give(4, "x"));
  const right = [0, 2, 3].map((i) => four.enough!.shares[i]!);
  const waiting = step(four.state, { do: "wait", shares: right });
  assert.deepEqual(waiting.dropped, [share(2)]);
  assert.deepEqual(progressOf(waiting.state), { progress: 3, nonce: "a" });
  const more = step(waiting.state, give(5, "x"));
  assert.equal(more.state, waiting.state);
  assert.deepEqual(more.dropped, [share(5)]);
  assert.deepEqual(step(waiting.state, { do: "drop" }).dropped, right);
});
