import assert from "node:assert/strict";
import { test } from "node:test";
import { REFUSED_CALLS } from "../../../tests/support/plugins/refused-calls.ts";
import { ociSpec, type SpecParts } from "./oci-spec.ts";

const PARTS: SpecParts = {
  program: {
    type: "secret",
    name: "boxed",
    version: "v1.0.0",
    sha256: "ab".repeat(32),
    command: "",
    args: [],
    env: [],
    ociImage: "box",
    runtime: "",
    network: "none",
    container: null,
  },
  config: { entrypoint: ["/x"], words: [], env: [], folder: "/", user: "" },
  root: "/root",
  user: { user: 1, group: 2 },
  env: {},
  folders: { own: "/own", ours: "/ours" },
  ranges: null,
  cgroup: null,
  limitsSwap: true,
  bound: [],
  arch: "x64",
};

function limitsOf(parts: SpecParts) {
  const { process } = ociSpec(parts) as {
    readonly process: { readonly rlimits: readonly Record<string, unknown>[] };
  };
  return process.rlimits.map(({ type, hard, soft }) => [type, hard, soft]);
}

test("T-H07: where no group counts the processes of a container those of its user are", () => {
  const always = [
    ["RLIMIT_CORE", 0, 0],
    ["RLIMIT_NOFILE", 4096, 4096],
  ];
  assert.deepEqual(limitsOf(PARTS), [...always, ["RLIMIT_NPROC", 4096, 4096]]);
  assert.deepEqual(limitsOf({ ...PARTS, cgroup: "/group" }), always);
});

test("T-H07: the calls that are refused to a container are these, and new namespaces whichever way they are asked for", () => {
  const { linux } = ociSpec(PARTS) as {
    readonly linux: { readonly seccomp: Record<string, unknown> & { readonly syscalls: Rule[] } };
  };
  const { syscalls, ...rest } = linux.seccomp;
  assert.deepEqual(rest, {
    defaultAction: "SCMP_ACT_ALLOW",
    // Those of 32 bits, too: a process may ask by either.
    architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
  });
  const [all, ...others] = syscalls;
  assert.deepEqual(all?.names.toSorted(), Object.keys(REFUSED_CALLS));
  for (const rule of syscalls) assert.equal(rule.action, "SCMP_ACT_ERRNO");
  assert.deepEqual(
    syscalls.map(({ errnoRet }) => errnoRet),
    [1, ...Array.from({ length: 7 }, () => 1), 38],
  );
  const flags = others.slice(0, -1).map(({ names, args }) => [names, args]);
  const bit = (value: number) => ({ index: 0, value, valueTwo: value, op: "SCMP_CMP_MASKED_EQ" });
  assert.deepEqual(
    flags,
    // mount, cgroup, uts, ipc, user, pid and network
    [17, 25, 26, 27, 28, 29, 30].map((at) => [["clone"], [bit(2 ** at)]]),
  );
  assert.deepEqual(others.at(-1)?.names, ["clone3"]);
});

interface Rule {
  readonly names: string[];
  readonly action: string;
  readonly errnoRet: number;
  readonly args?: readonly object[];
}
