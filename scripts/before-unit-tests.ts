// Loaded before unit tests, which share one process.

import { sealIntrinsics } from "../src/daemon/intrinsics.ts";

// The server runs so, and some work costs ten times as much then: what a test says of time holds there too.
sealIntrinsics();

// A test that ended the process would end the whole run with the tests after it unseen, and with
// process.exit(0) even as a success.
process.exit = () => {
  throw new Error("a unit test must not end the process; name the file *.process.test.ts");
};
