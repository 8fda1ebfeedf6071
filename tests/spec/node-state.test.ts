// What a node tells of itself to those who run it: what is in effect, whether it was written down or not.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { everyEndpoint } from "../../src/surface.ts";
import { at } from "../support/http-client.ts";
import { startServer } from "../support/servers/test-server.ts";

test("the configuration in force shows storage, seal and audit roots that no file names", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const state = await server.call("GET", "/v1/sys/config/state/sanitized", { token });
  assert.equal(state.status, 200, state.text);
  assert.equal(at(state, "data", "storage", 0, "type"), "memory");
  assert.deepEqual(at(state, "data", "seal"), [{ type: "shamir" }]);
  assert.deepEqual(at(state, "data", "audit_file_roots"), [join(server.directory, "audit")]);
});

test("the number of open files is told", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const { text } = await server.call("GET", "/v1/sys/metrics?format=prometheus", { token });
  assert.match(text, /^process_open_fds [1-9][0-9]*$/m);
});

test("of what is open a sealed node answers what is declared so, and nothing else", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  await server.open();
  await server.server.keeper.seal();
  for (const { method, path, access, answers } of everyEndpoint) {
    if (method !== "GET" || access.kind !== "open" || path.includes(":")) continue;
    const { status, text } = await server.call("GET", `/v1${path}?sealedcode=200`);
    assert.equal(status === 503, answers !== "always", `${path}: ${text}`);
  }
});
