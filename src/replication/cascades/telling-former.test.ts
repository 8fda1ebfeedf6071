// How long the primary of before is told who leads: until somebody has answered, and for ten minutes at most.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import { TellingFormer } from "./telling-former.ts";

test("it is told at once and every five seconds until it answers, and for ten minutes at most", async (t) => {
  const { world } = await madeStore();
  const calls: string[] = [];
  let answers = false;
  const exchange = async (addresses: readonly string[]) => {
    calls.push(...addresses);
    return answers ? {} : null;
  };
  const telling = new TellingFormer({ ...world, exchange });
  t.after(() => telling.close());
  const pass = async (seconds: bigint) => {
    for (let i = 0n; i < seconds; i++) {
      await world.timers.advance(SECOND);
      await nextTurn();
    }
  };
  telling.open();
  await pass(20n);
  assert.deepEqual(calls, []); // nobody is to be told
  telling.tell(["one"]);
  await nextTurn();
  assert.deepEqual(calls, ["one"]);
  await pass(10n);
  assert.deepEqual(calls, ["one", "one", "one"]);
  answers = true;
  await pass(60n);
  assert.equal(calls.length, 4);
  answers = false;
  calls.length = 0;
  telling.tell(["two"]);
  await pass((11n * MINUTE) / SECOND);
  assert.equal(calls.length, 120);
});
