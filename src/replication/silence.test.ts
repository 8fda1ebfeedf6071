// When somebody that is called counts as not there.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { unlessSilent } from "./silence.ts";

test("one that is cancelled gives nothing up any more, before the first look and after it", async () => {
  for (const { isReached, pass, isOver } of [
    { isReached: false, pass: 0n, isOver: false },
    { isReached: true, pass: SECOND, isOver: false },
    { isReached: false, pass: SECOND, isOver: true },
    { isReached: true, pass: 2n * SECOND, isOver: true },
  ]) {
    const { timers } = fakeWorld();
    let times = 0;
    const link = { isReached, hasMet: false };
    const timer = unlessSilent(
      timers,
      () => link,
      () => times++,
    );
    await timers.advance(pass);
    timer.cancel();
    await timers.advance(10n * SECOND);
    assert.equal(times, isOver ? 1 : 0);
  }
});

test("who is met in time is not given up", async () => {
  const { timers } = fakeWorld();
  let times = 0;
  unlessSilent(
    timers,
    () => ({ isReached: true, hasMet: true }),
    () => times++,
  );
  await timers.advance(10n * SECOND);
  assert.equal(times, 0);
});
