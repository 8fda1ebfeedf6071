// Runs test files in this process: `node [options of its test runner] scripts/test-files.ts [--unit] FILE …`, one file after the other.
// As `node --test --test-isolation=none` does, but for one thing: that one follows every promise, so as to know which test an error belongs to
// that nobody catches, and that costs a tenth of the processor. Here such an error fails the run as well, and is told with the test that
// ran at that moment; there is one at a time.

import type * as AsyncHooks from "node:async_hooks";
import { join, resolve } from "node:path";
import { inspect } from "node:util";

// Whoever loads the test runner takes this function with it, so it comes first.
const hooks = process.getBuiltinModule("node:async_hooks") as {
  createHook: (callbacks: AsyncHooks.HookCallbacks & { trackPromises?: boolean }) => unknown;
};
const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });

const root = join(import.meta.dirname, "..");
const args = process.argv.slice(2);
const files = args.filter((arg) => arg !== "--unit");
if (args.includes("--unit")) await import("./before-unit-tests.ts");
const { before, beforeEach, test } = await import("node:test");

// The first test begins when all files are loaded: what loads them would take the time of those that measure it.
const loaded = Promise.withResolvers<void>();
before(() => loaded.promise);

let running = "no test";
beforeEach((t) => {
  running = t.name;
});
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => {
    process.stderr.write(`${event} while "${running}" ran: ${inspect(error)}\n`);
  });
}

for (const file of files) {
  try {
    await import(resolve(root, file));
  } catch (error) {
    void test(file, () => {
      throw error;
    });
  }
}
loaded.resolve();
