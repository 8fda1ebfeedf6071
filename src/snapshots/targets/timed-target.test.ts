import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import { StoreError } from "./store-error.ts";
import type { PutOptions, Source, Target } from "./target.ts";
import { TimedTarget } from "./timed-target.ts";

const MIB = 1024 * 1024;
const SOURCE: Source = {
  size: 64 * MIB,
  sha256: Buffer.alloc(32),
  read: () => assert.fail("nobody reads it here"),
};

/** Nothing that is not said. */
function stage(change: Partial<Target>) {
  const { clock, timers } = fakeWorld();
  const none = () => assert.fail("not asked for");
  const target: Target = {
    urlOf: (name) => `place:${name}`,
    checkRoom: none,
    put: none,
    list: none,
    holds: none,
    delete: none,
    read: none,
    probe: none,
    settle: none,
    ...change,
  };
  const stop = new AbortController();
  return { timed: new TimedTarget(target, { clock, timers }), clock, timers, stop };
}

function passing(text: RegExp) {
  return (error: unknown) =>
    error instanceof StoreError && error.passes && text.test(error.message);
}

test("a call that hangs ends after a quarter of an hour, and none is begun before it has ended", async () => {
  const never = Promise.withResolvers<never[]>();
  let received: AbortSignal | null = null;
  const { timed, timers, stop } = stage({
    list: (signal) => {
      received = signal;
      return never.promise;
    },
    delete: async () => {},
  });
  const listed = assert.rejects(
    timed.list(stop.signal),
    passing(/listing snapshots: it did not get on for 15m/),
  );
  await timers.advance(14n * MINUTE);
  assert.equal(received!.aborted, false);
  await timers.advance(3n * MINUTE);
  await listed;
  assert.equal(received!.aborted, true, "it is told");
  assert.equal(timed.hangs, true);
  assert.throws(() => timed.delete("a", stop.signal), passing(/an earlier call hangs/));
  never.resolve([]);
  await nextTurn();
  assert.equal(timed.hangs, false);
  await timed.delete("a", stop.signal);
  assert.equal(timers.armed, 0);
});

test("a put goes on as long as it gets on, however long it takes, and ends when it drips", async () => {
  let tell: PutOptions["progress"];
  const put = Promise.withResolvers<void>();
  const { timed, timers, stop } = stage({
    put: (_name, _source, { progress, signal }) => {
      tell = progress;
      signal.addEventListener("abort", () => put.reject(new Error("aborted")));
      return put.promise;
    },
  });
  const seen: number[] = [];
  const writing = assert.rejects(
    timed.put("a", SOURCE, { signal: stop.signal, progress: (bytes) => seen.push(bytes) }),
    passing(/writing the snapshot: it did not get on/),
  );
  let bytes = 0;
  for (let i = 0; i < 60; i++) {
    await timers.advance(2n * MINUTE);
    tell!((bytes += 8 * MIB)); // at a little more than the lowest rate
  }
  assert.equal(seen.length, 60, "two hours");
  for (let i = 0; i < 20; i++) {
    await timers.advance(MINUTE);
    tell!(++bytes);
  }
  await writing;
  await nextTurn();
  assert.deepEqual([timed.hangs, timers.armed], [false, 0]);
});

test("of what is read only the waiting for the store counts", async () => {
  const parts = [Promise.resolve(Buffer.alloc(1)), Promise.withResolvers<Buffer>().promise];
  const { timed, timers, stop } = stage({
    read: async () => ({
      size: 2,
      chunks: (async function* () {
        for (const part of parts) yield await part;
      })(),
    }),
  });
  const { chunks } = await timed.read("a", stop.signal);
  const reading = chunks[Symbol.asyncIterator]();
  assert.equal((await reading.next()).done, false);
  await timers.advance(600n * MINUTE); // we are busy with it
  const hanging = assert.rejects(reading.next(), passing(/reading a snapshot: it did not get on/));
  await timers.advance(14n * MINUTE);
  await timers.advance(3n * MINUTE);
  await hanging;
  assert.equal(timers.armed, 0);
});

test("what does not end though it was stopped is left after ten seconds", async () => {
  const { timed, timers, stop } = stage({ settle: () => Promise.withResolvers<boolean>().promise });
  const settling = assert.rejects(
    timed.settle({ name: "a", size: 1, sha256: Buffer.alloc(32), handle: null }, stop.signal),
    passing(/does not end though it was stopped/),
  );
  stop.abort();
  await timers.advance(11n * SECOND);
  await settling;
  assert.equal(timers.armed, 0);
});
