// `holdfast … | head`: whoever reads has enough, and that is no failure.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

const MAIN = join(import.meta.dirname, "..", "..", "src", "main.ts");

for (const line of ["help", "completion bash", "replication -help"]) {
  test(`${line}: what nobody reads ends it quietly`, async (t) => {
    const child = spawn(process.execPath, [MAIN, ...line.split(" ")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    child.stdout.destroy(); // before anything is written
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text));
    const ended = new Promise((resolve) => child.on("close", (...how) => resolve(how)));
    assert.deepEqual(await ended, [0, null], printed);
    assert.equal(printed, "");
  });
}
