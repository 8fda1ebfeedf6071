// Plugins that end, hang, are replaced, deleted and reloaded, by the cases of their table.

import assert from "node:assert/strict";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { runs } from "../../support/plugins/plugin-place.ts";
import { until } from "../../support/until.ts";

const texts = (answer: Parameters<typeof errorsOf>[0]) => (errorsOf(answer) as string[]).join();

async function killed(server: PluginServer, path = "small"): Promise<void> {
  const pid = await server.pid(path);
  process.kill(pid, "SIGKILL");
  await server.noticed(pid);
}

test("case 125, T-H04: with another sum than the file's nothing is mounted, and the text says which", async (t) => {
  const server = await PluginServer.start(t);
  server.place.putSmall();
  await server.register({ sha256: "ab".repeat(32) });
  const refused = await server.mount("small");
  assert.equal(refused.status, 400);
  assert.match(texts(refused), /checksums did not match/);
  assert.equal((await server.call("GET", "sys/mounts/small")).status, 400);
  assert.deepEqual(server.calls(), [], "nothing of it ran");
});

test("case 131: what prints rubbish is told with what it printed, and not mounted", async (t) => {
  const server = await PluginServer.start(t);
  await server.register({ args: ["--rubbish"] });
  const refused = await server.mount("small");
  assert.equal(refused.status, 400);
  assert.match(texts(refused), /Unrecognized remote plugin message: Hello, I am no plugin/);
});

async function withValue(t: Parameters<typeof PluginServer.start>[0]): Promise<PluginServer> {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  await server.ok("POST", "small/kv/a", { value: "one" });
  return server;
}

test("case 126: another file in its place never runs; put back, it is started", async (t) => {
  const server = await withValue(t);
  server.place.putSmall("small.mjs", "another");
  await server.ok("GET", "small/kv/a"); // what runs is what was registered
  await killed(server);
  const refused = await server.call("GET", "small/kv/a");
  assert.equal(refused.status, 502, refused.text);
  assert.match(texts(refused), /checksums did not match/);
  server.place.putSmall();
  await server.ok("GET", "small/kv/a");
});

test("case 133: a process that is gone is started once for all who come", async (t) => {
  const server = await withValue(t);
  await killed(server);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => server.call("GET", "small/kv/a")),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(server.calls().filter((line) => line.startsWith("setup")).length, 2, "one restart");
});

test("case 134: what a process worked on when it ended is 502, and not done again", async (t) => {
  const server = await withValue(t);
  const inside = await server.call("POST", "small/exits", { body: {} });
  assert.equal(inside.status, 502, inside.text);
  assert.match(texts(inside), /plugin "small" exited/);
  await server.ok("GET", "small/kv/a");
  const written = server.calls().filter((line) => line.startsWith("update exits"));
  assert.equal(written.length, 1, "it was not sent again");
});

test("case 135: what ends again and again is started after pauses that grow, and callers are told when", async (t) => {
  const server = await PluginServer.start(t);
  const flag = join(server.place.base, "bad");
  await server.register({ args: [`--log=${server.log}`, `--fails-while=${flag}`] });
  await server.mount("small");
  const pid = await server.pid();
  server.place.put("../bad", "x");
  process.kill(pid, "SIGKILL");
  await server.noticed(pid);
  const seen: number[] = [];
  let waits: string | undefined;
  for (let i = 0; i < 6; i++) {
    const answer = await server.call("GET", "small/kv/a");
    seen.push(answer.status);
    if (answer.status === 503) waits = answer.headers["retry-after"] as string | undefined;
  }
  assert.equal(seen[0], 502);
  assert.ok(seen.includes(503), seen.join());
  assert.match(waits ?? "", /^\d+$/);
  rmSync(flag);
  await until(async () => (await server.call("GET", "small/pid")).status === 200);
});

test("case 136, T-H17: one whose entry is deleted works until its process ends; the server starts without it, and a reload brings it back", async (t) => {
  const server = await PluginServer.start(t);
  const entry = await server.register();
  const { catalog } = server.test.server.plugins;
  await server.mount("small");
  await server.ok("POST", "small/kv/a", { value: "one" });
  await catalog.delete(entry);
  await server.ok("GET", "small/kv/a");
  await killed(server);
  const gone = await server.call("GET", "small/kv/a");
  assert.equal(gone.status, 502);
  assert.match(texts(gone), /plugin not found in the catalog: small/);

  await server.ok("POST", "sys/seal");
  await server.test.unseal(server.opened.shares);
  const unloaded = await server.call("GET", "small/kv/a");
  assert.equal(unloaded.status, 503);
  assert.match(texts(unloaded), /^mount "small\/" is not loaded: plugin not found in the catalog/);
  const mount = at(await server.ok("GET", "sys/mounts/small"), "data") as Record<string, unknown>;
  assert.equal(mount["state"], "unloaded");
  assert.match(String(mount["trouble"]), /plugin not found/);
  await server.register();
  await server.test.server.mounts.reload(String(mount["uuid"]));
  assert.deepEqual(await server.data("small/kv/a"), { value: "one" });
  const now = at(await server.ok("GET", "sys/mounts/small"), "data") as Record<string, unknown>;
  assert.equal(now["state"], undefined);
});

