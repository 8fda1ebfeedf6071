import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

const PROGRAM = join(import.meta.dirname, "..", "run.ts");

test("a plugin is bundled, registered, mounted and asked, and what it and its keeper take is told", () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [PROGRAM, "plugins/memory", "--quick"],
    { encoding: "utf8", timeout: 120_000 },
  );
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /^plugins\/memory +RSS of a plugin of our SDK at rest +MB +\d/m);
  assert.match(stdout, /^ +of the server, for each of 3 mounts +MB +-?[\d.]+/m);
  assert.match(stdout, /^ +of the keeper +MB +[\d.]+ +≤ 3$/m);
});
