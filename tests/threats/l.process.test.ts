// Threats L that concern the files of a server: the real program on a real disk.

import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { at } from "../support/http-client.ts";
import { configured, PROGRAM, StartedServer } from "../support/servers/started-server.ts";

async function opened(t: TestContext) {
  const { home, config } = configured(t);
  const args = ["server", "--config", config];
  // With the widest umask there is: what is private is so by our own doing.
  const start = () =>
    new StartedServer(t, home, ["/bin/sh", "-c", `umask 0; exec "$0" "$@"`, PROGRAM, ...args]);
  const server = await start().ready();
  const body = { secret_shares: 1, secret_threshold: 1 };
  const made = await server.call("POST", "/v1/sys/init", { body });
  const token = String(at(made, "root_token"));
  await server.call("POST", "/v1/sys/unseal", { body: { key: at(made, "keys", 0) } });
  const must = async (verb: string, path: string, input?: object) => {
    const answer = await server.call(verb, `/v1/${path}`, { token, body: input });
    assert.ok(answer.status < 300, `${verb} ${path}: ${answer.status} ${answer.text}`);
  };
  await must("POST", "sys/mounts/kv", { type: "kv", options: { version: "1" } });
  const data = join(home, "data");
  return { server, start, token, must, data };
}

interface Found {
  readonly path: string;
  readonly mode: number;
  readonly directory: boolean;
}

function everythingIn(directory: string): Found[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    const path = join(directory, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return []; // gone while we looked
    return [{ path, mode: stats.mode & 0o777, directory: stats.isDirectory() }];
  });
}

test("T-L04: every file and directory of the server is its own, and it does not start on others' ground", async (t) => {
  const { server, start, must, data } = await opened(t);
  const file_path = join(data, "audit", "a.log");
  await must("POST", "sys/audit/a", { type: "file", options: { file_path } });
  await must("POST", "kv/a", { x: "y" });
  const look = () => {
    const found = everythingIn(data);
    assert.ok(found.some(({ path }) => path.endsWith("store.db")) && found.length > 3);
    for (const { path, mode, directory } of found) {
      assert.equal(mode.toString(8), directory ? "700" : "600", path);
    }
  };
  look();
  assert.equal(await server.stop(), 0);
  look();
  chmodSync(join(data, "store"), 0o755);
  const refused = start();
  assert.notEqual(await refused.ended, 0);
  assert.match(refused.log, /can be used by other users|can be written by others/);
  assert.match(refused.log, /chmod/);
});

test("T-L10: nothing of a secret stands in any file of the server, before it is deleted or after", async (t) => {
  const { server, must, data } = await opened(t);
  const marker = "marker-of-a-secret-";
  const audit = { file_path: join(data, "audit", "a.log") };
  await must("POST", "sys/audit/a", { type: "file", options: audit });
  const assertAbsent = () => {
    for (const { path, directory } of everythingIn(data)) {
      if (!directory) assert.equal(readFileSync(path).includes(marker), false, path);
    }
  };
  for (let i = 0; i < 20; i++) await must("POST", `kv/${i}`, { value: marker.repeat(1 + i * 50) });
  assertAbsent();
  for (let i = 0; i < 20; i++) await must("DELETE", `kv/${i}`);
  assertAbsent();
  await server.stop();
  assertAbsent();
});

test("T-L11: what is too large for the storage is refused by name, and never a fault of ours", async (t) => {
  const { server, token, must } = await opened(t);
  const long = "a".repeat(500);
  const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`name-${i}`, "v"]));
  for (const [what, path, body] of [
    ["a value of two megabytes", "kv/large", { value: "x".repeat(2 << 20) }],
    ["a value one byte above the limit", "kv/edge", { value: "x".repeat(1 << 20) }],
    ["a hundred thousand names", "kv/many", keys],
    ["a long path", `kv/${Array.from({ length: 40 }, () => long).join("/")}`, { value: "x" }],
    ["a long name", `kv/${"n".repeat(12_000)}`, { value: "x" }],
  ] as const) {
    const answer = await server.call("POST", `/v1/${path}`, { token, body });
    assert.ok([400, 413, 414, 431].includes(answer.status), `${what}: ${answer.status}`);
    assert.doesNotMatch(answer.text, /sqlite|internal error/i, what);
  }
  await must("POST", "kv/fits", { value: "x".repeat(900_000) });
  assert.equal((await server.call("GET", "/v1/kv/fits", { token })).status, 200);
  assert.equal(await server.stop(), 0);
});
