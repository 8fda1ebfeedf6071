import assert from "node:assert/strict";
import { test } from "node:test";
import { SystemRandom } from "../../system/random.ts";
import { freshKey } from "../../crypto/aead.ts";
import { type Event, NONE, type Plan, type State, step } from "./rekey.ts";

const share = (byte: number) => Buffer.alloc(33, byte);
const plan: Plan = {
  scheme: { shares: 3, threshold: 2, pgpFingerprints: [] },
  pgpKeys: [],
  backup: false,
  verify: true,
};
const key = freshKey(new SystemRandom());
const fresh = { key, rootKey: key, messages: [] };
const nonces = (nonce: string) => ({ nonce, cancelNonce: `cancel ${nonce}` });
const start = (nonce: string): Event => {
  return { do: "start", nonces: nonces(nonce), now: 0n, plan, required: 2 };
};
const give = (byte: number, nonce: string): Event => ({
  do: "give",
  nonce,
  share: share(byte),
  now: 0n,
});
const giveNew = (byte: number, nonce: string): Event => {
  return { do: "give-new", nonce, share: share(byte), now: 0n };
};
const handOut: Event = { do: "hand-out", freshNonce: "v", fresh };
const cancel = (authorised: boolean, nonce?: string): Event => ({
  do: "cancel",
  authorised,
  nonce,
});
const restart = (authorised: boolean, nonce?: string): Event => {
  return { do: "restart-verification", freshNonce: "w", authorised, nonce };
};

function after(...events: Event[]): State {
  return events.reduce<State>((state, event) => step(state, event).state, NONE);
}

const begun = after(start("a"));
const one = after(start("a"), give(1, "a"));
const all = after(start("a"), give(1, "a"), give(2, "a"));
const six = [1, 2, 3, 4, 5, 6];
const three = after(start("a"), ...six.map((byte) => give(byte, "a")));
const threeNew = after(
  start("a"),
  give(1, "a"),
  give(2, "a"),
  handOut,
  ...six.map((byte) => giveNew(byte, "v")),
);
const verifying = after(start("a"), give(1, "a"), give(2, "a"), handOut);
const oneNew = after(start("a"), give(1, "a"), give(2, "a"), handOut, giveNew(5, "v"));

function show(state: State, event: Event): string {
  const { state: next, refusal, enough } = step(state, event);
  const shares = next.at === "none" ? "" : `:${next.collection.shares.length}`;
  const nonce =
    next.at === "none" ? "" : ` ${next.at === "verifying" ? next.verificationNonce : next.nonce}`;
  const said = refusal === null ? "" : `, ${refusal.kind} ${refusal.code}`;
  return `${next.at}${nonce}${shares}${enough ? ", enough" : ""}${said}`;
}

