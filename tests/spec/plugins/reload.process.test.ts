// What runs of plugins and the catalog that it runs by: replaced, deleted and pinned while it is in use, reloaded by name, by
// mounts and everywhere, and told of where it cannot be started.

import assert from "node:assert/strict";
import { renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";
import { runs } from "../../support/plugins/plugin-place.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { until } from "../../support/until.ts";

const AT = "sys/plugins/catalog/secret/small";
const RELOAD = "sys/plugins/reload/backend";

function refusal(answer: Answer): string {
  assert.equal(answer.status, 400, answer.text);
  return (errorsOf(answer) as string[]).join("\n");
}

test("137: reload by name, by mounts, by neither and by both; in one cluster and in all", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.ok("POST", "sys/namespaces/team", {});
  assert.equal((await server.mount("small")).status, 204);
  const body = { type: "small" };
  const inTeam = await server.call("POST", "sys/mounts/other", { body, namespace: "team" });
  assert.equal(inTeam.status, 204, inTeam.text);
  const pids = async () => [await server.pid("small"), await server.pid("team/other")];
  const before = await pids();
  const done = await server.call("POST", RELOAD, { body: { plugin: "small" } });
  assert.equal(done.status, 200, done.text);
  const whole = ["small/", "team/other/"].map((path) => ({ path, error: "" }));
  assert.deepEqual(at(done, "data", "mounts"), whole);
  const after = await pids();
  assert.ok(
    after.every((pid) => !before.includes(pid)),
    `${before.join()} ${after.join()}`,
  );
  const id = String(at(done, "data", "reload_id"));
  const status = await server.data(`${RELOAD}/status?reload_id=${id}`);
  const { timestamp, ...result } =
    (status["results"] as Record<string, Record<string, unknown>>)["test"] ?? {};
  assert.match(String(timestamp), /^\d{4}-/);
  assert.deepEqual(result, { error: "", mounts: whole });

  await server.ok("POST", RELOAD, { mounts: "team/other" });
  const [same, changed] = await pids();
  assert.ok(same === after[0] && changed !== after[1]);
  const clear = /^must provide exactly one of plugin or mounts$/;
  assert.match(refusal(await server.call("POST", RELOAD, { body: {} })), clear);
  assert.match(
    refusal(await server.call("POST", RELOAD, { body: { plugin: "small", mounts: "small/" } })),
    clear,
  );
  const missing = await server.call("POST", RELOAD, {
    body: { mounts: ["small/", "cubbyhole/", "nowhere"] },
  });
  assert.match(refusal(missing), /^no plugin runs at cubbyhole\/, nowhere\/: /);
  assert.equal((await pids())[0], same, "nothing was reloaded");
  const nothing = await server.ok("POST", "sys/plugins/reload/auth/small", {});
  assert.deepEqual(at(nothing, "warnings"), ["no plugins were reloaded"]);
  const unknown = await server.call("GET", `${RELOAD}/status?reload_id=x`);
  assert.deepEqual([unknown.status, errorsOf(unknown)], [404, ["no such reload"]]);

  const ordered = await server.call("POST", "sys/plugins/reload/unknown/small", {
    body: { scope: "global" },
  });
  assert.equal(ordered.status, 202, ordered.text);
  await until(async () => (await server.pid("small")) !== same);
  const path = `${RELOAD}/status?reload_id=${String(at(ordered, "data", "reload_id"))}`;
  await until(async () => Object.keys((await server.data(path))["results"] as object).length > 0);
  const results = (await server.data(path))["results"] as Record<string, { mounts: unknown }>;
  assert.deepEqual(results["test"]?.mounts, whole);
});

