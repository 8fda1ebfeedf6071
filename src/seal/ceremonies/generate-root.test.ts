import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "@holdfast/shared/secret";
import { type Event, NONE, type State, step } from "./generate-root.ts";

const share = (byte: number) => Buffer.alloc(33, byte);
const cover = { by: "otp", otp: new Secret("pad") } as const;
const nonces = (nonce: string) => ({ nonce, cancelNonce: `cancel ${nonce}` });
const start = (nonce: string): Event => {
  return { do: "start", nonces: nonces(nonce), now: 0n, cover, required: 2 };
};
const give = (byte: number, nonce: string): Event => ({
  do: "give",
  nonce,
  share: share(byte),
  now: 0n,
});
const cancel = (authorised: boolean, nonce?: string, cancelNonce?: string): Event => {
  return { do: "cancel", authorised, nonce, cancelNonce };
};

function after(...events: Event[]): State {
  return events.reduce<State>((state, event) => step(state, event).state, NONE);
}

const fresh = after(start("a"));
const one = after(start("a"), give(1, "a"));
const all = after(start("a"), give(1, "a"), give(2, "a"));
const three = after(start("a"), ...[1, 2, 3, 4, 5, 6].map((byte) => give(byte, "a")));

/** "none", or nonce and number of shares; with the refusal behind it. */
function show(state: State, event: Event): string {
  const taken = step(state, event);
  const now =
    taken.state.at === "none"
      ? "none"
      : `${taken.state.nonce}:${taken.state.collection.shares.length}`;
  return taken.refusal === null ? now : `${now}, ${taken.refusal.kind} ${taken.refusal.code}`;
}

const table: readonly [name: string, State, Event, outcome: string][] = [
  ["a start", NONE, start("a"), "a:0"],
  ["a start while one runs", one, start("b"), "a:1, invalid ceremony-running"],
  ["a share while none runs", NONE, give(1, "a"), "none, invalid ceremony-not-running"],
  ["a share", fresh, give(1, "a"), "a:1"],
  ["the last share", one, give(2, "a"), "a:2"],
  ["T-F03: a share with another nonce", one, give(2, "b"), "a:1, invalid ceremony-wrong-nonce"],
  ["a share without nonce", one, give(2, ""), "a:1, invalid ceremony-wrong-nonce"],
  ["a repeated share", one, give(1, "a"), "a:1, invalid seal-share-repeated"],
  ["a rejection", all, { do: "reject", now: 0n }, "a:0"],
  ["a rejection while none runs", NONE, { do: "reject", now: 0n }, "none"],
  ["a failure", all, { do: "fail" }, "a:2"],
  ["a failure of three sets", three, { do: "fail" }, "none"],
  ["T-F01: a cancel with the cancel nonce", one, cancel(false, undefined, "cancel a"), "none"],
  ["T-F01: a cancel with the cancel nonce as nonce", one, cancel(false, "cancel a"), "none"],
  [
    "T-F01: a cancel with the nonce that everybody sees",
    one,
    cancel(false, "a"),
    "a:1, denied ceremony-cancel-denied",
  ],
  [
    "T-F01: a cancel with a wrong cancel nonce",
    one,
    cancel(true, "a", "a"),
    "a:1, invalid ceremony-wrong-cancel-nonce",
  ],
  ["T-F01: a cancel with authority", one, cancel(true), "none"],
  ["T-F01: a cancel with both", one, cancel(true, "a"), "none"],
  ["T-F01: a cancel with neither", one, cancel(false), "a:1, denied ceremony-cancel-denied"],
  [
    "T-F01: a cancel with an empty nonce",
    one,
    cancel(false, ""),
    "a:1, denied ceremony-cancel-denied",
  ],
  [
    "T-F01: a cancel with a wrong nonce",
    one,
    cancel(false, "b"),
    "a:1, invalid ceremony-wrong-nonce",
  ],
  [
    "T-F01: authority with a wrong nonce",
    one,
    cancel(true, "b"),
    "a:1, invalid ceremony-wrong-nonce",
  ],
  ["a cancel while none runs", NONE, cancel(false), "none"],
  ["the end", all, { do: "end" }, "none"],
];
for (const [name, state, event, outcome] of table) {
  test(`${name} leads to ${outcome}`, () => assert.equal(show(state, event), outcome));
}

test("shares are handed back to be wiped when they are refused, rejected or cancelled", () => {
  const refused: readonly [State, number, string][] = [
    [NONE, 1, "a"],
    [one, 2, "b"],
    [one, 1, "a"],
  ];
  for (const [state, byte, nonce] of refused) {
    assert.deepEqual(step(state, give(byte, nonce)).dropped, [share(byte)]);
  }
  for (const event of [{ do: "reject", now: 0n }, { do: "end" }, cancel(true)] as const) {
    assert.deepEqual(step(all, event).dropped, [share(1), share(2)]);
  }
  assert.deepEqual(step(one, cancel(false)).dropped, []);
});

test("only the last share completes the attempt", () => {
  assert.equal(step(fresh, give(1, "a")).enough, null);
  assert.deepEqual(step(one, give(2, "a")).enough, all);
});

test("what covers the token cannot be changed while the attempt runs", () => {
  const other = { by: "otp", otp: new Secret("mine") } as const;
  const state = after(start("a"), {
    do: "start",
    nonces: nonces("b"),
    now: 0n,
    cover: other,
    required: 1,
  });
  assert.deepEqual(state, fresh);
});
