// What a failure carries, and how errors of any sort become one line.

import assert from "node:assert/strict";
import test from "node:test";
import { readFileSync } from "node:fs";
import { Failure, OwnError, describe } from "./failure.ts";
import { traceOf } from "./fault.ts";
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
  const inner = new OwnError("no space left");
  const middle = new Failure("unavailable", "write", "cannot write", { cause: inner });
  const outer = new OwnError("init", { cause: middle });
  assert.equal(describe(outer), "init: cannot write: no space left");
});

test("describe() says of an error that is not ours what kind it is, and nothing it says itself", () => {
  const parse = () => JSON.parse('{"password": hunter2}') as unknown;
  const thrown = thrownBy(parse);
  assert.match(thrown.message, /hunter2/, "it would tell");
  const message = describe(thrown);
  assert.match(message, /^unexpected SyntaxError at JSON\.parse/);
  const inside = new Failure("internal", "internal-error", "internal error", { cause: thrown });
  assert.equal(describe(inside), "internal error: unexpected SyntaxError");
  const behind = new OwnError("a", { cause: new Error("hunter2", { cause: new OwnError("b") }) });
  assert.equal(describe(behind), "a: unexpected Error", "nor what stands behind it");
  const named = Object.assign(new Error("hunter2"), { name: "hunter2 again", code: "hunter2" });
  for (const text of [message, describe(named), describe(new OwnError("x", { cause: named }))]) {
    assert.doesNotMatch(text, /hunter2/);
  }
});

test("describe() and traceOf() take no line of a message for a place", () => {
  const sly = new Error("first\n    at hunter2 (hunter2:1:1)");
  assert.doesNotMatch(describe(sly), /hunter2/);
  assert.doesNotMatch(traceOf(sly), /hunter2/);
});

test("describe() gives the system's own words without the path they were said of", () => {
  const thrown = thrownBy(() => readFileSync("/nowhere/hunter2"));
  assert.equal(describe(thrown), "ENOENT: no such file or directory");
  assert.equal(describe(new OwnError("x", { cause: thrown })), `x: ${describe(thrown)}`);
});

test("describe() does not show thrown values that are no errors, which may be anything", () => {
  for (const thrown of ["hunter2", { password: "hunter2" }, null, undefined, 7]) {
    assert.equal(describe(thrown), "unknown cause");
  }
  assert.equal(describe(new OwnError("a", { cause: "hunter2" })), "a: unknown cause");
});

test("describe() ends on causes that go round in a circle", () => {
  const error = new OwnError("a");
  error.cause = error;
  assert.equal(describe(error), Array.from({ length: 8 }, () => "a").join(": "));
});

function thrownBy(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  return assert.fail("nothing was thrown");
}

test("invariant() throws an InvariantError, which is not a Failure, only when broken", () => {
  invariant(true, "never seen");
  const broken = (error: unknown) =>
    error instanceof InvariantError &&
    !(error instanceof Failure) &&
    error.message === "invariant broken: keys are sorted";
  assert.throws(() => invariant(0, "keys are sorted"), broken);
});
