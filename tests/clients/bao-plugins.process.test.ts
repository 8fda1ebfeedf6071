// The existing ecosystem's command line on plugins: its requests, members and verbs, and what it reads of the answers.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at, call } from "../support/http-client.ts";
import { PluginServer } from "../support/plugins/mounted-plugins.ts";

test("register, info, list, pin, reload, deregister and runtimes, as its client library sends them", async (t) => {
  const server = await PluginServer.start(t);
  const ask = (method: string, path: string, body?: object): Promise<Answer> =>
    call(server.test.url, method, `/v1/${path}`, {
      headers: { "X-Vault-Token": server.opened.token, "X-Vault-Request": "true" },
      ...(body === undefined ? {} : { body: `${JSON.stringify(body)}\n` }),
    });
  const sha256 = server.place.putSmall();
  const entry = { args: ["--one"], command: "small.mjs", sha256, version: "v1.2.3", env: ["A=b"] };
  const made = await ask("PUT", "sys/plugins/catalog/secret/small", entry);
  assert.ok(made.status === 204 || made.status === 200, made.text);
  // Terraform's provider, and older versions.
  const older = {
    type: "secret",
    name: "small",
    sha_256: sha256,
    command: "small.mjs",
    args: [],
    version: "v1.2.3",
  };
  assert.equal((await ask("PUT", "sys/plugins/catalog/secret/small", older)).status, 200);
  const info = await ask("GET", "sys/plugins/catalog/secret/small?version=v1.2.3");
  for (const member of ["args", "builtin", "command", "name", "sha256", "version"]) {
    assert.ok(member in (at(info, "data") as object), member);
  }
  const all = at(await ask("GET", "sys/plugins/catalog"), "data") as Record<string, unknown[]>;
  for (const one of all["detailed"] ?? []) {
    for (const member of ["type", "name", "version", "builtin"])
      assert.ok(member in (one as object));
  }
  for (const type of ["auth", "secret"]) {
    assert.equal((await ask("GET", `sys/plugins/catalog/${type}?list=true`)).status, 200, type);
    assert.equal((await ask("LIST", `sys/plugins/catalog/${type}/`)).status, 200, type);
  }
  const pin = "sys/plugins/pins/secret/small";
  assert.equal((await ask("PUT", pin, { version: "v1.2.3" })).status, 204);
  assert.equal(at(await ask("GET", pin), "data", "version"), "v1.2.3");
  assert.equal((await ask("DELETE", pin)).status, 204);

  const none = await ask("PUT", "sys/plugins/reload/backend", { plugin: "small" });
  assert.equal(none.status, 200);
  assert.deepEqual(at(none, "warnings"), ["no plugins were reloaded"]);
  assert.equal((await ask("PUT", "sys/plugins/reload/secret/small", { scope: "" })).status, 200);
  const everywhere = await ask("PUT", "sys/plugins/reload/unknown/small", { scope: "global" });
  assert.equal(everywhere.status, 202, "by which it knows that it has to ask");
  const id = String(at(everywhere, "data", "reload_id"));
  const status = await ask("GET", `sys/plugins/reload/backend/status?reload_id=${id}`);
  assert.equal(at(status, "data", "reload_id"), id);

  assert.equal(
    (await ask("DELETE", "sys/plugins/catalog/secret/small?version=v1.2.3")).status,
    204,
  );
  const box = "sys/plugins/runtimes/catalog/container/box";
  assert.ok((await ask("PUT", box, { oci_runtime: "runc", cpu_nanos: 500_000_000 })).status <= 204);
  assert.equal(at(await ask("GET", box), "data", "cpu_nanos"), 500_000_000);
  assert.equal(
    (at(await ask("LIST", "sys/plugins/runtimes/catalog"), "data", "runtimes") as object[]).length,
    1,
  );
  assert.equal(
    (at(await ask("GET", "sys/plugins/runtimes/catalog"), "data", "runtimes") as object[]).length,
    1,
  );
  assert.equal((await ask("DELETE", box)).status, 204);
});
