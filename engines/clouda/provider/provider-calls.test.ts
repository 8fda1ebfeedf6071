import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { NO_SERVICES } from "@holdfast/plugin-sdk/engine-services";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import { ProviderError, type ProviderErrorFacts } from "../../cloud/provider-error.ts";
import { ProviderCalls } from "./provider-calls.ts";

function failure(facts: Partial<ProviderErrorFacts> = {}): ProviderError {
  const usual = { step: "iam:GetUser", code: "X", message: "", status: 400, requestId: "" };
  return new ProviderError({ ...usual, kind: "refused", secrets: [], ...facts });
}

interface Rules {
  readonly maxRetries?: number;
  readonly keyMade?: bigint | null;
  readonly resend?: boolean;
  readonly patient?: boolean;
}

/** What becomes of a call that goes wrong in these ways, and then well. */
async function outcome(failures: readonly unknown[], rules: Rules = {}) {
  const world = fakeWorld();
  const results: string[] = [];
  const metrics = {
    ...NO_SERVICES.metrics,
    observe: (_name: string, _seconds: number, labels: Readonly<Record<string, string>> = {}) =>
      void results.push(`${labels["action"]} ${labels["result"]}`),
  };
  const needs = { ...world, metrics } as unknown as EngineNeeds;
  const { maxRetries = -1, keyMade = null, patient = false } = rules;
  const calls = new ProviderCalls(needs, { maxRetries, keyMade, patient });
  const left = [...failures];
  const attempt = async () => {
    if (left.length === 0) return "well";
    throw left.shift();
  };
  const { signal } = new AbortController();
  const { resend = true } = rules;
  let ended: unknown = null;
  const running = calls.run("iam:GetUser", signal, attempt, { resend }).then(
    (value) => (ended = value),
    (error: unknown) => (ended = error),
  );
  while (ended === null) {
    await world.timers.advance(SECOND);
    await nextTurn();
  }
  await running;
  return { ended, attempts: failures.length - left.length + (ended === "well" ? 1 : 0), results };
}

const throttled = failure({ kind: "throttled", code: "Throttling" });
const unknown = failure({ kind: "unknown", status: 500 });

test("throttling and faults are tried three times in all, or as often as max_retries says", async () => {
  assert.equal((await outcome([throttled, unknown])).ended, "well");
  const often = await outcome([throttled, throttled, throttled, throttled]);
  assert.deepEqual([often.attempts, often.ended instanceof ProviderError], [3, true]);
  assert.equal((await outcome([throttled], { maxRetries: 0 })).attempts, 1);
  assert.equal((await outcome(Array(5).fill(unknown), { maxRetries: 5 })).ended, "well");
});

test("jobs wait throttling out for longer, and nothing else; max_retries counts for them too", async () => {
  const job = { patient: true };
  assert.equal((await outcome(Array(7).fill(throttled), job)).ended, "well");
  assert.equal((await outcome(Array(9).fill(throttled), job)).attempts, 8);
  assert.equal((await outcome(Array(9).fill(unknown), job)).attempts, 3);
  assert.equal((await outcome([throttled], { ...job, maxRetries: 0 })).attempts, 1);
});

test("a refusal is not tried again, LimitExceeded least of all", async () => {
  for (const code of ["AccessDenied", "LimitExceeded", "NoSuchEntity"]) {
    assert.equal((await outcome([failure({ code })])).attempts, 1);
  }
});

test("what may have been made is not made twice where that is asked", async () => {
  assert.equal((await outcome([unknown], { resend: false })).attempts, 1);
  assert.equal((await outcome([throttled], { resend: false })).ended, "well");
});

test("a refusal after an answer that was lost is doubtful", async () => {
  const { ended } = await outcome([unknown, failure({ code: "EntityAlreadyExists" })]);
  assert.ok(ended instanceof ProviderError && ended.doubtful && !ended.harmless);
  const sure = await outcome([throttled, failure({ code: "EntityAlreadyExists" })]);
  assert.ok(sure.ended instanceof ProviderError && !sure.ended.doubtful);
});

test("a wait that the provider asks for is kept if it is short, and told if it is long", async () => {
  const short = failure({ kind: "throttled", retryAfter: 3 });
  assert.equal((await outcome([short])).ended, "well");
  const long = failure({ kind: "throttled", retryAfter: 60 });
  assert.equal((await outcome([long])).attempts, 1);
});

test("a fresh root key that is not known everywhere yet is tried for ten seconds", async () => {
  const unknownKey = failure({ code: "InvalidClientTokenId", status: 403 });
  const six = Array(6).fill(unknownKey);
  assert.equal((await outcome(six, { keyMade: 0n, maxRetries: 0 })).ended, "well");
  assert.equal((await outcome(six, { maxRetries: 0 })).attempts, 1);
  const long = await outcome(Array(30).fill(unknownKey), { keyMade: 0n });
  assert.ok(long.ended instanceof ProviderError);
});

test("calls are counted by action and result; an error of the library tells nothing of itself", async () => {
  const secret = new Error("answer was <SecretAccessKey>abc</SecretAccessKey>");
  const { ended, results } = await outcome([throttled, secret, secret]);
  assert.deepEqual(results, ["GetUser throttled", "GetUser failed", "GetUser failed"]);
  assert.ok(ended instanceof ProviderError && !ended.message.includes("abc"));
});
