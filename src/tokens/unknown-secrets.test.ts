import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld, nextTurn } from "../../tests/support/fake-world.ts";
import type { Salt } from "./rows/salt.ts";
import { type SecretSource, UnknownSecrets } from "./unknown-secrets.ts";

const WAIT = 2n * SECOND;
const ADDRESS = "192.0.2.7";
const { signal } = new AbortController();

interface Stage {
  readonly answer?: SecretSource["knows"];
  readonly isAlone?: boolean;
}

function stage({ answer = async () => null, isAlone = false }: Stage = {}) {
  const { clock, timers } = fakeWorld();
  const questions: string[] = [];
  const waited: bigint[] = [];
  const source: SecretSource = {
    knows: (hash, address, until) => {
      questions.push(hash);
      return answer(hash, address, until);
    },
    appliedUpTo: async (index, within) => {
      assert.equal(within, WAIT);
      waited.push(index);
      return true;
    },
  };
  const salt = { hashOf: (secret: string) => `hash of ${secret}` } as Salt;
  const unknown = new UnknownSecrets({
    source: () => (isAlone ? null : source),
    salt: () => salt,
    clock,
    timers,
    wait: WAIT,
  });
  const awaited = (secret: string, address = ADDRESS) => unknown.awaited(secret, address, signal);
  return { clock, timers, questions, waited, awaited };
}

test("it is asked by the hash alone, and waited for up to the index that the answer names", async () => {
  const { awaited, questions, waited } = stage({ answer: async () => 7n });
  await awaited("one");
  assert.deepEqual(questions, ["hash of one"]);
  assert.deepEqual(waited, [7n]);
});

test("an answer counts for a second, also one that there is none, and one question serves all who ask meanwhile", async () => {
  const { awaited, questions, waited, clock } = stage();
  await Promise.all([awaited("one"), awaited("one", "192.0.2.8")]);
  await awaited("one");
  assert.equal(questions.length, 1);
  assert.deepEqual(waited, []);
  clock.pass(SECOND - 1n);
  await awaited("one");
  assert.equal(questions.length, 1);
  clock.pass(1n);
  await awaited("one");
  assert.equal(questions.length, 2);
});

test("an address asks twenty times, then five times a second; the others go on", async () => {
  const { awaited, questions, clock } = stage();
  for (let n = 0; n < 20; n++) await awaited(`of one ${n}`);
  assert.equal(awaited("one more"), null);
  await awaited("of another", "192.0.2.8");
  assert.equal(questions.length, 21);
  clock.pass(SECOND / 5n);
  await awaited("one more");
  assert.equal(awaited("and one"), null);
});

test("a primary that is not reached, or does not answer in time, knows none", async () => {
  const lost = stage({
    answer: async () => {
      throw new Failure("unavailable", "primary-unreachable", "");
    },
  });
  await lost.awaited("one");
  assert.deepEqual([lost.questions.length, lost.waited.length, lost.timers.armed], [1, 0, 0]);
  const silent = stage({
    answer: (_hash, _address, until) =>
      new Promise((_, reject) => until.addEventListener("abort", () => reject(until.reason))),
  });
  let isOver = false;
  const waiting = silent.awaited("one")?.then(() => (isOver = true));
  await silent.timers.advance(WAIT - 1n);
  await nextTurn();
  assert.equal(isOver, false);
  await silent.timers.advance(1n);
  await waiting;
  assert.deepEqual(silent.waited, []);
});

test("nobody is asked where this cluster writes tokens itself, and for what can be no secret", () => {
  assert.equal(stage({ isAlone: true }).awaited("one"), null);
  const { awaited, questions } = stage();
  for (const secret of ["", "redacted", "x".repeat(100_000)]) assert.equal(awaited(secret), null);
  assert.deepEqual(questions, []);
});

test("T-B25 made-up secrets leave a bounded number of answers behind", async () => {
  const { awaited, questions } = stage();
  const guess = (n: number) => awaited(`guess ${n}`, `198.51.${n >> 8}.${n & 255}`);
  for (let n = 0; n < 1025; n++) await guess(n);
  await guess(1024);
  assert.equal(questions.length, 1025);
  await guess(0); // let go for the others
  assert.equal(questions.length, 1026);
});
