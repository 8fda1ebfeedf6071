import assert from "node:assert/strict";
import test from "node:test";
import { FakeClock, FakeTimers } from "../../../tests/support/fake-world.ts";
import type { LogSession } from "./log-session.ts";
import { Questions } from "./questions.ts";

const SECOND = 1_000_000_000n;

function question() {
  const timers = new FakeTimers(new FakeClock());
  const questions = new Questions(timers);
  const session: Pick<LogSession, "ended" | "ask"> = {
    ended: new Promise(() => {}),
    ask: () => {},
  };
  const answer = questions.replica("paris", session as LogSession, () => 1n).keys([1]);
  const part = (keys: string[]) =>
    questions.take("paris", { epoch: 1, id: 1n, rows: [], keys, isDone: false });
  return { timers, answer, part };
}

test("an answer that goes on for ever is none, however steadily it comes", async () => {
  const { timers, answer, part } = question();
  const refused = assert.rejects(answer, /paris/);
  for (let i = 0; i < 50; i++) {
    await timers.advance(14n * SECOND);
    part(["a"]);
  }
  await refused;
});

test("an answer of very many keys is none, however short they are", async () => {
  const { answer, part } = question();
  const refused = assert.rejects(answer, /paris/);
  const many = Array.from({ length: 1024 }, () => "");
  assert.throws(() => {
    for (let i = 0; i < 10_000; i++) part(many);
  }, /not what it was asked for/);
  await refused;
});
