import assert from "node:assert/strict";
import test from "node:test";
import { FakeClock, FakeTimers } from "../../../tests/support/fake-world.ts";
import type { LogSession } from "./log-session.ts";
import { HEALED_BYTES } from "./messages.ts";
import { Questions } from "./questions.ts";

const SECOND = 1_000_000_000n;

function question() {
  const timers = new FakeTimers(new FakeClock());
  const questions = new Questions(timers);
  const session: Pick<LogSession, "ended" | "ask"> = {
    ended: new Promise(() => {}),
    ask: () => {},
  };
  const replica = questions.replica("paris", session as LogSession, () => 1n);
  const answer = replica.keys([1]);
  const part = (keys: string[]) =>
    questions.take("paris", { epoch: 1, id: 1n, rows: [], keys, isDone: false });
  return { timers, questions, replica, answer, part };
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

test("an answer has at most as many bytes as were to come, also of rows that were asked for", async () => {
  const { questions, replica } = question();
  const value = new Uint8Array(1 << 20);
  const scope = new Uint8Array(16);
  const answer = replica.rows(["shared/x"]);
  const id = 2n; // the first question is of its own
  const part = (rows: number) =>
    questions.take("paris", {
      epoch: 1,
      id,
      rows: Array.from({ length: rows }, () => ({
        key: "shared/x",
        scope,
        value,
        isAbsent: false,
      })),
      keys: [],
      isDone: false,
    });
  const refused = assert.rejects(answer, /paris/);
  const most = Math.floor((HEALED_BYTES + 9 * (1 << 20)) / (1 << 20)) - 1;
  for (let i = 0; i < most; i++) part(1);
  assert.throws(() => part(2), /not what it was asked for/);
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
