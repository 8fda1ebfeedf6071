// Threats M: pages of other sites. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../support/http-client.ts";
import { lastIndex, scene } from "./scene.ts";

// Two of these are what a text answer has inside; a third would break a header, a fourth is no text.
const RECORDS: readonly Readonly<Record<string, unknown>>[] = [
  { contentType: "text/html; charset=utf-8", text: "<h1>hello</h1><script>fetch(1)</script>" },
  { contentType: "text/html\r\nX-Evil: 1", text: "hello", password: "kept" },
  { contentType: 17, text: "hello" },
  { contentType: "text/html", text: 17 },
  { contentType: "application/json", text: "{}", keys: [] },
];

test("T-M02: what is stored never chooses the type of its answer, nor loses a member", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/one", {
    body: { type: "kv", options: { version: "1" } },
  });
  for (const [number, record] of RECORDS.entries()) {
    for (const path of [`/v1/one/r${number}`, `/v1/cubbyhole/r${number}`]) {
      await stage.must("POST", path, { body: record });
      const answer = await stage.must("GET", path);
      assert.equal(answer.headers["content-type"], "application/json", path);
      assert.deepEqual((answer.json as { data: unknown }).data, record, path);
      assert.equal(answer.headers["x-evil"], undefined);
    }
    const headers = { "X-Service-Wrap-TTL": "60s" };
    const wraps = [
      await stage.must("GET", `/v1/one/r${number}`, { headers }),
      await stage.must("POST", "/v1/sys/wrapping/wrap", { headers, body: record }),
    ];
    for (const wrapped of wraps) {
      const token = String(at(wrapped, "wrap_info", "token"));
      const answer = await stage.server.call("POST", "/v1/sys/wrapping/unwrap", { token });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers["content-type"], "application/json");
      assert.deepEqual((answer.json as { data: unknown }).data, record);
    }
  }
});

test("T-M02: every answer of the API is JSON without parameters, or the text its declaration names", async (t) => {
  const stage = await scene(t);
  for (const endpoint of stage.server.server.endpoints) {
    if (/seal$|revoke.*self/i.test(endpoint.name)) continue;
    const path = `/v1${endpoint.path.replaceAll(/:(\w+)\+?/g, "x-$1")}`;
    for (const token of [stage.root, undefined]) {
      const sends = !["GET", "LIST"].includes(endpoint.method);
      const answer = await stage.server.call(endpoint.method, path, {
        token,
        ...(sends ? { body: {} } : {}),
      });
      const what = `${endpoint.method} ${path}: ${answer.status}`;
      assert.equal(answer.headers["x-content-type-options"], "nosniff", what);
      const type = answer.headers["content-type"];
      if (answer.text === "") assert.equal(type, undefined, what);
      else assert.equal(type, "application/json", what);
    }
  }
  const metrics = await stage.must("GET", "/v1/sys/metrics?format=prometheus");
  assert.equal(metrics.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
});

test("T-M05: a cookie is no authority, a form is no body, and a foreign page is refused", async (t) => {
  const stage = await scene(t);
  const { root, server } = stage;
  const before = await lastIndex(stage);
  const path = "/v1/sys/namespaces/made-by-a-page";
  const status = async (headers: Readonly<Record<string, string>>, token?: string, body?: string) =>
    (await server.call("POST", path, { headers, token, body })).status;
  for (const name of ["token", "X-Service-Token", "vault-token", "session", "__Host-token"]) {
    assert.equal(await status({ Cookie: `${name}=${root}` }), 403, name);
  }
  // What a page can send without asking first (decision 33 lets JSON typed into curl pass).
  for (const type of [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
  ]) {
    assert.equal(await status({ "Content-Type": type }, root, "custom_metadata=x"), 415, type);
  }
  for (const type of [
    "text/plain",
    "application/json, text/plain",
    "application/json\ta",
    "application/jsonx",
  ]) {
    assert.equal(await status({ "Content-Type": type }, root, "{}"), 415, type);
  }
  for (const origin of [
    "https://evil.example",
    "null",
    "http://127.0.0.1.evil.example",
    "http://localhost:1",
  ]) {
    const answer = await server.call("POST", path, { headers: { Origin: origin }, token: root });
    assert.equal(answer.status, 403, origin);
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
  }
  assert.equal(await lastIndex(stage), before, "nothing was written");
  const own = { Origin: server.url };
  assert.equal(await status(own, root), 200, "the console's own page may");
});
