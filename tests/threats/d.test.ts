// Threats D: namespaces. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { at } from "../support/http-client.ts";
import { Dice } from "./dice.ts";
import { EVERYTHING, lastIndex, rule, scene } from "./scene.ts";

test("T-D01: no name means the namespace itself or the one above", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("a");
  const body = { custom_metadata: { kept: "yes" } };
  await stage.must("POST", "/v1/sys/namespaces/a", { body });
  const before = await lastIndex(stage);
  const names = ["root", "Root", "ROOT", ".", "..", "", "%72oot", "%2E", "sys", "a/root", "root/a"];
  for (const name of names) {
    for (const [verb, namespace] of [
      ["GET", "a"],
      ["PATCH", "a"],
      ["POST", "a"],
      ["DELETE", "a"],
      ["DELETE", ""],
    ] as const) {
      const type = "Content-Type: application/merge-patch+json";
      const headers = [`X-Service-Token: ${stage.root}`, `X-Service-Namespace: ${namespace}`];
      const sends = verb === "PATCH" ? [type, "Content-Length: 2"] : [];
      const target = `/v1/sys/namespaces/${name}`;
      const head = `${verb} ${target} HTTP/1.1\r\nHost: localhost\r\n`;
      const bytes = `${head}${[...headers, ...sends].join("\r\n")}\r\n\r\n${verb === "PATCH" ? "{}" : ""}`;
      const { status } = await stage.raw(bytes);
      assert.ok([400, 404, 405].includes(status), `${verb} ${name} in "${namespace}": ${status}`);
    }
  }
  assert.equal(await lastIndex(stage), before, "nothing was written");
  const a = await stage.must("GET", "/v1/sys/namespaces/a");
  assert.deepEqual(at(a, "data", "custom_metadata"), body.custom_metadata);
});

test("T-D05: odd names, deep paths and races of creation and deletion hurt nobody", async (t) => {
  const stage = await scene(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  const dice = new Dice(5);
  const escape = () => `%${dice.below(256).toString(16).toUpperCase().padStart(2, "0")}`;
  const parts = [
    "a",
    "é",
    "..",
    "/",
    "__proto__",
    "constructor",
    " ",
    "~",
    "'",
    "%",
    "\\",
    "sys",
  ] as const;
  const call = (verb: string, path: string) =>
    stage.server.call(verb, `/v1/sys/namespaces/${path}`, { token: stage.root, agent });
  let [made, refused] = [0, 0];
  for (let i = 0; i < 300; i++) {
    let name = "";
    for (let length = 1 + dice.below(12); length > 0; length--) {
      name += dice.below(3) === 0 ? escape() : encodeURI(dice.of(parts));
    }
    const { status, text } = await call("POST", name);
    assert.ok(status < 500, `${name}: ${status} ${text}`);
    if (status < 300) made++;
    else refused++;
    await call("DELETE", name);
  }
  assert.ok(made > 5 && refused > 100, `${made} made, ${refused} refused`);
  for (const deep of ["a/".repeat(10_000), "a/".repeat(500), `${"a/".repeat(30)}a`]) {
    const { status } = await call("POST", `${deep}a`);
    assert.ok(status >= 400 && status < 500, `${status}`);
  }
  const acts = Array.from({ length: 300 }, () => dice.of(["POST", "DELETE", "GET"]));
  const answers = await Promise.all(acts.map((verb) => call(verb, "raced")));
  for (const { status, text } of answers) assert.ok(status < 500, `${status} ${text}`);
  assert.ok(answers.filter(({ status }) => status < 300).length > 50, "most had their turn");
  await stage.server.server.namespaces.idle();
  const last = await call("GET", "raced");
  assert.ok(last.status === 200 || last.status === 404);
  assert.equal((await stage.server.call("GET", "/v1/sys/health")).status, 200);
});

test("T-D06: management and every right of one namespace are nothing beside it or above", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("a", "a/below", "b");
  const { tokens } = stage.server.server;
  const management = await tokens.writes.create({
    type: "management",
    policies: [],
    namespaceId: stage.idOf("a"),
    global: true,
  });
  const everything = rule("*", [...EVERYTHING, "sudo"]);
  const callers = [management.secret.reveal(), await stage.clientWith(everything, "a")];
  const before = await lastIndex(stage);
  const ask = (token: string, path: string, namespace?: string) =>
    stage.server.call("POST", `/v1/${path}`, { token, namespace });
  for (const token of callers) {
    for (const [path, namespace] of [
      ["sys/namespaces/x"],
      ["sys/namespaces/x", "b"],
      ["b/sys/namespaces/x"],
      ["sys/namespaces/x", "/"],
      ["sys/policies/acl/x"],
    ] as const) {
      const answer = await ask(token, path, namespace);
      assert.equal(answer.status, 403, `${path} in ${namespace ?? "root"}: ${answer.text}`);
    }
  }
  assert.equal(await lastIndex(stage), before, "nothing was written");
  for (const [i, token] of callers.entries()) {
    assert.equal((await ask(token, `sys/namespaces/x${i}`, "a")).status, 200);
    assert.equal((await ask(token, `a/sys/namespaces/y${i}`)).status, 200);
  }
  assert.equal((await ask(callers[0] ?? "", "sys/namespaces/z", "a/below")).status, 200);
});

