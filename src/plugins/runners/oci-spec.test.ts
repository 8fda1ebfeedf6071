import assert from "node:assert/strict";
import { test } from "node:test";
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
