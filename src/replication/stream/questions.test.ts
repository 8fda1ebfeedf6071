import assert from "node:assert/strict";
import test from "node:test";
import { FakeClock, FakeTimers } from "../../../tests/support/fake-world.ts";
import type { LogSession } from "./log-session.ts";
import { until } from "../../../tests/support/until.ts";
import { SILENCE } from "../silence.ts";
import { type Heal, HEALED_BYTES, MAX_KEYS } from "./messages.ts";
import { Questions } from "./questions.ts";

const SECOND = 1_000_000_000n;

function question() {
  const timers = new FakeTimers(new FakeClock());
  const questions = new Questions(timers);
  const heals: Heal[] = [];
  const { promise: ended, resolve: leave } = Promise.withResolvers<void>();
  const session: Pick<LogSession, "ended" | "ask"> = {
    ended,
    ask: ({ heal }) => void heals.push(heal!),
  };
  const replica = questions.replica("paris", session as LogSession, () => 1n);
  const answer = replica.keys([1]);
  const part = (keys: string[]) =>
    questions.take("paris", { epoch: 1, id: 1n, rows: [], keys, isDone: false });
  return { timers, questions, replica, answer, part, heals, leave };
}

/** Whether it is settled by now. */
function watched(answer: Promise<unknown>): { is: "open" | "over" } {
  const state: { is: "open" | "over" } = { is: "open" };
  const end = () => void (state.is = "over");
  answer.then(end, end);
  return state;
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

test("one that is silent for as long as a member may be has not answered; each part gives it that time again", async () => {
  const { timers, answer, part } = question();
  const state = watched(answer);
  await timers.advance(SILENCE - 1n);
  part(["a"]);
  await timers.advance(SILENCE - 1n);
  assert.equal(state.is, "open");
  await timers.advance(1n);
  await assert.rejects(answer, /paris/);
});

test("one that says nothing at all has not answered after the same time", async () => {
  const { timers, answer } = question();
  const state = watched(answer);
  await timers.advance(SILENCE - 1n);
  assert.equal(state.is, "open");
  await timers.advance(1n);
  assert.equal(state.is, "over");
  await assert.rejects(answer, /paris/);
});

test("what another member answers, or what answers no open question, is passed over", async () => {
  const { questions, answer } = question();
  const whole = { epoch: 1, rows: [], isDone: true };
  questions.take("rome", { ...whole, id: 1n, keys: ["of rome"] });
  questions.take("paris", { ...whole, id: 9n, keys: ["of nobody"] });
  questions.take("paris", { ...whole, id: 1n, keys: ["of paris"] });
  assert.deepEqual(await answer, ["of paris"]);
  questions.take("paris", { ...whole, id: 1n, keys: ["once more"] });
});

test("rows that were not asked for end the question", async () => {
  const { questions, replica } = question();
  const answer = replica.rows(["shared/x"]);
  const refused = assert.rejects(answer, /paris/);
  const row = {
    key: "shared/y",
    scope: new Uint8Array(16),
    value: new Uint8Array(1),
    isAbsent: false,
  };
  const sent = { epoch: 1, id: 2n, rows: [row], keys: [], isDone: true };
  assert.throws(() => questions.take("paris", sent), /not what it was asked for/);
  await refused;
});

test("many keys are asked for in questions of as many as one may have", async () => {
  const { questions, replica, heals } = question();
  const keys = Array.from({ length: MAX_KEYS + 1 }, (_, i) => `shared/${i}`);
  const answer = replica.rows(keys);
  for (const id of [2n, 3n]) {
    await until(() => heals.some((heal) => heal.id === id));
    questions.take("paris", { epoch: 1, id, rows: [], keys: [], isDone: true });
  }
  assert.deepEqual(await answer, []);
  assert.deepEqual(
    heals.slice(1).map((heal) => heal.keys.length),
    [MAX_KEYS, 1],
  );
});

test("with the session its questions end", async () => {
  const { answer, leave } = question();
  leave();
  await assert.rejects(answer, /paris/);
});
