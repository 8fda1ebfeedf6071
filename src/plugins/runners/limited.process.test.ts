// The shell that sets limits, with folders of a test in the place of control groups: what it writes in either hierarchy, and
// that nothing runs where one of them cannot be written.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { CGROUPS, limitedWords, NOT_LIMITED } from "./limited.ts";

const GROUP = "/above/holdfast-x";
const MEMORY = 512 * 2 ** 20;
const container = {
  name: "box",
  ociRuntime: "bwrap",
  rootless: false,
  cgroupParent: "/above",
  cpuNanos: 250_000_000,
  memoryBytes: MEMORY,
};

/** Below the root of a hierarchy, by the file. "$$": whoever is limited. */
const UNIFIED = {
  "cgroup.subtree_control": "+cpu +memory +pids",
  "above/cgroup.subtree_control": "+cpu +memory +pids",
  "above/holdfast-x/memory.max": String(MEMORY),
  "above/holdfast-x/memory.swap.max": "0",
  "above/holdfast-x/cpu.max": "25000 100000",
  "above/holdfast-x/pids.max": "256",
  "above/holdfast-x/cgroup.procs": "$$",
};
const SEVERAL = {
  "memory/above/holdfast-x/memory.limit_in_bytes": String(MEMORY),
  "memory/above/holdfast-x/memory.memsw.limit_in_bytes": String(MEMORY),
  "memory/above/holdfast-x/cgroup.procs": "$$",
  "cpu/above/holdfast-x/cpu.cfs_period_us": "100000",
  "cpu/above/holdfast-x/cpu.cfs_quota_us": "25000",
  "cpu/above/holdfast-x/cgroup.procs": "$$",
  "pids/above/holdfast-x/pids.max": "256",
  "pids/above/holdfast-x/cgroup.procs": "$$",
};
const MAY_FAIL = ["cgroup.subtree_control", "above/cgroup.subtree_control"];

function hierarchy(t: TestContext, files: object): string {
  const root = mkdtempSync(join(tmpdir(), "hf-groups-"));
  t.after(() => rmSync(root, { recursive: true }));
  if (files === UNIFIED) writeFileSync(join(root, "cgroup.controllers"), "");
  // The kernel has it where swap is counted.
  else put(root, "memory/above/holdfast-x/memory.memsw.limit_in_bytes", "");
  return root;
}

function put(root: string, path: string, text: string): void {
  const whole = join(root, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, text);
}

/** What it printed: the number of the process that it became; and how it ended. */
function limited(root: string, limits: Partial<typeof container> = {}) {
  const words = limitedWords(GROUP, { ...container, ...limits });
  const [file = "", ...args] = words.map((word) => word.replaceAll(CGROUPS, root));
  const program = ["/bin/sh", "-c", 'echo "$$ $1"', "x", "a * b"];
  const { status, stdout } = spawnSync(file, [...args, ...program], { encoding: "utf8" });
  return { status, said: stdout.trim() };
}

for (const [name, files] of Object.entries({ unified: UNIFIED, "of each kind": SEVERAL })) {
  test(`T-H07: every limit is written to the control group, ${name}, before the program runs in it`, (t) => {
    const root = hierarchy(t, files);
    const { status, said } = limited(root);
    assert.equal(status, 0);
    const [pid = "", ...words] = said.split(" ");
    assert.equal(words.join(" "), "a * b");
    for (const [path, text] of Object.entries(files)) {
      const written = readFileSync(join(root, path), "utf8").trim();
      assert.equal(written, text === "$$" ? pid : text, path);
    }
  });

  test(`T-H07: where one of the limits cannot be set nothing is run, ${name}`, (t) => {
    for (const path of Object.keys(files)) {
      const root = hierarchy(t, files);
      rmSync(join(root, path), { force: true });
      mkdirSync(join(root, path), { recursive: true }); // which nobody writes to
      const { status, said } = limited(root);
      if (MAY_FAIL.includes(path)) assert.equal(status, 0, path);
      else assert.deepEqual([status, said], [NOT_LIMITED, ""], path);
    }
    for (const folder of files === UNIFIED ? ["above"] : ["memory", "cpu", "pids"]) {
      const root = hierarchy(t, files);
      rmSync(join(root, folder), { recursive: true, force: true });
      writeFileSync(join(root, folder), "no folder");
      assert.deepEqual(limited(root), { status: NOT_LIMITED, said: "" }, folder);
    }
  });

  test(`without limits of memory and processor those of processes are set all the same, ${name}`, (t) => {
    const root = hierarchy(t, files);
    assert.equal(limited(root, { cpuNanos: 0, memoryBytes: 0 }).status, 0);
    const isSet = (path: string) =>
      existsSync(join(root, path)) && readFileSync(join(root, path), "utf8") !== "";
    const set = Object.keys(files).filter((path) => isSet(path) && !MAY_FAIL.includes(path));
    const wanted = Object.keys(files).filter((path) => /pids\.max|cgroup\.procs/.test(path));
    assert.deepEqual(set, wanted);
  });
}