test("136: what is in use is told where its entry is replaced or deleted, and goes on until it is reloaded", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  assert.equal((await server.mount("small")).status, 204);
  const pid = await server.pid();
  const info = await server.data(AT);
  assert.deepEqual(info["mounts"], [{ path: "small/", namespace: "", version: "" }]);
  const [running] = info["processes"] as Record<string, unknown>[];
  assert.deepEqual(
    [running?.["state"], running?.["pid"], running?.["users"], running?.["restarts"]],
    ["ready", pid, 1, 0],
  );
  assert.ok(Number(running?.["memory_bytes"]) > 2 ** 20);

  const next = server.place.putSmall("next.mjs", "another");
  const replaced = await server.call("POST", AT, {
    body: { sha256: next, command: "next.mjs", args: [`--log=${server.log}`] },
  });
  assert.match(
    String(at(replaced, "warnings")),
    /what runs at small\/ goes on as it was until it is reloaded/,
  );
  assert.equal(await server.pid(), pid);
  // What cannot be started takes the place of nothing.
  renameSync(join(server.place.directory, "next.mjs"), join(server.place.directory, "away"));
  assert.match(
    refusal(await server.call("POST", RELOAD, { body: { mounts: "small/" } })),
    /^small\/: .*there is no such file/,
  );
  assert.equal(await server.pid(), pid);
  renameSync(join(server.place.directory, "away"), join(server.place.directory, "next.mjs"));
  await server.ok("POST", RELOAD, { mounts: "small/" });
  assert.notEqual(await server.pid(), pid);
  assert.equal((await server.data("sys/mounts/small"))["running_sha256"], next);

  const deleted = await server.call("DELETE", AT);
  assert.match(
    String(at(deleted, "warnings")),
    /^the plugin is in use at small\/, which goes on until/,
  );
  await server.pid();
  assert.match(
    refusal(await server.call("POST", RELOAD, { body: { plugin: "small" } })),
    /plugin not found in the catalog: small/,
  );
  await server.pid();
  const metrics = await server.call("GET", "sys/metrics?format=prometheus");
  assert.match(metrics.text, /^holdfast_plugin_processes\{name="small",state="ready"\} 1$/m);
  assert.match(metrics.text, /^holdfast_plugin_request_seconds_count\{name="small"\} [1-9]/m);
  assert.match(metrics.text, /^holdfast_plugin_storage_call_seconds_count\{name="small"\} [1-9]/m);
  assert.match(metrics.text, /^holdfast_plugin_starts_total\{name="small",result="ok"\} 2$/m);
});

test("125, 126: a wrong sum is told where it is mounted, and when a file was replaced and its process has ended", async (t) => {
  const server = await PluginServer.start(t);
  server.place.putSmall();
  await server.register({ name: "wrong", sha256: "ab".repeat(32) });
  assert.match(refusal(await server.mount("wrong", { type: "wrong" })), /checksums did not match/);
  await server.register();
  assert.equal((await server.mount("small")).status, 204);
  const pid = await server.pid();
  server.place.putSmall("small.mjs", "another");
  process.kill(pid, "SIGKILL");
  await until(() => !runs(pid));
  const refusals: Answer[] = [];
  const names = /checksums did not match: plugin file small\.mjs has SHA-256 [0-9a-f]{64}/;
  await until(async () => {
    refusals.push(await server.call("GET", "small/pid"));
    return names.test(refusals.at(-1)?.text ?? "");
  });
  assert.ok(refusals.every(({ status }) => status === 502 || status === 503));
  assert.ok(refusals.some(({ status }) => status === 502));
  server.place.putSmall();
  await until(async () => (await server.call("GET", "small/pid")).status === 200);
});

test("130: a mount that asks for a version beside the pinned one is refused; the pin counts from the next reload", async (t) => {
  const server = await PluginServer.start(t);
  await server.register({ version: "v1.0.0", args: [] });
  await server.register({ version: "v2.0.0", args: ["--counts=/dev/null"] });
  assert.equal((await server.mount("small")).status, 204);
  const running = async () => {
    const { args } = await server.data(`${AT}?version=v1.0.0`);
    assert.deepEqual(args, []);
    return ((await server.data(`${AT}?version=v1.0.0`))["mounts"] as object[]).length;
  };
  assert.equal(await running(), 0, "the newest was taken");
  const pinned = await server.call("POST", "sys/plugins/pins/secret/small", {
    body: { version: "v1.0.0" },
  });
  assert.match(
    String(at(pinned, "warnings")),
    /^what runs at small\/ goes on as it was until it is reloaded$/,
  );
  const refused = await server.mount("again", { plugin_version: "v2.0.0" });
  assert.match(refusal(refused), /it is pinned to version v1\.0\.0/);
  const pid = await server.pid();
  await server.ok("POST", "sys/plugins/reload/secret/small", {});
  assert.notEqual(await server.pid(), pid);
  assert.equal(await running(), 1);
});

