import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { sealed } from "./failures.ts";
import { Running } from "./running.ts";

function stage() {
  const { clock, timers } = fakeWorld();
  const running = new Running(clock, timers);
  const request = running.begin("1", "POST", "192.0.2.1");
  const leaving = new AbortController();
  const { promise: turn, resolve: give } = Promise.withResolvers<string>();
  const waited = running.wait(request, turn, { refusal: sealed, signal: leaving.signal });
  waited.catch(() => {});
  return { running, request, leaving, give, waited };
}

test("who waits for a turn leaves when its client is gone, at once if it is already", async () => {
  const gone = new Failure("unavailable", "client-gone", "the client is gone");
  const { leaving, waited, request, running } = stage();
  assert.equal(request.waits, true);
  leaving.abort(gone);
  await assert.rejects(waited, gone);
  assert.equal(request.waits, false);
  const never = new Promise<never>(() => {});
  const again = running.wait(request, never, { refusal: sealed, signal: leaving.signal });
  await assert.rejects(again, gone);
});

test("whose turn comes goes on", async () => {
  const { give, waited, request } = stage();
  give("its turn");
  assert.equal(await waited, "its turn");
  assert.equal(request.waits, false);
});

test("a seal refuses those that wait", async () => {
  const { running, waited, request } = stage();
  const drained = running.drained(1n);
  await assert.rejects(waited, /sealed/);
  running.end(request);
  assert.equal(await drained, 0);
});
