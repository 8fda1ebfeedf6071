import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const PROGRAM = join(import.meta.dirname, "run.ts");

test("the row of sessions starts a server and a cloud itself and leaves nothing behind", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hf-bench-test-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const [data, json] = [join(directory, "data"), join(directory, "figures.json")];
  const args = [PROGRAM, "clouds/sessions", "--quick", "--directory", data, "--json", json];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: 120_000,
  });
  assert.equal(status, 0, stderr + stdout);
  const [{ median, budget, also }] = JSON.parse(readFileSync(json, "utf8")).rows;
  assert.ok(median > 10, "the provider alone takes 10 ms");
  assert.deepEqual(budget, { atMost: 250 });
  const loop = also.find(({ what }: { what: string }) => what.includes("event loop"));
  assert.deepEqual(loop.budget, { atMost: 50 });
  assert.ok(loop.median >= 0);
  assert.deepEqual(readdirSync(data), []);
});