test("a plugin that does not begin when its node comes to lead is what needs attention and stands with its mount, until it begins", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  const flag = join(server.place.base, "flag");
  const options = { refuses: `initialize while ${flag}` };
  assert.equal((await server.mount("small", { options })).status, 204);
  await server.ok("POST", "sys/seal");
  writeFileSync(flag, "");
  await server.test.unseal(server.opened.shares);
  const troubles = async () => {
    const { items } = await server.data("sys/attention");
    return (items as { code: string; subject: string }[]).flatMap(({ code, subject }) =>
      code === "mount.not-loaded" ? [subject] : [],
    );
  };
  await until(async () => (await troubles()).length === 1);
  assert.deepEqual(await troubles(), ["small/"]);
  const mount = await server.data("sys/mounts/small");
  assert.equal(mount["state"], "unloaded");
  assert.match(String(mount["trouble"]), /could not be set up: it does not want to begin/);
  const mounts = await server.data("sys/mounts");
  assert.equal((mounts["small/"] as { state?: string }).state, "unloaded");
  rmSync(flag);
  await until(async () => (await server.call("GET", "small/pid")).status === 200);
  assert.equal((await server.data("sys/mounts/small"))["state"], undefined);
  assert.deepEqual(await troubles(), []);
});

test("a mount whose plugin is gone when the server is unsealed is what needs attention, until it is mended and reloaded", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  assert.equal((await server.mount("small")).status, 204);
  const codes = async () => {
    const { items } = await server.data("sys/attention");
    return (items as { code: string; subject: string }[]).filter(
      ({ code }) => code === "mount.not-loaded",
    );
  };
  assert.deepEqual(await codes(), []);
  await server.ok("POST", "sys/seal");
  unlinkSync(join(server.place.directory, "small.mjs"));
  await server.test.unseal(server.opened.shares);
  await until(async () => (await codes()).length === 1);
  assert.equal((await codes())[0]?.subject, "small/");
  server.place.putSmall();
  await server.ok("POST", RELOAD, { mounts: "small/" });
  await server.pid();
  assert.deepEqual(await codes(), []);
});

test("a mount whose plugin lacked something that passes is opened by itself, and says that it is tried; one with another file is not", async (t) => {
  const server = await PluginServer.start(t);
  const flag = join(server.place.base, "flag");
  const args = [`--log=${server.log}`, `--fails-while=${flag}`];
  await server.register({ args });
  await server.register({ name: "other", command: "other.mjs" });
  assert.equal((await server.mount("small")).status, 204);
  assert.equal((await server.mount("other", { type: "other" })).status, 204);
  await server.ok("POST", "sys/seal");
  writeFileSync(flag, "");
  server.place.putSmall("other.mjs", "another file");
  await server.test.unseal(server.opened.shares);
  const troubles = async () => {
    const { items } = await server.data("sys/attention");
    const found = items as { code: string; subject: string; text: string }[];
    return new Map(
      found.flatMap(({ code, subject, text }) =>
        code === "mount.not-loaded" ? [[subject, text] as const] : [],
      ),
    );
  };
  const isRetried = async () =>
    /is tried again by itself/.test((await troubles()).get("small/") ?? "");
  await until(isRetried);
  const texts = await troubles();
  assert.doesNotMatch(texts.get("other/") ?? "", /tried again/);
  const mount = await server.data("sys/mounts/small");
  assert.equal(mount["state"], "unloaded");
  assert.match(String(mount["trouble"]), /exited with code 3.*; it is tried again/);
  const other = await server.data("sys/mounts/other");
  assert.match(String(other["trouble"]), /checksums did not match/);
  assert.doesNotMatch(String(other["trouble"]), /tried again/);
  const refused = await server.call("GET", "small/pid");
  assert.equal(refused.status, 503, "nobody waits for the next try");
  rmSync(flag);
  await until(async () => (await server.call("GET", "small/pid")).status === 200);
  assert.deepEqual([...(await troubles()).keys()], ["other/"]);
});