test("T-D06: where a right is judged is where it takes effect", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("a", "b", "a/b");
  const { root: token } = stage;
  const here = (namespace: string) => stage.server.server.namespaces.named(namespace);
  // The header is joined in front of the path; what the body says about it is no field.
  const body = { namespace: "b", custom_metadata: {} };
  const made = await stage.server.call("POST", "/v1/b/sys/namespaces/x", {
    token,
    namespace: "a",
    body,
  });
  assert.equal(at(made, "data", "path"), "a/b/x/");
  assert.match(String(at(made, "warnings", 0)), /namespace/);
  assert.deepEqual([here("b/x"), here("a/x"), here("x")], [null, null, null]);
  // Two headers that differ, or one that is no path.
  const before = await lastIndex(stage);
  for (const [status, headers] of [
    [400, { "X-Service-Namespace": "a", "X-Vault-Namespace": "b" }],
    [400, { "X-Service-Namespace": "a//b" }],
    [400, { "X-Service-Namespace": "a/../b" }],
    [400, { "X-Service-Namespace": "a\\b" }],
    [400, { "X-Service-Namespace": "%61" }],
    [400, { "X-Service-Namespace": "//a" }],
    [403, { "X-Service-Namespace": "a, b" }],
  ] as const) {
    const answer = await stage.server.call("POST", "/v1/sys/namespaces/y", { token, headers });
    assert.equal(answer.status, status, JSON.stringify(headers));
  }
  // A prefix that leads out of the header's namespace leads nowhere.
  const out = await stage.server.call("POST", "/v1/a/sys/namespaces/y", { token, namespace: "b" });
  assert.equal(out.status, 404);
  assert.equal(await lastIndex(stage), before, "nothing was written");
  // Rights at home are none in a child, however it is named, and a child's are none at home.
  const home = await stage.clientWith(rule("sys/namespaces/*", EVERYTHING));
  const child = await stage.clientWith(rule("sys/namespaces/*", EVERYTHING), "a");
  for (const [who, path, namespace] of [
    [home, "/v1/a/sys/namespaces/y", undefined],
    [home, "/v1/sys/namespaces/y", "a"],
    [child, "/v1/sys/namespaces/y", undefined],
    [child, "/v1/sys/namespaces/y", ""],
    [child, "/v1/b/sys/namespaces/y", undefined],
    [child, "/v1/sys/namespaces/y", "b"],
  ] as const) {
    const answer = await stage.server.call("POST", path, { token: who, namespace });
    assert.equal(answer.status, 403, `${path} in ${namespace ?? "-"}`);
  }
  for (const path of ["y", "a/y", "b/y", "a/b/y"]) assert.equal(here(path), null, path);
  const own = await stage.server.call("POST", "/v1/sys/namespaces/y", {
    token: child,
    namespace: "a",
  });
  assert.equal(at(own, "data", "path"), "a/y/");
});

