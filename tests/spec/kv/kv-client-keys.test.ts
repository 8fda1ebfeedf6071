// Names of secrets through the client: one with a slash at its end is not the one without it.

import assert from "node:assert/strict";
import test from "node:test";
import { connect, cubbyhole, kv } from "@holdfast/client";
import { ApiError } from "@holdfast/client/api-error";
import { startServer } from "../../support/servers/test-server.ts";

test("a name with a slash at its end is refused and not read as the one without; lists take both", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const client = connect({ address: server.url, token });
  t.after(() => client.close());
  const body = { type: "kv", options: { version: "2" } };
  await server.call("POST", "/v1/sys/mounts/secret", { token, body });
  await kv.write(client, "secret", { path: "a/x", data: { v: 1 } });
  await cubbyhole.writeCubbyhole(client, { path: "x", data: { v: 1 } });
  const refused = (error: unknown) =>
    error instanceof ApiError && /only lists end in a slash/.test(error.message);
  await assert.rejects(kv.read(client, "secret", { path: "a/x/" }), refused);
  await assert.rejects(kv.delete(client, "secret", { path: "a/x/" }), refused);
  await assert.rejects(cubbyhole.readCubbyhole(client, { path: "x/" }), refused);
  const read = await kv.read(client, "secret/", { path: "/a/x" });
  assert.deepEqual(read.data.data, { v: 1 });
  for (const path of ["a", "a/"]) {
    const { data } = await kv.listBelow(client, "secret", { path });
    assert.deepEqual(data.keys, ["x"]);
  }
});
