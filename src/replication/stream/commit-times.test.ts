// For how long something waits, by when it was committed.

import assert from "node:assert/strict";
import test from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { CommitTimes } from "./commit-times.ts";

class Stage {
  now = 0n;
  readonly store = {
    index: 0n,
    calls: new Set<(changed: never) => void>(),
    onCommit(call: (changed: never) => void) {
      this.calls.add(call);
      return () => void this.calls.delete(call);
    },
  };
  readonly times = new CommitTimes(this.store, { elapsed: () => this.now });

  commit(count = 1): void {
    this.store.index += BigInt(count);
    for (const call of this.store.calls) call(undefined as never);
  }
}

test("what is missing waits since the first entry of it was committed", () => {
  const stage = new Stage();
  stage.now = SECOND;
  stage.commit(5); // 1 to 5
  stage.now = 3n * SECOND;
  stage.commit(5); // 6 to 10
  stage.now = 10n * SECOND;
  assert.equal(stage.times.waiting(10n), 0n);
  assert.equal(stage.times.waiting(9n), 7n * SECOND);
  assert.equal(stage.times.waiting(5n), 7n * SECOND);
  assert.equal(stage.times.waiting(4n), 9n * SECOND);
  stage.times.close();
  stage.commit();
  assert.equal(stage.times.waiting(0n), 0n);
});

test("of a week of commits old waits are known roughly, and never told too short", () => {
  const stage = new Stage();
  const at: bigint[] = [0n];
  for (let i = 1; i <= 60_000; i++) {
    stage.now += 10n * SECOND + BigInt(i % 7) * MILLISECOND;
    stage.commit();
    at.push(stage.now);
  }
  for (const index of [1, 1000, 30_000, 59_000, 59_999]) {
    const waits = stage.now - at[index + 1]!;
    const found = stage.times.waiting(BigInt(index));
    assert.ok(found >= waits, `${index}`);
    assert.ok(found - waits <= waits / 30n + 20n * SECOND, `${index}: ${found} for ${waits}`);
  }
});
