// What the configuration says of plugins, as far as a mount shows it.

import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

test("plugin_no_multiplexing: a plugin that could be shared has a process for each mount where its name stands there", async (t) => {
  for (const [names, processes] of [
    [[], 1],
    [["other"], 1],
    [["other", "small"], 2],
  ] as const) {
    const server = await PluginServer.start(t, { settings: { plugin_no_multiplexing: names } });
    await server.register({ args: ["--multiplexes"] });
    for (const path of ["one", "two"])
      await server.ok("POST", `sys/mounts/${path}`, { type: "small" });
    const pids = new Set([await server.pid("one"), await server.pid("two")]);
    assert.equal(pids.size, processes, names.join());
    await server.store("one", "a", "1");
    assert.equal(await server.storage("a", "two"), null, "each has its own storage in any case");
  }
});

test("plugin_inherit_env: a plugin sees the server's whole environment where that is said, and else few of it", async (t) => {
  const environment = { HOLDFAST_OF_THE_SERVER: "seen", LANG: "C" };
  for (const [settings, seen] of [
    [{}, null],
    [{ plugin_inherit_env: true }, "seen"],
  ] as const) {
    const server = await PluginServer.start(t, { settings, environment });
    await server.register();
    await server.ok("POST", "sys/mounts/small", { type: "small" });
    const read = async (name: string) => (await server.data(`small/variable/${name}`))["value"];
    assert.equal(await read("HOLDFAST_OF_THE_SERVER"), seen);
    assert.equal(await read("LANG"), "C");
  }
});

test("plugin_file_permissions: a file that others may write to runs where that is allowed, and nowhere else", async (t) => {
  for (const [settings, status] of [
    [{}, 400],
    [{ plugin_file_permissions: "0775" }, 204],
  ] as const) {
    const server = await PluginServer.start(t, { settings });
    await server.register();
    chmodSync(join(server.place.directory, "small.mjs"), 0o775);
    const mounted = await server.mount("small");
    assert.equal(mounted.status, status, mounted.text);
  }
});

if (process.getuid?.() === 0) {
  // It takes root to give a file away.
  test("plugin_file_uid: a file of that user runs, and of no other", async (t) => {
    for (const [settings, status] of [
      [{}, 400],
      [{ plugin_file_uid: 12_345 }, 204],
    ] as const) {
      const server = await PluginServer.start(t, { settings });
      await server.register();
      chownSync(join(server.place.directory, "small.mjs"), 12_345, 12_345);
      const mounted = await server.mount("small");
      assert.equal(mounted.status, status, mounted.text);
    }
  });
}

test("container_socket: images are those of the engine that listens there", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hf-engine-"));
  const path = join(folder, "engine.sock");
  const requests: string[] = [];
  const engine = createServer((request, answer) => {
    requests.push(`${request.method} ${request.url}`);
    answer.writeHead(404, { "content-type": "application/json" });
    answer.end('{"message":"no such image"}');
  });
  engine.listen(path);
  t.after(() => {
    engine.close();
    engine.closeAllConnections();
    rmSync(folder, { recursive: true });
  });
  for (const [settings, isCalled] of [
    [{}, false],
    [{ container_socket: path }, true],
  ] as const) {
    const server = await PluginServer.start(t, { settings });
    const body = { oci_image: "team/totp", sha256: "ab".repeat(32), version: "v1.0.0" };
    const answer = await server.call("POST", "sys/plugins/catalog/secret/totp", { body });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(
      requests.some((one) => one.includes("team/totp")),
      isCalled,
      requests.join(),
    );
  }
});

test("plugin_tmpdir: sockets and folders of what runs lie there", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  assert.deepEqual(server.place.runs(), []);
  await server.ok("POST", "sys/mounts/small", { type: "small" });
  assert.equal(server.place.runs().length, 1);
  const folder = String((await server.data("small/variable/TMPDIR"))["value"]);
  assert.ok(folder.startsWith(`${server.place.temporary}/`), folder);
});
