// What a test that has ended does not keep in the process that it shares with others.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { nextTurn } from "./support/fake-world.ts";

let kept: WeakRef<object> | null = null;
let called = 0;

test("what is to be called after a test is called once, with its context", async (t) => {
  const large = { bytes: new Uint8Array(1000) };
  kept = new WeakRef(large);
  t.after(async (context) => {
    await nextTurn();
    assert.equal((context as TestContext).name, t.name);
    called += large.bytes.length;
  });
  assert.equal(called, 0);
});

test("and what it held is let go", async () => {
  assert.equal(called, 1000);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 20 && kept?.deref() !== undefined; i++) {
    await nextTurn();
    collect();
  }
  assert.equal(kept?.deref(), undefined);
});
