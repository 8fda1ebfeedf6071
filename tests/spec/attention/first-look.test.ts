// What is looked at while a server is being unsealed: everything can be asked about by then.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { startServer } from "../../support/servers/test-server.ts";

test("the first look, while the server is being unsealed, finds everything that it asks about", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const recorded = async () =>
    at(await server.call("GET", "/v1/sys/attention", { token }), "data", "complete");
  assert.equal(await recorded(), true);
  assert.equal(
    server.lines.filter((line) => line.includes("what needs attention failed")).length,
    0,
  );
});
