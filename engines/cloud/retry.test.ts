import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld, nextTurn } from "../../tests/support/fake-world.ts";
import { ProviderError, type ProviderErrorKind } from "./provider-error.ts";
import { retried, type RetryRules } from "./retry.ts";

function failure(kind: ProviderErrorKind, code: string = kind): ProviderError {
  const facts = { step: "a step", code, message: "", status: 400, requestId: "" };
  return new ProviderError({ ...facts, kind, secrets: [] });
}

/** What becomes of a call that ends so, and then well. */
async function run(failures: readonly unknown[], rules: Partial<RetryRules> = {}) {
  const { timers, clock } = fakeWorld();
  const { signal } = new AbortController();
  const attempt = async (tries: number) => {
    if (tries >= failures.length) return "well";
    throw failures[tries];
  };
  const usual = { timers, signal, pauseAfter: () => SECOND };
  let result: unknown;
  const running = retried(attempt, { ...usual, ...rules }).then(
    (value) => (result = value),
    (error: unknown) => (result = error),
  );
  for (let i = 0; i < 60 && result === undefined; i++) {
    await timers.advance(SECOND);
    await nextTurn();
  }
  await running;
  return { result, elapsed: clock.elapsed(), armed: timers.armed };
}

test("it is tried again after the pause that its rules say, until it is well or they say no more", async () => {
  const lost = failure("throttled");
  assert.equal((await run([lost, lost])).result, "well");
  const delays: number[] = [];
  const pauseAfter = (_: ProviderError, tries: number) => (delays.push(tries) < 3 ? SECOND : null);
  const ended = await run([lost, lost, lost, lost], { pauseAfter });
  assert.deepEqual([ended.result, delays, ended.armed], [lost, [0, 1, 2], 0]);
});

test("T-I14: after a try that may have had its effect no refusal counts as harmless", async () => {
  const refused = failure("refused", "EntityAlreadyExists");
  const pauseAfter = ({ kind }: ProviderError) => (kind === "refused" ? null : SECOND);
  const { result } = await run([failure("unknown"), failure("throttled"), refused], { pauseAfter });
  assert.ok(result instanceof ProviderError && result.doubtful && !result.harmless);
  assert.equal(result.code, "EntityAlreadyExists");
  const sure = await run([failure("throttled"), refused], { pauseAfter });
  assert.equal(sure.result, refused);
});

test("a call that is cut off leaves doubt about what was said before it", async () => {
  const over = new AbortController();
  const { timers } = fakeWorld();
  const said = failure("throttled", "SlowDown");
  const attempt = async (tries: number) => {
    if (tries === 0) throw said;
    over.abort();
    throw failure("unknown", "TimedOut");
  };
  const seen: ProviderError[] = [];
  const timeOver = (failed: ProviderError, last: ProviderError) => {
    seen.push(failed, last);
    return last;
  };
  const rules = { timers, signal: over.signal, pauseAfter: () => SECOND, timeOver };
  const running = retried(attempt, rules).catch((error: unknown) => error);
  await nextTurn();
  await timers.advance(SECOND);
  assert.equal(await running, seen[1]);
  assert.deepEqual(
    seen.map(({ code, harmless }) => [code, harmless]),
    [
      ["TimedOut", false],
      ["SlowDown", false],
    ],
  );
});

test("a pause that would outlast the time is not begun, and one that is cut short ends the call", async () => {
  const said = failure("throttled");
  const short = await run([said], { left: () => SECOND, timeOver: () => "over" });
  assert.deepEqual([short.result, short.armed], ["over", 0]);
  const { timers } = fakeWorld();
  const stop = new AbortController();
  let tries = 0;
  const attempt = () => Promise.reject(tries++ === 0 ? said : new Error("tried again"));
  const cut = retried(attempt, { timers, signal: stop.signal, pauseAfter: () => 60n * SECOND });
  await nextTurn();
  stop.abort();
  await assert.rejects(cut, said);
  assert.deepEqual([tries, timers.armed], [1, 0]);
});

test("an error that is no word of the provider is thrown at once", async () => {
  const ours = new Error("ours");
  assert.equal((await run([ours])).result, ours);
});
