import assert from "node:assert/strict";
import test from "node:test";
import { orAborted } from "./or-aborted.ts";

test("work is waited for until it is done, or nobody wants it: also where that was so before", async () => {
  const over = new AbortController();
  assert.equal(await orAborted(Promise.resolve(1), over.signal), 1);
  assert.equal(await orAborted(Promise.resolve(1), undefined), 1);
  const { promise: never, reject } = Promise.withResolvers<number>();
  const waiting = orAborted(never, over.signal);
  over.abort(new Error("nobody wants it"));
  await assert.rejects(waiting, /nobody wants it/);
  await assert.rejects(orAborted(never, over.signal), /nobody wants it/);
  reject(new Error("it failed, and nobody hears of it"));
  await new Promise((go) => setImmediate(go));
});
