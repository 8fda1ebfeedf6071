import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentOf, envProblem } from "./environment.ts";

const SERVER = {
  PATH: "/opt/bin",
  HOME: "/home/of",
  LC_ALL: "C.UTF-8",
  https_proxy: "http://proxy:1",
  AWS_SECRET_ACCESS_KEY: "cloud",
  VAULT_TOKEN: "token",
  HOLDFAST_SEAL: "seal",
  NODE_OPTIONS: "--inspect",
  LD_PRELOAD: "/tmp/x.so",
  PATHS: "no",
  XPATH: "no",
};
const parts = {
  ours: SERVER,
  inherits: false,
  entry: ["REGION=north", "HOME=/of/the/entry"],
  protocol: { PLUGIN_CLIENT_CERT: "pem" },
  runtime: "/opt/node/bin/node",
};

test("case 139, T-H05: of the server's environment few variables reach a plugin", () => {
  assert.deepEqual(environmentOf(parts), {
    PATH: "/opt/node/bin:/opt/bin",
    HOME: "/of/the/entry",
    LC_ALL: "C.UTF-8",
    https_proxy: "http://proxy:1",
    REGION: "north",
    PLUGIN_CLIENT_CERT: "pem",
  });
  assert.deepEqual(environmentOf({ ...parts, ours: null }), {
    HOME: "/of/the/entry",
    REGION: "north",
    PLUGIN_CLIENT_CERT: "pem",
  });
  const all = environmentOf({ ...parts, inherits: true });
  assert.equal(all["VAULT_TOKEN"], "token");
  assert.equal(all["PLUGIN_CLIENT_CERT"], "pem", "what is the protocol's nobody replaces");
});

test("T-H05: what changes which code runs, is the protocol's or cannot be read is refused without its value", () => {
  assert.equal(envProblem(["A=", "B=x=y", "_c9=z"]), null);
  for (const [entry, says] of [
    ["LD_PRELOAD=secret", /LD_PRELOAD is not for plugins/],
    ["LD_ANYTHING=secret", /LD_ANYTHING is not for plugins/],
    ["NODE_OPTIONS=secret", /NODE_OPTIONS is not for plugins/],
    ["PATH=secret", /PATH is not for plugins/],
    ["PLUGIN_CLIENT_CERT=secret", /PLUGIN_CLIENT_CERT is set by the server/],
    ["HOLDFAST_PLUGIN_RUN=secret", /HOLDFAST_PLUGIN_RUN is set by the server/],
    ["secret", /variable 1 has no name/],
    ["=secret", /variable 1 has no name/],
    ["1A=secret", /the name of variable 1/],
    ["A B=secret", /the name of variable 1/],
    ["A=secret\0", /A holds a NUL/],
  ] as const) {
    const problem = envProblem([entry]) ?? "";
    assert.match(problem, says);
    assert.doesNotMatch(problem, /secret/);
  }
  assert.match(envProblem(["A=1", "A=2"]) ?? "", /A is there twice/);
  assert.match(envProblem(Array.from({ length: 129 }, (_, i) => `A${i}=`)) ?? "", /129 variables/);
  assert.match(envProblem([`A=${"x".repeat(70_000)}`]) ?? "", /there may be 65536/);
});
