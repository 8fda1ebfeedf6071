// Threats D where RGPs and EGPs judge: what counts is the namespace that a request goes to, and no
// cache takes one for another. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { governedServer } from "../support/servers/governed-server.ts";
import { EVERYTHING, rule } from "./scene.ts";

const HARD = "hard-mandatory";

test("T-D06: an EGP judges where the request goes, however the namespace is named", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/a");
  await server.must("POST", "/v1/sys/namespaces/b", { namespace: "a" });
  await server.acl("all", rule("a/b/*", EVERYTHING) + rule("*", EVERYTHING));
  const { secret: token } = await server.client(["all"]);
  const ways = [
    ["/v1/a/b/secret/x", undefined],
    ["/v1/b/secret/x", "a"],
    ["/v1/secret/x", "a/b"],
    ["/v1/secret/x", "/a/b/"],
  ] as const;
  const statuses = async () => {
    const answers = ways.map(([path, namespace]) => server.call("GET", path, { token, namespace }));
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  const all = (status: number) => ways.map(() => status);
  assert.deepEqual(await statuses(), all(404));
  for (const [namespace, path] of [
    [undefined, "a/b/secret/x"],
    [undefined, "a/b/*"],
    [undefined, "*"],
    ["a", "b/secret/x"],
    ["a", "b/secret/*"],
    ["a/b", "secret/x"],
    ["a/b", "*"],
  ] as const) {
    await server.egp("no", "false", HARD, [path], namespace);
    assert.deepEqual(await statuses(), all(403), `${path} in ${namespace ?? "root"}`);
    await server.must("DELETE", "/v1/sys/policies/egp/no", { namespace });
    assert.deepEqual(await statuses(), all(404), `${path} deleted in ${namespace ?? "root"}`);
  }
  // What a program is told is the same, too.
  const program = 'request.path == "secret/x" && namespace.path in ["a/b", "a/b/"]';
  await server.egp("told", program, HARD, ["*"]);
  assert.deepEqual(await statuses(), all(404));
});

test("T-D07: what a child writes about a restricted endpoint judges nothing", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/a");
  await server.egp("no", "false", HARD, ["*", "sys/*", "sys/quotas/config"], "a");
  await server.acl("all", rule("*", EVERYTHING));
  const { secret: token } = await server.client(["all"]);
  const answer = await server.call("GET", "/v1/sys/quotas/config", { token });
  assert.equal(answer.status, 200, answer.text);
});

test("T-D09: RGPs and EGPs of one name in two namespaces are never each other's", async (t) => {
  const server = await governedServer(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  t.after(() => agent.destroy());
  for (const namespace of ["a", "b"]) {
    await server.must("POST", `/v1/sys/namespaces/${namespace}`);
    await server.acl("all", rule("*", EVERYTHING), namespace);
    const own = namespace === "a" ? "x" : "y";
    await server.rgp("same", `request.path != "secret/rgp-${own}"`, HARD, namespace);
    await server.egp("same", `request.path != "secret/egp-${own}"`, HARD, ["secret/*"], namespace);
  }
  const tokens = {
    a: (await server.client(["all", "same"], "a")).secret,
    b: (await server.client(["all", "same"], "b")).secret,
  };
  const ask = async (namespace: "a" | "b", path: string) => {
    const token = tokens[namespace];
    return (await server.call("GET", `/v1/secret/${path}`, { token, namespace, agent })).status;
  };
  for (let i = 0; i < 100; i++) {
    const answers = ["rgp-x", "rgp-y", "egp-x", "egp-y"].flatMap((path) => [
      ask("a", path),
      ask("b", path),
    ]);
    assert.deepEqual(await Promise.all(answers), [403, 404, 404, 403, 403, 404, 404, 403]);
    if (i % 10 !== 0) continue;
    // A change in one is none in the other.
    await server.egp("same", 'request.path != "secret/egp-x"', HARD, ["secret/*"], "a");
  }
});
