// `holdfast snapshot restore` against the server itself: back, by force, and into one that has nothing.

import assert from "node:assert/strict";
import { copyFileSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { at } from "../support/http-client.ts";
import { startServer, type TestServer } from "../support/servers/test-server.ts";
import { makeHome, run } from "./harness.ts";

async function stage(t: TestContext, opens = true) {
  const server = await startServer();
  t.after(() => server.stop());
  const opened = opens ? await server.open() : { token: "", shares: [] };
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: opened.token, HOME: home };
  const cli = (...args: string[]) => run(["snapshot", ...args], { env });
  return { server, home, env, cli, ...opened, file: join(home, "a.snap") };
}

async function put(server: TestServer, token: string, value: string): Promise<void> {
  const body = { type: "kv", options: { version: "1" } };
  await server.call("POST", "/v1/sys/mounts/kv", { token, body });
  const answer = await server.call("POST", "/v1/kv/a", { token, body: { value } });
  assert.equal(answer.status, 204, answer.text);
}

async function valueOf(server: TestServer, token: string): Promise<unknown> {
  return at(await server.call("GET", "/v1/kv/a", { token }), "data", "value");
}

test("restore brings back what was saved, and says what came of it", async (t) => {
  const { server, cli, token, file } = await stage(t);
  await put(server, token, "old");
  assert.equal((await cli("save", file)).code, 0);
  await put(server, token, "new");
  const restored = await cli("restore", file);
  assert.equal(restored.code, 0, restored.all);
  assert.match(restored.all, /Success! The snapshot was restored\./);
  assert.equal(await valueOf(server, token), "old");
});

test("a damaged file is not even sent; one of another cluster is refused with what to do, and taken by force", async (t) => {
  const from = await stage(t);
  await put(from.server, from.token, "theirs");
  assert.equal((await from.cli("save", from.file)).code, 0);
  const { server, cli, token } = await stage(t);
  await put(server, token, "mine");
  const cut = join(from.home, "cut.snap");
  copyFileSync(from.file, cut);
  truncateSync(cut, readFileSync(cut).length - 100);
  const short = await cli("restore", cut);
  assert.equal(short.code, 1, short.all);
  assert.match(short.stderr, /ends early/);
  const foreign = await cli("restore", from.file);
  assert.equal(foreign.code, 1);
  assert.match(foreign.stderr, /another cluster/);
  assert.match(
    foreign.stderr,
    /^Next: `holdfast snapshot restore -force FILE` .*unseal with the shares/m,
  );
  // Loading it must not lead anybody to replace the whole server.
  const loaded = await cli("load", from.file);
  assert.equal(loaded.code, 1);
  assert.match(loaded.stderr, /it cannot be loaded here/);
  assert.match(loaded.stderr, /^Next: .*on an empty machine: `holdfast snapshot restore FILE`/m);
  assert.doesNotMatch(loaded.stderr, /force/);
  assert.equal(await valueOf(server, token), "mine");
  const forced = await cli("restore", "-force", from.file);
  assert.equal(forced.code, 0, forced.all);
  assert.match(forced.all, /the server is sealed[^]*operator unseal/);
  await server.unseal(from.shares);
  assert.equal(await valueOf(server, from.token), "theirs");
});

test("a token that is not in the snapshot is told so; one that may not read the status too", async (t) => {
  const { server, cli, env, token, file } = await stage(t);
  await put(server, token, "old");
  assert.equal((await cli("save", file)).code, 0);
  const policy =
    'path "sys/storage/raft/*" { capabilities = ["update", "sudo", "read"] }\n' +
    'path "sys/storage/raft/restore-status" { capabilities = ["deny"] }';
  const blind = policy;
  const seeing = policy.split("\n")[0] ?? "";
  for (const [rules, expected] of [
    [seeing, /log in again: your token is not in the snapshot/],
    [blind, /is being restored/],
  ] as const) {
    const call = (path: string, body: object) =>
      server.call("POST", `/v1/${path}`, { token, body });
    await call("sys/policies/acl/restorer", { policy: rules });
    const made = await call("auth/token/create-orphan", { policies: ["restorer"] });
    const own = { ...env, HOLDFAST_TOKEN: String(at(made, "auth", "client_token")) };
    const restored = await run(["snapshot", "restore", file], { env: own });
    assert.equal(restored.code, 0, restored.all);
    assert.match(restored.all, expected);
  }
});

test("into a server that is not initialised, without a token", async (t) => {
  const from = await stage(t);
  await put(from.server, from.token, "saved");
  assert.equal((await from.cli("save", from.file)).code, 0);
  for (const secret of [false, true]) {
    const { server, cli } = await stage(t, false);
    const kept = join(server.directory, "server", "restore-secret");
    const restored = await cli("restore", ...(secret ? ["-secret-file", kept] : []), from.file);
    assert.equal(restored.code, 0, restored.all);
    assert.match(restored.all, /operator unseal/);
    await server.unseal(from.shares);
    assert.equal(await valueOf(server, from.token), "saved");
  }
});
