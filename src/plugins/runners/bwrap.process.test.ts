// Plugins in the sandbox of this machine, by bubblewrap itself.

import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { hold, PluginPlace, runs, say } from "../../../tests/support/plugins/plugin-place.ts";
import { until } from "../../../tests/support/until.ts";
import { SystemChildProcesses } from "../../system/child-processes.ts";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { BwrapRunner } from "./bwrap.ts";

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it has ended
  }
}

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
    for (const folder of ["/tmp", "/dev", "/dev/shm", data]) {
      assert.equal(await say(held, "writes", join(folder, "x")), "EROFS", folder);
    }
    assert.equal(await say(held, "writes", "/dev/null"), "written");
    const status = await say(held, "status");
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    const seen = JSON.parse(await say(held, "environment")) as Record<string, string>;
    assert.equal(seen["SECRET"], undefined);
    assert.equal(await say(held, "read", "/proc/1/environ"), "", "what wraps it has none");
    const own = seen["TMPDIR"] ?? "";
    assert.equal(await say(held, "writes", join(dirname(own), "ours", "x")), "EROFS");
    const mounts = (await say(held, "read", "/proc/self/mountinfo")).trim().split("\n");
    for (const mount of mounts) {
      const [, , , , at = "", options = ""] = mount.split(" ");
      if (at === own || /^\/(?:proc(?:\/|$)|dev\/)/.test(at)) continue;
      assert.ok(options.split(",").includes("ro"), `${at} can be written to`);
    }
    await assert.rejects(say(held, "read", "/dev/kmsg"), /ENOENT/);
    const spaces = ["pid", "ipc", "mnt"].map((space) => [
      space,
      readlinkSync(`/proc/self/ns/${space}`),
    ]);
    const inside = parts.children.all().filter((pid) => {
      return parts.children.look(pid)?.group === held.pid && commandOf(pid).includes("/small.mjs");
    });
    for (const [space = "", ours] of spaces) {
      const theirs = inside.map((pid) => readlinkSync(`/proc/${pid}/ns/${space}`));
      assert.ok(
        theirs.some((its) => its !== ours),
        `the ${space} of the machine`,
      );
    }
    for (const pid of inside) {
      const line = commandOf(pid);
      assert.ok(!line.includes("PLUGIN_CLIENT_CERT"), "what it is told everybody could read");
    }
    assert.ok(await say(held, "writes", join(seen["TMPDIR"] ?? "", "x")), "written");
    await held.release();
    await until(() => !runs(held.pid));
  } finally {
    await processes.close();
    assert.deepEqual(place.runs(), []);
    place.remove();
  }
});

test("bwrap as a runtime runs a file within limits and without a network, and is never left out", async (t) => {
  const files = new SystemProgramFiles();
  const children = new SystemChildProcesses();
  const found = await BwrapRunner.find({ files, children, user: null, hidden: [] });
  if (typeof found === "string" || process.getuid?.() !== 0) {
    t.diagnostic(typeof found === "string" ? found : "this is not root");
    assert.equal(process.env["HOLDFAST_NO_CONTAINERS"], "1", "it needs bwrap, and root");
    return;
  }
  const place = new PluginPlace();
  const parent = `/holdfast-box-${process.pid}`;
  const container = {
    name: "box",
    ociRuntime: "bwrap",
    rootless: false,
    cgroupParent: parent,
    cpuNanos: 2e9,
    memoryBytes: 512 * 2 ** 20,
  };
  const processes = await place.open({}, { containers: place.containers(["bwrap"]) });
  const groups = () => globSync([`/sys/fs/cgroup${parent}/*`, `/sys/fs/cgroup/*${parent}/*`]);
  try {
    const program = place.program({ container });
    const held = await hold(processes, program);
    assert.equal(processes.reports()[0]?.runner, "bwrap");
    assert.deepEqual(JSON.parse(await say(held, "interfaces")), ["lo"]);
    assert.ok(groups().length > 0);
    await assert.rejects(say(held, "takes memory", String(2 ** 31)));
    assert.match((await held.ended).cause, /137: .*memory_bytes|SIGKILL/);
    const again = await hold(processes, program);
    assert.equal(await say(again, "echo", "here"), "here");
    await again.release();
    await until(() => groups().length === 0);
    const host = await hold(processes, place.program({ container, network: "host" }));
    assert.ok((JSON.parse(await say(host, "interfaces")) as string[]).length > 0);
    const image = { ...container, ociRuntime: "runc" };
    await assert.rejects(
      hold(processes, place.program({ container: image })),
      /only bwrap runs a file within limits/,
    );
  } finally {
    await processes.close();
  }
  assert.deepEqual(globSync([`/sys/fs/cgroup${parent}`, `/sys/fs/cgroup/*${parent}`]), []);
  const without = await place.open({}, { containers: place.containers(["runc"]) });
  await assert.rejects(
    hold(without, place.program({ container })),
    /"bwrap" is not among plugin_oci_runtimes/,
  );
  await without.close();
  place.remove();
});
