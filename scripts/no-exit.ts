// Loaded before unit tests, which share one process: a test that ended it would end the whole run
// with the tests after it unseen, and with process.exit(0) even as a success.

process.exit = () => {
  throw new Error("a unit test must not end the process; name the file *.process.test.ts");
};
