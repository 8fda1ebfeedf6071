// Plugins in the sandbox of this machine, by bubblewrap itself.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hold, PluginPlace, runs, say } from "../../../tests/support/plugins/plugin-place.ts";
import { until } from "../../../tests/support/until.ts";
import { SystemChildProcesses } from "../../system/child-processes.ts";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { BwrapRunner } from "./bwrap.ts";

test("in the sandbox nothing of the server is seen, nothing can be written, and nothing is left", async (t) => {
  const parts = {
    files: new SystemProgramFiles(),
    children: new SystemChildProcesses(),
    user: null,
    hidden: [],
  };
  const found = await BwrapRunner.find(parts);
  if (typeof found === "string") {
    t.diagnostic(found);
    assert.equal(process.env["HOLDFAST_NO_CONTAINERS"], "1", found);
    return;
  }
  const place = new PluginPlace();
  const data = join(place.base, "data");
  mkdirSync(data);
  writeFileSync(join(data, "secret"), "secret");
  const file = join(place.base, "config");
  writeFileSync(file, "secret");
  const env = { ...process.env, SECRET: "x" };
  const settings = { isolation: "bwrap" as const, hidden: [data, file, "/none"] };
  const processes = await place.open(settings, { env });
  try {
    const held = await hold(processes, place.program());
    assert.equal(processes.reports()[0]?.runner, "bwrap");
    await assert.rejects(say(held, "read", join(data, "secret")), /ENOENT/);
    await assert.rejects(say(held, "read", file), /EACCES/);
    assert.match(await say(held, "read", "/etc/passwd"), /root/);
    await assert.rejects(say(held, "read", `/proc/${process.pid}/environ`), /ENOENT/);
    assert.equal(await say(held, "writes", join(place.base, "x")), "EROFS");
    assert.equal(await say(held, "writes", "/tmp/x"), "EROFS");
    const status = await say(held, "status");
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    const seen = JSON.parse(await say(held, "environment")) as Record<string, string>;
    assert.equal(seen["SECRET"], undefined);
    assert.ok(await say(held, "writes", join(seen["TMPDIR"] ?? "", "x")), "written");
    await held.release();
    await until(() => !runs(held.pid));
  } finally {
    await processes.close();
    assert.deepEqual(place.runs(), []);
    place.remove();
  }
});
