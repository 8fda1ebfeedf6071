// When the process of a plugin is asked whether it is well.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Channel, Messages, Shape } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { Calls } from "./calls.ts";

const SHAPE = { kind: "unary", path: "/x" } as unknown as Shape;

/** Whether the process is asked if it is well, after a call that took so long and ended so. */
async function suspected(took: Nanos, error: Error, givesUp = false): Promise<boolean> {
  let [now, count] = [0n, 0];
  const over = new AbortController();
  const calls = new Calls({
    channel: {
      isOpen: true,
      // oxlint-disable-next-line require-yield -- it fails before anything comes
      exchange: async function* () {
        now += took;
        if (givesUp) over.abort(error);
        throw error;
      },
    } as unknown as Channel & { readonly isOpen: boolean },
    clock: { elapsed: () => now },
    suspect: () => count++,
    over: Promise.resolve(),
  });
  const requests: Messages = (async function* () {
    yield new Uint8Array(1);
  })();
  const answers = calls.of(null).exchange(SHAPE, requests, { signal: over.signal });
  await assert.rejects(async () => {
    for await (const _ of answers);
  });
  return count === 1;
}

test("T-H14: a plugin is asked whether it is well after a deadline of ours, and after whoever waited for a second has gone", async () => {
  const ours = new StatusError(Status.deadlineExceeded, "late");
  const its = new StatusError(Status.deadlineExceeded, "it says so", { isSaid: true });
  const gone = new StatusError(Status.cancelled, "the call was cancelled");
  assert.equal(await suspected(SECOND / 10n, ours), true);
  assert.equal(await suspected(2n * SECOND, ours), true);
  assert.equal(await suspected(2n * SECOND, its), false, "what it says shows that it lives");
  assert.equal(await suspected(2n * SECOND, gone, true), true);
  assert.equal(await suspected(SECOND / 10n, gone, true), false, "there are other reasons");
});