const table: readonly [name: string, State, Event, outcome: string][] = [
  ["a start", NONE, start("a"), "collecting a:0"],
  ["a start while one runs", one, start("b"), "collecting a:1, invalid ceremony-running"],
  ["a start while one verifies", oneNew, start("b"), "verifying v:1, invalid ceremony-running"],
  ["a share while none runs", NONE, give(1, "a"), "none, invalid ceremony-not-running"],
  ["a share", begun, give(1, "a"), "collecting a:1"],
  ["the last share", one, give(2, "a"), "collecting a:2, enough"],
  [
    "T-F03: a share with another nonce",
    one,
    give(2, "b"),
    "collecting a:1, invalid ceremony-wrong-nonce",
  ],
  ["a repeated share", one, give(1, "a"), "collecting a:1, invalid seal-share-repeated"],
  ["a rejection", all, { do: "reject", now: 0n }, "collecting a:0"],
  ["handing out", all, handOut, "verifying v:0"],
  ["handing out while none runs", NONE, handOut, "none, invalid ceremony-not-running"],
  [
    "a present share while verifying",
    verifying,
    give(3, "a"),
    "verifying v:0, invalid rekey-verifying",
  ],
  [
    "a new share while collecting",
    one,
    giveNew(5, "a"),
    "collecting a:1, invalid ceremony-not-running",
  ],
  ["a new share", verifying, giveNew(5, "v"), "verifying v:1"],
  [
    "a new share with the rekey's nonce",
    verifying,
    giveNew(5, "a"),
    "verifying v:0, invalid ceremony-wrong-nonce",
  ],
  ["a repeated new share", oneNew, giveNew(5, "v"), "verifying v:1, invalid seal-share-repeated"],
  ["the last new share", oneNew, giveNew(6, "v"), "verifying v:2, enough"],
  ["a rejection of new shares", oneNew, { do: "reject", now: 0n }, "verifying v:0"],
  ["a restart with the cancel nonce", oneNew, restart(false, "cancel a"), "verifying w:0"],
  [
    "T-F01: a restart with the nonce that everybody sees",
    oneNew,
    restart(false, "v"),
    "verifying v:1, denied ceremony-cancel-denied",
  ],
  ["a failure", all, { do: "fail" }, "collecting a:2"],
  ["a failure of three sets", three, { do: "fail" }, "none"],
  ["a failure of three sets of new shares", threeNew, { do: "fail" }, "verifying v:0"],
  ["a restart with authority", oneNew, restart(true), "verifying w:0"],
  [
    "T-F01: a restart with neither",
    oneNew,
    restart(false),
    "verifying v:1, denied ceremony-cancel-denied",
  ],
  [
    "T-F01: a restart with a wrong nonce",
    oneNew,
    restart(true, "a"),
    "verifying v:1, invalid ceremony-wrong-nonce",
  ],
  [
    "a restart while collecting",
    one,
    restart(true),
    "collecting a:1, invalid ceremony-not-running",
  ],
  ["T-F01: a cancel with the cancel nonce", one, cancel(false, "cancel a"), "none"],
  [
    "T-F01: a cancel with the nonce that everybody sees",
    one,
    cancel(false, "a"),
    "collecting a:1, denied ceremony-cancel-denied",
  ],
  ["T-F01: a cancel with authority", one, cancel(true), "none"],
  [
    "T-F01: a cancel with neither",
    one,
    cancel(false),
    "collecting a:1, denied ceremony-cancel-denied",
  ],
  [
    "T-F01: a cancel with a wrong nonce",
    one,
    cancel(false, "b"),
    "collecting a:1, invalid ceremony-wrong-nonce",
  ],
  [
    "T-F01: authority with a wrong nonce",
    one,
    cancel(true, "b"),
    "collecting a:1, invalid ceremony-wrong-nonce",
  ],
  ["a cancel while verifying", oneNew, cancel(false, "cancel a"), "none"],
  ["a cancel while none runs", NONE, cancel(false), "none"],
  ["the end", oneNew, { do: "end" }, "none"],
];
for (const [name, state, event, outcome] of table) {
  test(`${name} leads to ${outcome}`, () => assert.equal(show(state, event), outcome));
}

test("shares are handed back to be wiped wherever they are given up", () => {
  const present = [share(1), share(2)];
  assert.deepEqual(step(all, handOut).dropped, present);
  assert.deepEqual(step(all, { do: "reject", now: 0n }).dropped, present);
  assert.deepEqual(step(all, { do: "end" }).dropped, present);
  assert.deepEqual(step(all, cancel(true)).dropped, present);
  assert.deepEqual(step(oneNew, restart(true)).dropped, [share(5)]);
  for (const state of [NONE, verifying])
    assert.deepEqual(step(state, give(9, "x")).dropped, [share(9)]);
  for (const state of [NONE, one])
    assert.deepEqual(step(state, giveNew(9, "x")).dropped, [share(9)]);
  for (const nonce of ["x", "v"])
    assert.deepEqual(step(oneNew, giveNew(5, nonce)).dropped, [share(5)]);
});

test("verification waits for as many shares as the new threshold says", () => {
  const three = { ...plan, scheme: { shares: 5, threshold: 3, pgpFingerprints: [] } };
  const state = after(
    { do: "start", nonces: nonces("a"), now: 0n, plan: three, required: 1 },
    give(1, "a"),
    handOut,
  );
  assert.equal(state.at === "verifying" && state.collection.required, 3);
});
