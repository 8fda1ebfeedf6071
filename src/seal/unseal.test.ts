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
  assert.deepEqual(taken.complete, [share(1), share(2), share(3)]);
  const dropped = step(taken.state, { do: "drop" });
  assert.deepEqual(dropped, { state: IDLE, complete: null, dropped: taken.complete });
});

test("nothing is complete before, and a repeated share is handed back", () => {
  assert.equal(step(IDLE, give(1, "a")).complete, null);
  const repeated = step(after(give(1, "a"), give(2, "a")), give(2, "a"));
  assert.equal(repeated.complete, null);
  assert.deepEqual(repeated.dropped, [share(2)]);
});
