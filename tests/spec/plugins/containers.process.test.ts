// Plugins in containers and sandboxes, through the API, by the runtimes of this machine.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { growthOf } from "../../support/plugins/growth.ts";
import { putImage, smallPluginImage } from "../../support/plugins/image-place.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { until } from "../../support/until.ts";

const MIB = 2 ** 20;
const RUNTIMES = "sys/plugins/runtimes/catalog/container";
const CATALOG = "sys/plugins/catalog/secret";

function isThere(...paths: string[]): boolean {
  return process.getuid?.() === 0 && paths.some((path) => existsSync(path));
}

/** A program that lies there and sleeps, and needs nothing beside it. */
function sleepOf() {
  const place = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));
  assert.ok(place !== undefined, "it needs busybox-static");
  return { path: "bin/sleep", content: readFileSync(place) };
}

/** Without what a test needs it fails, unless that is known. */
function needs(t: TestContext, has: boolean, what: string): boolean {
  if (has) return true;
  t.diagnostic(what);
  assert.equal(process.env["HOLDFAST_NO_CONTAINERS"], "1", what);
  return false;
}

/** It works, as nobody and without a network; an answer without end is told to who asked for it; too many processes are refused to
 *  it or end it, and too much memory ends it: nobody else notices, and the next request has another. */
async function tryIt(server: PluginServer, name: string): Promise<Record<string, unknown>> {
  const mounted = await server.mount(name, { type: name });
  assert.equal(mounted.status, 204, mounted.text);
  await server.ok("POST", `${name}/kv/a`, { value: "one" });
  assert.deepEqual(await server.data(`${name}/kv/a`), { value: "one" });
  const who = await server.data(`${name}/who`);
  assert.deepEqual(who["interfaces"], ["lo"]);
  await server.ok("POST", "sys/mounts/kv", { type: "kv", options: { version: "1" } });
  await server.ok("POST", "kv/a", { value: "one" });

  const running = () => server.test.server.plugins.processes.reports().map(({ pid }) => pid);
  const before = running();
  const grown = await growthOf(async () => {
    const [large] = await Promise.all([
      server.call("GET", `${name}/bytes/${1024 * MIB}`),
      server.ok("GET", "kv/a"),
    ]);
    assert.equal(large.status, 502, large.text);
    assert.match(String(errorsOf(large)), /a message may have at most \d+ bytes/);
  });
  assert.ok(grown < 64 * MIB, `1 GiB cost ${grown / MIB} MiB`);
  assert.deepEqual(running(), before, "it goes on");

  const [bombs] = await Promise.all([
    server.call("GET", `${name}/bombs`),
    server.ok("GET", "kv/a"),
  ]);
  if (bombs.status === 200) {
    const { begun, why } = at(bombs, "data") as Record<string, unknown>;
    assert.ok(
      Number(begun) > 50 && Number(begun) < 256,
      `${String(begun)} processes, ${String(why)}`,
    );
  } else {
    assert.equal(bombs.status, 502, bombs.text);
    assert.match(String(errorsOf(bombs)), /plugin "boxed" exited/);
    await until(async () => (await server.call("GET", `${name}/kv/a`)).status === 200);
    assert.notDeepEqual(running(), before);
  }
  await server.ok("GET", "kv/a");

  const [hog] = await Promise.all([server.call("GET", `${name}/hog`), server.ok("GET", "kv/a")]);
  assert.equal(hog.status, 502, hog.text);
  // One that has ended twice within a minute is waited for.
  await until(async () => (await server.call("GET", `${name}/kv/a`)).status === 200);
  assert.deepEqual(await server.data(`${name}/kv/a`), { value: "one" });
  await server.ok("GET", "kv/a");
  await server.ok("DELETE", "sys/mounts/kv");
  return who;
}

for (const [runtime, isHere] of [
  ["runc", isThere("/usr/sbin/runc", "/usr/bin/runc")],
  ["runsc", isThere("/usr/bin/runsc", "/usr/local/bin/runsc")],
] as const) {
  test(`case 150: a plugin in a container by ${runtime} is registered, mounted, held to its limits and started again`, async (t) => {
    // Not every Debian packages it.
    if (runtime === "runsc" && !isHere) return t.diagnostic("runsc is not on this machine");
    if (!needs(t, isHere, `it needs ${runtime}, and root`)) return;
    const server = await PluginServer.start(t, { settings: { plugin_oci_runtimes: [runtime] } });
    const small = smallPluginImage({}, [sleepOf()]);
    const sha256 = putImage(server.place.directory, "team/small", small);
    await server.ok("POST", `${RUNTIMES}/tight`, { oci_runtime: runtime, memory_bytes: 400 * MIB });
    const body = { oci_image: "team/small", sha256, runtime: "tight" };
    const registered = await server.ok("POST", `${CATALOG}/boxed`, body);
    assert.equal(registered.text.includes("could not"), false, registered.text);
    const { uid } = await tryIt(server, "boxed");
    assert.equal(uid, 65_532);
    // 151
    const other = { ...body, sha256: "0".repeat(64) };
    const wrong = await server.call("POST", `${CATALOG}/other?verify=true`, { body: other });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /checksums did not match: plugin image team\/small holds/);
    await server.ok("DELETE", "sys/mounts/boxed");
  });
}

test("a file with bwrap as its runtime is run in that sandbox, within its limits, and by nothing else", async (t) => {
  if (!needs(t, isThere("/usr/bin/bwrap"), "it needs bwrap, and root")) return;
  const server = await PluginServer.start(t, {
    settings: { plugin_oci_runtimes: ["bwrap", "runc"] },
  });
  await server.ok("POST", `${RUNTIMES}/tight`, { oci_runtime: "bwrap", memory_bytes: 400 * MIB });
  await server.ok("POST", `${RUNTIMES}/images`, { oci_runtime: "runc" });
  const body = { command: "small.mjs", sha256: server.place.putSmall(), runtime: "tight" };
  await server.ok("POST", `${CATALOG}/boxed`, body);
  await tryIt(server, "boxed");
  const wrong = await server.call("POST", `${CATALOG}/other?verify=true`, {
    body: { ...body, runtime: "images" },
  });
  assert.match(wrong.text, /only bwrap runs a file within limits/);
  const used = await server.call("DELETE", `${RUNTIMES}/tight`);
  assert.equal(used.status, 400);
  assert.match(String(at(used, "errors")), /Registered plugins=\[boxed\]/);
  await server.ok("DELETE", "sys/mounts/boxed");
  await until(() => server.place.runs().length <= 1);
});
