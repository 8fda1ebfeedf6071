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
let prepared = false;
beforeEach((t) => {
  if (prepared) return;
  prepared = true;
  const context = Object.getPrototypeOf(t) as { after: TestContext["after"] };
  const { after } = context;
  context.after = function (this: TestContext, call, options) {
    let kept = call;
    after.call(
      this,
      (t: TestContext) => {
        const once = kept;
        kept = undefined;
        return (once as ((t: TestContext) => Promise<void> | void) | undefined)?.(t);
      },
      options,
    );
  };
});
