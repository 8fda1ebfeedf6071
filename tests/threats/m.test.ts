// Threats M: pages of other sites. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { lastIndex, scene } from "./scene.ts";

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
