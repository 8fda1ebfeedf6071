import assert from "node:assert/strict";
import test from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { fakeWorld, START } from "../../../tests/support/fake-world.ts";
import { archiveOf, CLUSTER } from "../../../tests/support/made/made-archive.ts";
import { madeBarrier, ROOT_KEY } from "../../../tests/support/made/made-barrier.ts";
import { bytes } from "../../../tests/support/made/made-store.ts";
import type { Target } from "../targets/target.ts";
import { drill, type DrillOptions, type DrillOutcome } from "./drill.ts";

async function archive(): Promise<Buffer> {
  const { barrier, store } = await madeBarrier();
  const view = barrier.view("shared/kv/", Buffer.alloc(16, 4));
  await view.write((tx) => tx.put("secret", bytes("value"), bytesCodec));
  return archiveOf(store);
}

/** A place with these, of which each is read as it is said. */
function place(stored: ReadonlyMap<string, { size: number; bytes: Uint8Array }>): Target {
  const none = () => Promise.reject(new Error("this is not for drills"));
  return {
    urlOf: (name) => `place/${name}`,
    list: async () => Array.from(stored, ([name, { size }]) => ({ name, size })),
    read: async (name) => {
      const found = stored.get(name);
      assert.ok(found !== undefined);
      const { size } = found;
      return {
        size,
        chunks: (async function* () {
          for (let at = 0; at < found.bytes.length; at += 1000) {
            yield found.bytes.subarray(at, at + 1000);
          }
        })(),
      };
    },
    checkRoom: none,
    put: none,
    holds: none,
    delete: none,
    probe: none,
    settle: none,
  };
}

function drilled(target: Target, change: Partial<DrillOptions> = {}): Promise<DrillOutcome> {
  const { clock, timers } = fakeWorld();
  return drill({
    openTarget: async () => target,
    own: { rootKey: ROOT_KEY, clusterId: CLUSTER, keyedAt: START },
    last: () => ({ url: "", begun: "" }),
    storedAt: () => null,
    listed: () => {},
    clock,
    timers,
    signal: new AbortController().signal,
    progress: () => {},
    ...change,
  });
}

test("a store that gives less than it says has proven nothing, and found nothing either", async () => {
  const whole = await archive();
  const lost = { size: whole.length, bytes: whole.subarray(0, whole.length - 700) };
  const outcome = await drilled(place(new Map([["a", lost]])));
  assert.equal(outcome.result, "not-made");
  assert.match(outcome.problems.join(), /ended after \d+ of \d+ bytes/);
});

test("the one that was written last is looked at; without word of it, the newest by name", async () => {
  const whole = await archive();
  const good = { size: whole.length, bytes: whole };
  const target = place(
    new Map([
      ["a", good],
      ["b", good],
      ["c", good],
    ]),
  );
  const outcome = await drilled(target, { last: () => ({ url: "place/b", begun: "" }) });
  assert.deepEqual([outcome.result, outcome.url], ["proven", "place/b"]);
  assert.equal((await drilled(target)).url, "place/c");
  const moved = () => ({ url: "elsewhere/gone", begun: "" });
  assert.equal((await drilled(target, { last: moved })).url, "place/c");
});

test("the last one that is gone is found, but for a newer one that took its place", async () => {
  const whole = await archive();
  const good = { size: whole.length, bytes: whole };
  const target = place(
    new Map([
      ["a", good],
      ["b", good],
    ]),
  );
  const gone = await drilled(target, { last: () => ({ url: "place/c", begun: "place/c" }) });
  assert.deepEqual([gone.result, gone.url], ["failed", "place/c"]);
  assert.match(gone.problems.join(), /^place\/c is gone, .*the newest there is place\/b$/);
  // Put, and older ones deleted for it, and not noted yet.
  const begun = await drilled(target, { last: () => ({ url: "place/0", begun: "place/a" }) });
  assert.deepEqual([begun.result, begun.url], ["proven", "place/a"]);
  // Noted while the list was made.
  let calls = 0;
  const last = () => ({ url: calls++ === 0 ? "place/0" : "place/b", begun: "place/b" });
  const noted = await drilled(target, { last: () => ({ ...last(), begun: "" }) });
  assert.deepEqual([noted.result, noted.url], ["proven", "place/b"]);
});

test("an error that nobody thought of, while it is read, is found against the snapshot", async () => {
  const whole = await archive();
  const target = place(new Map([["a", { size: whole.length, bytes: whole }]]));
  const own: DrillOptions["own"] = {
    clusterId: CLUSTER,
    keyedAt: START,
    get rootKey(): never {
      throw new RangeError("secret words of a library");
    },
  };
  const outcome = await drilled(target, { own });
  assert.equal(outcome.result, "failed");
  assert.match(outcome.problems.join(), /^it cannot be read: unexpected RangeError/);
  assert.doesNotMatch(outcome.problems.join(), /secret words/);
});

test("a store that breaks off, however it says so, has found nothing out", async () => {
  const whole = await archive();
  const good = place(new Map([["a", { size: whole.length, bytes: whole }]]));
  const target: Target = {
    ...good,
    read: async () => ({
      size: whole.length,
      chunks: (async function* () {
        yield whole.subarray(0, 3000);
        throw new TypeError("of a library");
      })(),
    }),
  };
  assert.equal((await drilled(target)).result, "not-made");
});

test("who stops it is answered by a throw, and no outcome", async () => {
  const whole = await archive();
  const stop = new AbortController();
  const target = place(new Map([["a", { size: whole.length, bytes: whole }]]));
  const outcome = drilled(target, { signal: stop.signal, progress: () => stop.abort() });
  await assert.rejects(outcome, { name: "AbortError" });
});

test("a place that cannot be opened has proven nothing, and says why", async () => {
  const openTarget = () => Promise.reject(new Error("secret words of a library"));
  const outcome = await drilled(place(new Map()), { openTarget });
  assert.equal(outcome.result, "not-made");
  assert.doesNotMatch(outcome.problems.join(), /secret words/);
});