test("T-D07: restricted endpoints are closed to child namespaces by header and prefix together, and encoded", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("a", "a/b");
  const restricted = stage.server.server.endpoints.filter(({ rootOnly }) => rootOnly);
  assert.ok(restricted.length > 40);
  for (const { method, path } of restricted) {
    const target = path.replaceAll(/:(\w+)\+?/g, "x-$1");
    const body = ["POST", "PATCH"].includes(method) ? {} : undefined;
    const ask = (where: string, namespace: string) =>
      stage.server.call(method, where, { token: stage.root, namespace, body });
    for (const [where, namespace, status] of [
      [`/v1/b${target}`, "a", 403],
      [`/v1${target}`, "a/b", 403],
      [`/v1${target}`, "/a/b/", 403],
      [target, "a", path.startsWith("/identity/") ? 404 : 403], // nothing is there without /v1
      [`/v1/%61${target}`, "", 400],
      [`/v1/a//b${target}`, "", 400],
      [`/v1/a/.${target}`, "", 400],
      [`/v1${target}`, "%61", 400],
    ] as const) {
      const answer = await ask(where, namespace);
      assert.equal(answer.status, status, `${method} ${where} in "${namespace}": ${answer.text}`);
    }
  }
  assert.equal(stage.server.server.keeper.sealed, false, "nobody sealed it");
});

test("T-D09: the same path and the same policy in two namespaces are never each other's", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("a", "b");
  for (const namespace of ["a", "b"]) {
    const body = { custom_metadata: { of: namespace } };
    await stage.must("POST", "/v1/sys/namespaces/x", { namespace, body });
  }
  await stage.writePolicy("same", rule("sys/namespaces/x", ["read"]), "a");
  await stage.writePolicy("same", rule("sys/namespaces/x", ["deny"]), "b");
  const [reads, denied] = [await stage.client(["same"], "a"), await stage.client(["same"], "b")];
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  const ask = (token: string, namespace: string) =>
    stage.server.call("GET", "/v1/sys/namespaces/x", { token, namespace, agent });
  for (let i = 0; i < 250; i++) {
    const [a, b, ofA, ofB, crossed] = await Promise.all([
      ask(reads, "a"),
      ask(denied, "b"),
      ask(stage.root, "a"),
      ask(stage.root, "b"),
      ask(reads, "b"),
    ]);
    assert.deepEqual([a.status, b.status, crossed.status], [200, 403, 403]);
    assert.equal(at(a, "data", "custom_metadata", "of"), "a");
    assert.equal(at(ofA, "data", "custom_metadata", "of"), "a");
    assert.equal(at(ofB, "data", "custom_metadata", "of"), "b");
  }
});

test("T-D06: a mount that moves into a namespace below is judged there by what moves", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  await stage.must("POST", "/v1/sys/mounts/own", { body: { type: "kv" } });
  await stage.must("POST", "/v1/sys/mounts/kv", { namespace: "team", body: { type: "kv" } });
  const here = rule("sys/remount", ["update", "sudo"]);
  const move = async (token: string, from: string, to: string, namespace?: string) =>
    (await stage.server.call("POST", "/v1/sys/remount", { token, namespace, body: { from, to } }))
      .status;
  // Whatever a request in the namespace itself is refused for is refused from above.
  const weak = await stage.clientWith(here + rule("team/sys/remount", ["update"]));
  const bounds = 'denied_parameters = { "to" = ["closed"] }';
  const bound = await stage.clientWith(here + rule("team/sys/remount", ["update", "sudo"], bounds));
  for (const [token, to] of [
    [weak, "new"],
    [bound, "closed"],
  ] as const) {
    assert.equal(await move(token, "kv", to, "team"), 403);
    assert.equal(await move(token, "team/kv", `team/${to}`), 403);
    assert.equal(await move(token, "own", `/team/${to}/`), 403);
  }
  assert.equal(await move(bound, "own", "team/new"), 200);
});
