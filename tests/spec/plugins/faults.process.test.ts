// Plugins that answer with too much, wait for storage, do not let go and share a process with many: who is told what, and that
// nothing grows, is written late or is left.

import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { errorsOf } from "../../support/http-client.ts";
import { growthOf } from "../../support/plugins/growth.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { runs } from "../../support/plugins/plugin-place.ts";
import { until } from "../../support/until.ts";

const MIB = 2 ** 20;
const SECOND = 1_000_000_000n;

test("an answer of 80 MiB and one of 1 GiB are 502 that says why, cost the server nothing, and the plugin goes on", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const pid = await server.pid();
  for (const bytes of [80 * MIB, 1024 * MIB]) {
    const grown = await growthOf(async () => {
      const answer = await server.call("GET", `small/bytes/${bytes}`);
      assert.equal(answer.status, 502, answer.text);
      assert.match(
        String(errorsOf(answer)),
        /plugin "small" .*a message may have at most \d+ bytes/,
      );
    });
    assert.ok(grown < 64 * MIB, `${bytes / MIB} MiB cost ${grown / MIB}`);
    assert.equal(await server.pid(), pid);
  }
  // What comes through whole is held to the limit all the same, however many come at once.
  const many = Array.from({ length: 6 }, () => server.call("GET", `small/large/${40 * MIB}`));
  for (const answer of await Promise.all(many)) {
    assert.equal(answer.status, 502, answer.text.slice(0, 200));
    assert.match(String(errorsOf(answer)), /an answer may have/);
  }
  assert.equal(await server.pid(), pid);
});

test("storage that is slow holds up who writes, until the deadline and no longer, and nobody who reads", async (t) => {
  let held: Promise<void> | null = null;
  const server = await PluginServer.start(t, {
    listener: { maxRequestDuration: 2n * SECOND },
    engine: (inner) =>
      new Proxy(inner, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          if (name !== "commit") return value.bind(target);
          return async (...words: Parameters<typeof inner.commit>) => {
            await held;
            await inner.commit(...words);
          };
        },
      }),
  });
  await server.register();
  await server.mount("small");
  await server.ok("POST", "small/kv/a", { value: "one" });
  const slow = Promise.withResolvers<void>();
  held = slow.promise;
  const writing = server.call("POST", "small/kv/b", { body: { value: "two" } });
  await until(() => server.calls().includes("create kv/b"));
  assert.deepEqual(await server.data("small/kv/a"), { value: "one" });
  const late = await writing;
  assert.equal(late.status, 503, late.text);
  held = null;
  slow.resolve();
  await server.ok("POST", "small/kv/c", { value: "three" });
  assert.deepEqual(await server.data("small/kv/c"), { value: "three" });
});

test("what a plugin writes after its caller is gone and its mount is disabled is refused, and in no mount of its path", async (t) => {
  const server = await PluginServer.start(t, { listener: { maxRequestDuration: SECOND } });
  await server.register({ args: [`--log=${server.log}`, "--multiplexes"] });
  await server.mount("small");
  await server.mount("other");
  const file = join(server.place.base, "now");
  const late = await server.call("POST", "small/late/key", { body: { file } });
  assert.equal(late.status, 503, late.text);
  const pid = await server.pid("other");
  await server.ok("DELETE", "sys/mounts/small");
  await server.mount("small");
  writeFileSync(file, "");
  await until(() => server.calls().some((line) => line.startsWith("late: ")));
  assert.deepEqual(
    server.calls().filter((line) => line.startsWith("late: ")),
    ["late: it was refused"],
  );
  assert.equal(await server.pid("other"), pid, "it is the same process");
  for (const path of ["small", "other"]) assert.equal(await server.storage("key", path), null);
});

test("a mount is disabled while its plugin answers nobody and hears of no end, and its process is gone", async (t) => {
  const server = await PluginServer.start(t, { listener: { maxRequestDuration: 3n * SECOND } });
  await server.register();
  await server.mount("small");
  const pid = await server.pid();
  const hanging = Array.from({ length: 20 }, () => server.call("GET", "small/never"));
  for (const answer of await Promise.all(hanging)) assert.equal(answer.status, 503);
  assert.equal(await server.pid(), pid, "it is not ended for being slow");
  await server.ok("DELETE", "sys/mounts/small");
  await until(() => !runs(pid));
});

test("fifty mounts share a process and no storage; one of them goes, the others stay, and the last one ends it", async (t) => {
  const server = await PluginServer.start(t);
  await server.register({ args: ["--multiplexes"] });
  const paths = Array.from({ length: 50 }, (_, i) => `small-${i}`);
  for (const path of paths) {
    assert.equal((await server.mount(path)).status, 204, path);
    await server.ok("POST", `${path}/kv/a`, { value: path });
  }
  const pids = new Set(await Promise.all(paths.map((path) => server.pid(path))));
  assert.equal(pids.size, 1);
  const [gone = "", ...others] = paths;
  await server.ok("DELETE", `sys/mounts/${gone}`);
  const values = await Promise.all(others.map((path) => server.data(`${path}/kv/a`)));
  assert.deepEqual(
    values,
    others.map((value) => ({ value })),
  );
  await Promise.all(others.map((path) => server.ok("DELETE", `sys/mounts/${path}`)));
  const [pid = 0] = pids;
  await until(() => !runs(pid));
});

test("eight mounts one after the other leave no descriptor, no socket and no process", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const once = async () => {
    await server.mount("small");
    const pid = await server.pid();
    await server.ok("DELETE", "sys/mounts/small");
    await until(() => !runs(pid));
  };
  await once();
  const before = descriptors();
  const there = () => readdirSync(server.place.temporary, { recursive: true }).length;
  const files = there();
  for (let i = 0; i < 8; i++) await once();
  await until(() => descriptors() <= before);
  await until(() => there() <= files);
});
