// Who plugins that are files run as, and what is done where this machine has not what makes them weak.

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { hold, PluginPlace, say } from "../../../tests/support/plugins/plugin-place.ts";
import { SystemChildProcesses } from "../../system/child-processes.ts";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { BwrapRunner } from "./bwrap.ts";

const USER = { user: 64_123, group: 64_124 };

/** A machine on which these programs are not installed. */
class Without extends SystemProgramFiles {
  readonly #programs: readonly string[];

  constructor(...programs: readonly string[]) {
    super();
    this.#programs = programs;
  }

  override async look(path: string) {
    return this.#programs.some((name) => path.endsWith(`bin/${name}`)) ? null : super.look(path);
  }
}

function placeOf(t: TestContext): PluginPlace {
  const place = new PluginPlace();
  t.after(() => place.remove());
  return place;
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => assert.fail("it was started"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Failure, String(error));
  return `${error.code}: ${error.message}`;
}

test("T-H07: with plugin_user a plugin has the ids of that one, no group of the server's and no right, in the sandbox and without it", async (t) => {
  const children = new SystemChildProcesses();
  const parts = { files: new SystemProgramFiles(), children, user: USER, hidden: [] };
  const found = process.getuid?.() === 0 ? await BwrapRunner.find(parts) : "this is not root";
  if (typeof found === "string") {
    t.diagnostic(found);
    assert.equal(process.env["HOLDFAST_NO_CONTAINERS"], "1", found);
    return;
  }
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([...groups, 64_200]);
  t.after(() => process.setgroups?.(groups));
  for (const isolation of ["none", "bwrap"] as const) {
    const place = placeOf(t);
    const [ours, everybodys] = ["ours", "everybodys"].map((name) => join(place.base, name));
    assert.ok(ours !== undefined && everybodys !== undefined);
    for (const [path, mode] of [
      [ours, 0o600],
      [everybodys, 0o666],
    ] as const) {
      writeFileSync(path, "x");
      chmodSync(path, mode);
    }
    const processes = await place.open({ isolation, user: USER });
    try {
      const held = await hold(processes, place.program());
      const status = await say(held, "status");
      assert.match(status, /^Uid:(?:\s+64123){4}$/m);
      assert.match(status, /^Gid:(?:\s+64124){4}$/m);
      assert.match(status, /^Groups:\s*$/m);
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
        assert.match(status, new RegExp(`^${set}:\\s+0+$`, "m"), isolation);
      }
      assert.match(status, /^NoNewPrivs:\s+1$/m);
      await assert.rejects(say(held, "read", ours), /EACCES/);
      assert.equal(
        await say(held, "writes", everybodys),
        isolation === "none" ? "written" : "EROFS",
      );
      const seen = JSON.parse(await say(held, "environment")) as Record<string, string>;
      assert.equal(await say(held, "writes", join(seen["TMPDIR"] ?? "", "x")), "written");
      await held.release();
    } finally {
      await processes.close();
    }
  }
});

test("T-H07: where the sandbox or the user that is asked for cannot be had nothing is started, and without either it is said", async (t) => {
  const place = placeOf(t);
  const files = new Without("bwrap");
  const wanted = await place.open({ isolation: "bwrap" }, { files });
  assert.match(
    await refusal(hold(wanted, place.program())),
    /plugin_isolation.*bwrap \(bubblewrap\) is not installed/,
  );
  await wanted.close();
  const any = await place.open({ isolation: "auto" }, { files });
  const held = await hold(any, place.program());
  assert.equal(any.reports()[0]?.runner, "plain");
  assert.match(await say(held, "status"), /^NoNewPrivs:\s+1$/m);
  await held.release();
  await any.close();
  const [said = "", ...more] = place.lines.filter((line) => line.includes("without a sandbox"));
  assert.match(
    said,
    /\[WARN\] .*plugins run without a sandbox.*bwrap \(bubblewrap\) is not installed/,
  );
  assert.deepEqual(more, [], "once");
  for (const isolation of ["none", "auto"] as const) {
    const without = await place.open({ isolation, user: USER }, { files: new Without("setpriv") });
    const said = await refusal(hold(without, place.program({ name: isolation })));
    assert.match(said, /plugin_user needs setpriv/);
    await without.close();
  }
});
