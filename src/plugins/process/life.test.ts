import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Life } from "./life.ts";

/** What happens to one that fails as soon as it may be started, until `end`: when it was started. */
function startsOf(end: bigint): bigint[] {
  const life = new Life();
  const starts: bigint[] = [];
  for (let now = 0n; now <= end;) {
    const wanted = life.want(now);
    if (wanted.kind === "refused") {
      now += wanted.wait;
      continue;
    }
    assert.equal(wanted.kind, "start");
    starts.push(now);
    life.starts(now);
    life.failed(now);
  }
  return starts;
}

test("pauses after failures are 0, 1, 2, 4 and so on to 60 s: eight starts in two minutes", () => {
  const seconds = startsOf(5n * MINUTE).map((at) => Number(at / SECOND));
  assert.deepEqual(seconds, [0, 0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  assert.equal(seconds.filter((at) => at < 120).length, 8);
});

test("who waits is told how long, and what it is by now", () => {
  const life = new Life();
  assert.equal(life.state(0n), "absent");
  for (let i = 0; i < 3; i++) {
    life.starts(0n);
    assert.deepEqual(life.want(0n), { kind: "join" });
    life.failed(0n);
  }
  assert.equal(life.state(0n), "waiting");
  assert.deepEqual(life.want(SECOND / 2n), { kind: "refused", wait: (3n * SECOND) / 2n });
  assert.equal(life.state(2n * SECOND), "absent");
  assert.deepEqual(life.want(2n * SECOND), { kind: "start" });
  assert.equal(life.restarts, 2);
});

test("one that lived for a minute, or was left alone so long, has not failed before", () => {
  for (const wasLeft of [false, true]) {
    const life = new Life();
    const fail = (at: bigint) => {
      life.starts(at);
      life.ready(at);
      life.failed(at);
    };
    for (let i = 0; i < 5; i++) fail(0n);
    let now = 8n * SECOND;
    assert.equal(life.want(now - 1n).kind, "refused");
    if (wasLeft) {
      now += MINUTE;
      assert.equal(life.want(now).kind, "start");
      fail(now);
    } else {
      life.starts(now);
      life.ready(now);
      now += MINUTE;
      life.failed(now);
    }
    assert.equal(life.want(now).kind, "start", "at once");
    fail(now);
    assert.deepEqual(life.want(now), { kind: "refused", wait: SECOND });
  }
});

test("what stops is waited for, and what was refused before it ran does not count", () => {
  const life = new Life();
  life.starts(0n);
  life.ready(0n);
  life.stops(0n);
  assert.equal(life.want(0n).kind, "later");
  life.stopped(0n);
  for (let i = 0; i < 10; i++) {
    life.starts(0n);
    life.stopped(0n);
    assert.equal(life.want(0n).kind, "start");
  }
});