test("cases 137, 138: two mounts share a process and no storage; a reload gives each a new one, and one that does not start changes nothing", async (t) => {
  const server = await PluginServer.start(t);
  await server.register({ args: [`--log=${server.log}`, "--multiplexes"] });
  await server.mount("one");
  await server.mount("two");
  const pid = await server.pid("one");
  assert.equal(await server.pid("two"), pid);
  await server.ok("POST", "one/kv/a", { value: "of one" });
  assert.equal((await server.call("GET", "two/kv/a")).status, 404);

  const { uses } = server.test.server.plugins;
  const never = new AbortController().signal;
  const all = (await uses.all()).filter(({ isPlugin }) => isPlugin);
  for (const use of all) await uses.reload(use, never);
  const next = await server.pid("one");
  assert.notEqual(next, pid);
  assert.equal(await server.pid("two"), next, "they share the new one");
  await until(() => !runs(pid));
  assert.deepEqual(await server.data("one/kv/a"), { value: "of one" });

  await server.register({ args: ["--exits"] });
  const [first] = all;
  assert.ok(first !== undefined);
  await assert.rejects(uses.reload(first, never), /could not be started/);
  assert.equal(await server.pid("one"), next, "what ran before goes on");
  await server.ok("DELETE", "sys/mounts/one");
  assert.equal(await server.pid("two"), next);
});

test("case 139: variables of the server do not reach it, and those of its entry do", async (t) => {
  const server = await PluginServer.start(t, {
    environment: { SECRET: "x", PATH: process.env["PATH"] ?? "" },
  });
  await server.register();
  await server.mount("small");
  assert.equal((await server.data("small/environment"))["secret"], null);
  await server.register({ name: "told", env: ["SECRET=mine"] });
  await server.ok("POST", "sys/mounts/told", { type: "told" });
  assert.equal((await server.data("told/environment"))["secret"], "mine");
});

test("case 141: a body of 20 MiB goes in and comes out where the settings let it; more than four times that is refused", async (t) => {
  const server = await PluginServer.start(t, {
    listener: { maxRequestBytes: 24 * 1024 * 1024 },
    settings: { storage: { memory: {} } },
  });
  await server.register();
  await server.mount("small");
  const text = "x".repeat(20 * 1024 * 1024);
  const echoed = await server.call("POST", "small/echo", { body: { text } });
  assert.equal(echoed.status, 200, echoed.text.slice(0, 200));
  assert.equal((at(echoed, "data", "sent") as { text: string }).text.length, text.length);

  const small = await PluginServer.start(t);
  await small.register();
  await small.mount("small");
  const large = await small.call("GET", `small/large/${5 * 1024 * 1024}`);
  assert.equal(large.status, 502);
  assert.match(texts(large), /an answer may have 4194304, four times max_request_size/);
  await small.ok("GET", "small/large/3000000");
});

test("case 142: at the deadline of its request a plugin is told to stop, and the caller gets 503", async (t) => {
  const server = await PluginServer.start(t, { listener: { maxRequestDuration: 4_000_000_000n } });
  await server.register();
  await server.mount("small");
  const calling = server.call("GET", "small/never");
  await until(() => server.calls().includes("read never"));
  const late = await calling;
  assert.equal(late.status, 503, late.text);
  await until(() => server.calls().includes("aborted"));
  await server.ok("GET", "small/echo");
});

test("sealed it is gone; unsealed it is there again, with what it kept", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  await server.ok("POST", "small/kv/a", { value: "one" });
  const pid = await server.pid();
  await server.ok("POST", "sys/seal");
  assert.ok(!runs(pid));
  assert.deepEqual(server.place.runs(), []);
  await server.test.unseal(server.opened.shares);
  assert.deepEqual(await server.data("small/kv/a"), { value: "one" });
  assert.equal(statSync(server.place.directory).isDirectory(), true);
});

test("its version is tuned at once, beside the old one; what does not start is 400, and nothing has changed", async (t) => {
  const server = await PluginServer.start(t);
  for (const version of ["v1.0.0", "v2.0.0"]) await server.register({ version });
  await server.register({ version: "v3.0.0", args: ["--exits"] });
  await server.mount("small", { plugin_version: "1.0" });
  const version = async () =>
    (at(await server.ok("GET", "sys/mounts/small"), "data") as Record<string, unknown>)[
      "plugin_version"
    ];
  const config = async () =>
    ((await server.data("small/system"))["config"] as Record<string, unknown>)["plugin_version"];
  await server.ok("POST", "small/kv/a", { value: "one" });
  assert.deepEqual([await version(), await config()], ["v1.0.0", "v1.0.0"]);
  await server.ok("POST", "sys/mounts/small/tune", { plugin_version: "v2.0.0" });
  assert.deepEqual([await version(), await config()], ["v2.0.0", "v2.0.0"]);
  assert.deepEqual(await server.data("small/kv/a"), { value: "one" });
  const pid = await server.pid();
  const refused = await server.call("POST", "sys/mounts/small/tune", {
    body: { plugin_version: "v3.0.0" },
  });
  assert.equal(refused.status, 400);
  assert.match(texts(refused), /could not be started/);
  assert.deepEqual([await version(), await server.pid()], ["v2.0.0", pid]);
  const options = await server.call("POST", "sys/mounts/small/tune", {
    body: { options: { refuses: "setup" } },
  });
  assert.equal(options.status, 400);
  assert.match(texts(options), /does not like its options/);
  assert.deepEqual(await server.data("small/kv/a"), { value: "one" });
  await server.test.server.plugins.catalog.pin("secret", "small", "v1.0.0");
  const pinned = await server.call("POST", "sys/mounts/other", {
    body: { type: "small", plugin_version: "v2.0.0" },
  });
  assert.equal(pinned.status, 400);
  assert.deepEqual(errorsOf(pinned), [
    'cannot specify plugin_version for secret plugin "small", as it is pinned to version v1.0.0',
  ]);
});
