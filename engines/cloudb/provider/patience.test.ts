import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { isThrottled } from "@holdfast/plugin-sdk/failure";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import { type PatienceOptions, withPatience } from "./patience.ts";
import { isHarmless, ProviderError } from "../../cloud/provider-error.ts";
import { errorIn } from "./provider-answer.ts";

function provider(status: number, code = "Code", headers = {}): ProviderError {
  const body = { error: { code, message: "Text." } };
  return errorIn({ step: "the step", status, headers, body, secrets: [], finds: true });
}

/** Runs a step over these outcomes, the last again and again, while time passes. */
async function run(
  outcomes: readonly (ProviderError | string)[],
  options: Partial<PatienceOptions> = {},
  passing?: (error: ProviderError) => boolean,
) {
  const world = fakeWorld();
  const limits = { within: 60n * SECOND, stop: [], ...options };
  const at: number[] = [];
  const call = async (_signal: AbortSignal, tries: number) => {
    at.push(Number(world.clock.elapsed() / SECOND));
    const outcome = outcomes[Math.min(tries, outcomes.length - 1)] ?? "";
    if (typeof outcome === "string") return outcome;
    throw outcome;
  };
  let result: unknown = undefined;
  const over = withPatience(world, limits, (patience) => patience.step(call, passing)).then(
    (value) => (result = value),
    (error: unknown) => (result = error),
  );
  for (let i = 0; i < 400 && result === undefined; i++) {
    await world.timers.advance(SECOND / 2n);
    await nextTurn();
  }
  await over;
  return { result, at, world };
}

test("what passes is tried again, what does not is thrown as it is", async () => {
  const hidden = provider(404);
  const found = await run([hidden, hidden, "done"], {}, (error) => error.gone);
  assert.deepEqual([found.result, found.at.length], ["done", 3]);
  const refused = await run([hidden, "done"]);
  assert.deepEqual([refused.result, refused.at.length], [hidden, 1]);
  assert.equal(
    (
      await run([
        new ProviderError({
          step: "s",
          code: "forbidden",
          message: "",
          status: 0,
          requestId: "",
          kind: "unreachable",
          secrets: [],
        }),
        "done",
      ])
    ).at.length,
    1,
  );
});

test("faults of the provider are tried again, a few times", async () => {
  for (const status of [500, 502, 503, 504]) {
    const fault = provider(status);
    assert.equal((await run([fault, "done"])).result, "done");
    const all = await run([fault], { faults: 2 });
    assert.deepEqual([all.result, all.at.length], [fault, 3]);
  }
  assert.equal(
    (await run([provider(409, "Directory_ConcurrencyViolation"), "done"])).result,
    "done",
  );
});

test("a provider that throttles is left alone for as long as it says", async () => {
  const busy = provider(429, "TooMany", { "retry-after": "9" });
  const { result, at } = await run([busy, "done"]);
  assert.equal(result, "done");
  assert.ok(at[1]! - at[0]! >= 9);
  const few = await run([busy], { throttled: 2 });
  assert.deepEqual([few.result, few.at.length], [busy, 3]);
  const long = await run([provider(429, "TooMany", { "retry-after": "600" })]);
  assert.equal(long.at.length, 1, "there is no point in waiting");
  assert.ok(isThrottled(long.result) && long.result.retryAfter === 600);
});

test("when the time is over, the last that the provider said is told with the step", async () => {
  const { result, at, world } = await run([provider(404)], {}, () => true);
  assert.ok(result instanceof Failure);
  assert.equal(result.kind, "upstream");
  assert.equal(result.message, "the step: Code: Text.; gave up after 1m0s");
  assert.ok(at.length > 20 && world.clock.elapsed() <= 61n * SECOND);
  assert.equal(world.timers.armed, 0);
});

test("a step is harmless only where all of its tries were (T-I14)", async () => {
  const refused = provider(403);
  const plain = await run([provider(409, "Directory_ConcurrencyViolation"), refused]);
  assert.equal(plain.result, refused);
  const { result } = await run([provider(502), refused]);
  assert.ok(result instanceof ProviderError && !isHarmless(result));
  assert.deepEqual([result.kind, result.message], ["refused", refused.message]);
  const late = await run([provider(502), provider(404)], {}, () => true);
  assert.ok(late.result instanceof Failure && !isHarmless(late.result));
  const seen = await run([provider(404)], {}, () => true);
  assert.ok(isHarmless(seen.result));
});

test("a call that is cut off when the time is over may have had its effect", async () => {
  const world = fakeWorld();
  const limits = { within: 20n * SECOND, stop: [] };
  const lost = provider(500);
  const call = (signal: AbortSignal, tries: number) =>
    new Promise((_, reject) => {
      if (tries === 0) reject(provider(404));
      signal.addEventListener("abort", () => reject(lost));
    });
  const work = withPatience(world, limits, (patience) => patience.step(call, () => true));
  const step = work.catch((error: unknown) => error);
  for (let i = 0; i < 50; i++) {
    await world.timers.advance(SECOND / 2n);
    await nextTurn();
  }
  const result = await step;
  assert.ok(result instanceof Failure && /Text\.; gave up/.test(result.message));
  assert.equal(isHarmless(result), false);
});

test("whoever stops it ends a pause at once, and nothing stays armed", async () => {
  const world = fakeWorld();
  const stop = new AbortController();
  const limits = { within: 60n * SECOND, stop: [stop.signal] };
  const step = withPatience(world, limits, (patience) =>
    patience.step(() => Promise.reject(provider(503))),
  );
  await nextTurn();
  stop.abort();
  await assert.rejects(step, /^Failure: the step: Code: Text\.; gave up/);
  assert.equal(world.timers.armed, 0);
});

test("an error of our own is no matter of patience", async () => {
  const world = fakeWorld();
  const ours = new Error("ours");
  const limits = { within: SECOND, stop: [] };
  const step = withPatience(world, limits, (patience) => patience.step(() => Promise.reject(ours)));
  await assert.rejects(step, ours);
});
