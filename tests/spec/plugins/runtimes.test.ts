// Plugin runtimes over HTTP: what is kept of them, what is refused, and that one stays while a plugin needs it.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";
import { type EngineServer, engineServer } from "../../support/servers/engine-server.ts";

const LIST = "sys/plugins/runtimes/catalog";
const BOX = `${LIST}/container/box`;

/** With one runtime that is there, whatever the machine has, and one that is not. */
function started(t: TestContext): Promise<EngineServer> {
  const plugin_oci_runtimes = [process.execPath, "/no/such/crun"];
  return engineServer(t, { settings: { plugin_oci_runtimes } });
}

const HERE = process.execPath.slice(process.execPath.lastIndexOf("/") + 1);

function refusal(answer: Answer, status = 400): string {
  assert.equal(answer.status, status, answer.text);
  return (errorsOf(answer) as string[]).join("\n");
}

function dataOf(answer: Answer): Record<string, unknown> {
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as Record<string, unknown>;
}

test("143: an empty description has the defaults; null and nothing are alike", async (t) => {
  const server = await started(t);
  const defaults = {
    name: "box",
    type: "container",
    oci_runtime: "runsc",
    cgroup_parent: "",
    cpu_nanos: 0,
    memory_bytes: 0,
    rootless: false,
  };
  const none = {
    rootless: null,
    oci_runtime: null,
    cgroup_parent: null,
    cpu_nanos: null,
    memory_bytes: null,
  };
  const empty = {
    oci_runtime: "",
    cgroup_parent: "",
    cpu_nanos: 0,
    memory_bytes: 0,
    rootless: false,
  };
  for (const body of [{}, none, empty]) {
    const made = await server.must("POST", BOX, body);
    assert.match(String(at(made, "warnings")), /the container runtime runsc is not installed here/);
    assert.deepEqual(dataOf(await server.ask("GET", BOX)), defaults);
  }
  const whole = {
    rootless: true,
    oci_runtime: HERE,
    cgroup_parent: "/plugins/small",
    cpu_nanos: 500_000_000,
    memory_bytes: 64 * 1024 * 1024,
  };
  assert.equal((await server.ask("PUT", BOX, whole)).status, 204, "it is installed");
  assert.deepEqual(dataOf(await server.ask("GET", BOX)), { ...defaults, ...whole });
  await server.must("POST", BOX, { oci_runtime: HERE });
  assert.deepEqual(
    dataOf(await server.ask("GET", BOX)),
    { ...defaults, oci_runtime: HERE },
    "what is left out is not kept",
  );
  const missing = await server.must("POST", BOX, { oci_runtime: "crun" });
  assert.match(String(at(missing, "warnings")), /the container runtime crun is not installed here/);
});

test("144, 149: limits and names that are refused", async (t) => {
  const server = await started(t);
  const refusedAs = async (text: RegExp, body: object) =>
    assert.match(refusal(await server.ask("POST", BOX, body)), text, JSON.stringify(body));
  await refusedAs(/^runtime cpu in nanos cannot be negative$/, { cpu_nanos: -1 });
  await refusedAs(/^runtime memory in bytes cannot be negative$/, { memory_bytes: -1 });
  await refusedAs(/^cpu_nanos must be 0 for no limit, or at least 10000000$/, { cpu_nanos: 1 });
  await refusedAs(/^memory_bytes must be 0 for no limit, or at least 16777216$/, {
    memory_bytes: 1000,
  });
  for (const number of ["NaN", 1.5, "9223372036854775808", 2 ** 63]) {
    await refusedAs(/^memory_bytes must be a whole number/, { memory_bytes: number });
  }
  for (const oci_runtime of [
    "/bin/sh",
    "/opt/x",
    "a b",
    "..",
    "../runc",
    "runc",
    "sh",
    "x".repeat(65),
  ]) {
    await refusedAs(/^oci_runtime must be one of those that plugin_oci_runtimes names/, {
      oci_runtime,
    });
  }
  for (const cgroup_parent of ["../../", "/a/../b", "relative", "/", "/a b", "/a\n"]) {
    await refusedAs(/^cgroup_parent must be an absolute path/, { cgroup_parent });
  }
  for (const name of ["-a", "a-", "a..b", "a%20b", "a%3Bb", "x".repeat(129)]) {
    const answer = await server.ask("POST", `${LIST}/container/${name}`, {});
    assert.match(refusal(answer), /^the name of a plugin runtime must have/, name);
  }
  assert.deepEqual(dataOf(await server.ask("LIST", LIST)), { runtimes: [] });
});

test("145, 146: lists by both verbs, of one type, of none; another type has no path", async (t) => {
  const server = await started(t);
  for (const [method, query] of [
    ["LIST", ""],
    ["GET", ""],
    ["GET", "?list=true"],
    ["GET", "?type=container"],
    ["LIST", "?type=container"],
  ]) {
    assert.deepEqual(
      dataOf(await server.ask(method!, LIST + query)),
      { runtimes: [] },
      `${method} ${query}`,
    );
  }
  assert.match(
    refusal(await server.ask("GET", `${LIST}?type=vm`)),
    /^"vm" is not a supported plugin runtime type/,
  );
  for (const method of ["GET", "POST", "DELETE"]) {
    const body = method === "POST" ? {} : undefined;
    assert.equal((await server.ask(method, `${LIST}/vm/box`, body)).status, 404, method);
  }
  for (const name of ["b", "A", "a.b"]) await server.must("POST", `${LIST}/container/${name}`, {});
  const { runtimes } = dataOf(await server.ask("GET", LIST));
  assert.deepEqual(
    (runtimes as { name: string }[]).map(({ name }) => name),
    ["A", "a.b", "b"],
  );
});

test("147: a runtime stays while a plugin needs it", async (t) => {
  const server = await started(t);
  assert.match(refusal(await server.ask("DELETE", BOX), 404), /^plugin runtime not found$/);
  assert.match(refusal(await server.ask("GET", BOX), 404), /^plugin runtime not found$/);
  await server.must("POST", BOX, {});
  const { catalog } = server.test.server.plugins;
  const entry = {
    type: "secret",
    version: "",
    sha256: "ab".repeat(32),
    command: "",
    args: [],
    env: [],
    ociImage: "team/a",
    runtime: "box",
    network: "none",
    reportedVersion: "",
    declared: false,
  } as const;
  await catalog.register({ ...entry, name: "b" });
  await catalog.register({ ...entry, name: "a", type: "auth" });
  assert.match(
    refusal(await server.ask("DELETE", BOX)),
    /^unable to delete "box" runtime\. Registered plugins=\[a b\] are referencing it\.$/,
  );
  await server.must("DELETE", "sys/plugins/catalog/auth/a");
  await server.must("DELETE", "sys/plugins/catalog/secret/b");
  assert.equal((await server.ask("DELETE", BOX)).status, 204);
});
