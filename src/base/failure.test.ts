// What a failure carries, and how errors of any sort become one line.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure, describe } from "./failure.ts";
import { InvariantError, invariant } from "./invariant.ts";

test("a Failure carries kind, code, message and cause", () => {
  const cause = new Error("disk on fire");
  const failure = new Failure("unavailable", "storage-down", "the storage is down", { cause });
  assert.equal(failure.kind, "unavailable");
  assert.equal(failure.code, "storage-down");
  assert.equal(String(failure), "Failure: the storage is down");
  assert.equal(failure.cause, cause);
  assert.ok(failure instanceof Error);
});

test("describe() joins an error and its causes from the outside in", () => {
  const inner = new Error("no space left");
  const middle = new Failure("unavailable", "write", "cannot write", { cause: inner });
  assert.equal(describe(new Error("init", { cause: middle })), "init: cannot write: no space left");
});

test("describe() does not show thrown values that are no errors, which may be anything", () => {
  for (const thrown of ["hunter2", { password: "hunter2" }, null, undefined, 7]) {
    assert.equal(describe(thrown), "unknown cause");
  }
  assert.equal(describe(new Error("a", { cause: "hunter2" })), "a: unknown cause");
});

test("describe() ends on causes that go round in a circle", () => {
  const error = new Error("a");
  error.cause = error;
  assert.equal(describe(error), Array.from({ length: 8 }, () => "a").join(": "));
});

test("invariant() throws an InvariantError, which is not a Failure, only when broken", () => {
  invariant(true, "never seen");
  const broken = (error: unknown) =>
    error instanceof InvariantError &&
    !(error instanceof Failure) &&
    error.message === "invariant broken: keys are sorted";
  assert.throws(() => invariant(0, "keys are sorted"), broken);
});
