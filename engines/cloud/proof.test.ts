import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld, nextTurn } from "../../tests/support/fake-world.ts";
import { prove, type ProofRules } from "./proof.ts";
import { ProviderError } from "./provider-error.ts";

function refusal(code = "InvalidClientTokenId"): ProviderError {
  const facts = { step: "sts:GetCallerIdentity", code, message: "", status: 403, requestId: "" };
  return new ProviderError({ ...facts, kind: "refused", secrets: [] });
}

/** Tries that end as `outcomes` say, "+" well and "-" badly, the last again and again. */
async function run(outcomes: string, rules: Partial<ProofRules> = {}) {
  const { timers, clock } = fakeWorld();
  const over = new AbortController();
  let tries = 0;
  const attempt = async () => {
    const outcome = outcomes.charAt(Math.min(tries++, outcomes.length - 1));
    if (outcome === "-") throw refusal();
  };
  const proving = prove(attempt, { timers, signal: over.signal, every: SECOND, ...rules });
  let ended = false;
  void proving.then(() => (ended = true));
  for (let second = 0; second < 60 && !ended; second++) {
    await timers.advance(SECOND);
    await nextTurn();
  }
  over.abort();
  return { proof: await proving, tries, armed: timers.armed, elapsed: clock.elapsed() };
}

test("three successes prove a credential, and only in a row", async () => {
  const plain = await run("+++");
  assert.deepEqual([plain.proof, plain.tries], [{ proved: true }, 3]);
  const broken = await run("++-++-+++");
  assert.deepEqual([broken.proof.proved, broken.tries], [true, 9]);
  const never = await run("++-++-++-++-++-++-++-++-++-++-++-++-++-++-++-++-++-++-++-++-++-");
  assert.equal(never.proof.proved, false);
});

test("when it is given up, what the provider said last is told", async () => {
  const { proof, tries, armed } = await run("-", { goOn: (count) => count < 5 });
  assert.ok(!proof.proved && proof.why?.code === "InvalidClientTokenId");
  assert.deepEqual([tries, armed], [5, 0]);
});

test("nothing is tried once the time is over", async () => {
  const { proof, tries } = await run("+", { signal: AbortSignal.abort() });
  assert.deepEqual([proof, tries], [{ proved: false, why: null }, 0]);
});

test("an error that is no word of the provider is thrown", async () => {
  const { timers } = fakeWorld();
  const { signal } = new AbortController();
  const ours = new Error("ours");
  const attempt = () => Promise.reject(ours);
  await assert.rejects(prove(attempt, { timers, signal, every: SECOND }), ours);
});
