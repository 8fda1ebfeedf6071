// What becomes of a file that was opened for nobody.

import assert from "node:assert/strict";
import test from "node:test";
import { orClosed } from "./or-closed.ts";

function file(close: () => Promise<void> = async () => {}) {
  const calls: string[] = [];
  return {
    calls,
    close: () => {
      calls.push("close");
      return close();
    },
  };
}

test("a file is closed where what is done with it first fails, and what failed is told", async () => {
  const one = file();
  await assert.rejects(
    orClosed(one, () => Promise.reject(new Error("no"))),
    /^Error: no$/,
  );
  assert.deepEqual(one.calls, ["close"]);
  const two = file(() => Promise.reject(new Error("cannot be closed")));
  await assert.rejects(
    orClosed(two, () => Promise.reject(new Error("no"))),
    /^Error: no$/,
  );
});

test("otherwise it stays open", async () => {
  const one = file();
  assert.equal(await orClosed(one, async () => 1), 1);
  assert.deepEqual(one.calls, []);
});
