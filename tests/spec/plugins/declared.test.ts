// Plugins that the configuration declares: there when the server is unsealed, changed by it alone, gone when it no longer
// says so.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { Config, DeclaredPlugin } from "../../../src/config/config.ts";
import { type Answer, errorsOf } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

const AT = "sys/plugins/catalog/secret/small";
const SUM = "ab".repeat(32);

function refusal(answer: Answer): string {
  assert.equal(answer.status, 400, answer.text);
  return (errorsOf(answer) as string[]).join("\n");
}

test("what blocks say is registered at unseal and on reload, and callers do not change it", async (t) => {
  const kept: Config[] = [];
  const server = await PluginServer.start(t, {
    settings: {
      plugin: {
        secret: {
          small: { command: "small.mjs", sha256: SUM, version: "1.2", env: ["A=ossifrage"] },
        },
      },
    },
    config: (config) => {
      kept.push(config);
      return config;
    },
  });
  const [config] = kept;
  assert.ok(config !== undefined);
  const { reported_version: _, ...read } = await server.data(AT);
  assert.deepEqual(read, {
    name: "small",
    version: "v1.2.0",
    builtin: false,
    command: "small.mjs",
    args: [],
    sha256: SUM,
    declared: true,
    mounts: [],
    processes: [],
  });
  const log = server.test.lines.join("\n");
  assert.match(
    log,
    /a declared plugin is not as it was declared.*there is no such file in the plugin directory/,
  );
  assert.ok(!log.includes("ossifrage"));
  const own = /^secret small is declared in the configuration file and can be changed only there$/;
  const sha256 = server.place.putSmall();
  const started = join(server.place.base, "started");
  const args = ["--silent", `--counts=${started}`];
  const body = { command: "small.mjs", sha256, version: "v1.2.0", args };
  assert.match(refusal(await server.call("DELETE", `${AT}?version=v1.2.0`)), own);
  assert.match(refusal(await server.call("POST", AT, { body: { ...body, version: "1.2" } })), own);
  assert.ok(!existsSync(started), "nothing is started for what is refused");

  const [first] = config.plugins.declared;
  assert.ok(first !== undefined);
  const reload = (...declared: DeclaredPlugin[]) =>
    server.test.server.reload({ ...config, plugins: { ...config.plugins, declared } });
  assert.deepEqual(await reload({ ...first, sha256 }), []);
  assert.equal((await server.data(AT))["sha256"], sha256);
  const next = { ...first, version: "v2.0.0", command: "absent" };
  const [problem, ...others] = await reload({ ...first, sha256, args: ["--x"] }, next);
  assert.match(
    problem ?? "",
    /^plugin "secret" "small": .*plugin file absent: there is no such file/,
  );
  assert.deepEqual(others, []);
  assert.deepEqual((await server.data(`${AT}?version=v1.2.0`))["args"], ["--x"]);
  // Nothing goes while one of them cannot be read, since nobody knows which it was.
  const [unread] = await reload({ ...first, version: "x" });
  assert.match(unread ?? "", /version is not a valid semantic version/);
  assert.equal((await server.call("GET", `${AT}?version=v2.0.0`)).status, 200);
  // What is pinned stays, and is told.
  await server.ok("POST", "sys/plugins/pins/secret/small", { version: "v2.0.0" });
  const [pinned] = await reload({ ...first, sha256 });
  assert.match(pinned ?? "", /cannot delete a pinned version/);
  await server.ok("DELETE", "sys/plugins/pins/secret/small");
  assert.deepEqual(await reload(), []);
  assert.equal((await server.call("GET", AT)).status, 404);
});
