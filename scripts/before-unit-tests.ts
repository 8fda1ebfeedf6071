// Loaded before unit tests, which share one process.

import { beforeEach, type TestContext } from "node:test";
import { sealIntrinsics } from "../src/daemon/intrinsics.ts";

// The server runs so, and some work costs ten times as much then: what a test says of time holds there too.
sealIntrinsics();

// A test that ended the process would end the whole run with the tests after it unseen, and with
// process.exit(0) even as a success.
process.exit = () => {
  throw new Error("a unit test must not end the process; name the file *.process.test.ts");
};

// The runner keeps what it was to call after a test until the last test has ended, and with it the server
// of that test: ten megabytes a file, which every collection of garbage looks through. Whatever was called is let go.
// It also calls no more after one that fails, and a server that runs on keeps the process from its end: all are called.
type Call = (t: TestContext) => Promise<void> | void;
const kept = new WeakMap<TestContext, Call[]>();
let prepared = false;
beforeEach((t) => {
  if (prepared) return;
  prepared = true;
  const context = Object.getPrototypeOf(t) as { after: TestContext["after"] };
  const { after } = context;
  context.after = function (this: TestContext, call, options) {
    const calls = kept.get(this);
    if (calls !== undefined) {
      calls.push(call as Call);
      return;
    }
    kept.set(this, [call as Call]);
    after.call(this, (t) => callAll(this, t as TestContext), options);
  };
});

async function callAll(of: TestContext, t: TestContext): Promise<void> {
  const failed: unknown[] = [];
  for (let call; (call = kept.get(of)?.shift()) !== undefined;) {
    try {
      await call(t);
    } catch (error) {
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}
