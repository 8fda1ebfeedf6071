// `holdfast server --dev --dev-plugin-reattach TEXT`: a plugin that runs already, in a debugger say, is mounted, and left running
// when the server has gone.

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { at, call, errorsOf } from "../support/http-client.ts";
import { smallPlugin } from "../support/plugins/plugin-place.ts";
import { until } from "../support/until.ts";
import { DevServer } from "./dev-server.ts";
import { makeHome } from "./harness.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "holdfast");

interface After {
  after(call: () => unknown): void;
}

/** As somebody starts it in a debugger; gives what it prints. */
async function debugged(
  t: After,
  home: string,
  args: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly line: string }> {
  const env = { PATH: process.env["PATH"], TMPDIR: home };
  const child = spawn(process.execPath, args, {
    cwd: home,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [bytes] = (await once(child.stdout, "data")) as [Buffer];
  return { child, line: bytes.toString("utf8").trim() };
}

function asker({ address, token }: DevServer) {
  return (method: string, path: string, body?: object) =>
    call(address, method, `/v1/${path}`, { token, ...(body === undefined ? {} : { body }) });
}

test("a plugin of our SDK that somebody debugs is mounted, reloaded and written; it outlives the server, and the next one attaches to it", async (t) => {
  const home = makeHome((work) => t.after(work));
  const env = { PATH: process.env["PATH"], HOME: home };
  for (const args of [
    ["new", "doorbell"],
    ["build", "doorbell/doorbell.ts"],
  ]) {
    const { status, stderr } = spawnSync(PROGRAM, ["plugin", ...args], { cwd: home, env });
    assert.equal(status, 0, String(stderr));
  }
  const { child, line } = await debugged(t, home, ["doorbell.mjs", "--debug"]);
  const { doorbell } = JSON.parse(line) as Record<string, { Pid: number; Test: boolean }>;
  assert.deepEqual([doorbell?.Pid, doorbell?.Test], [child.pid, true]);
  const attach = ["--dev-plugin-reattach", line];
  for (let times = 0; times < 2; times++) {
    const server = await DevServer.start(t, home, attach);
    await server.says(
      new RegExp(
        `plugin doorbell v1\\.0\\.0 is mounted at doorbell/; process ${child.pid} answers`,
      ),
    );
    await server.says(/\] {2}ready/);
    const ask = asker(server);
    const count = async () =>
      at(await ask("POST", "doorbell/front", { by: 3 }), "data", "count") as number;
    assert.equal(await count(), 3);
    const { json } = await ask("GET", "sys/plugins/catalog/secret/doorbell");
    const { processes } = (json as { data: { processes: Record<string, unknown>[] } }).data;
    assert.deepEqual(
      processes.map(({ pid, runner, state }) => ({ pid, runner, state })),
      [{ pid: child.pid, runner: "attached", state: "ready" }],
    );
    const reloaded = await ask("POST", "sys/plugins/reload/secret/doorbell", {});
    assert.equal(reloaded.status, 200, reloaded.text);
    assert.equal(await count(), 6, "another engine in the same process, with what was kept");
    assert.equal(await server.stop(), 0);
    assert.equal(child.exitCode, null, "it is not ours to end");
  }
});

test("a plugin by the wire of others that somebody debugs serves its one mount over one connection, and its end is told", async (t) => {
  const home = makeHome((work) => t.after(work));
  const file = join(home, "small.mjs");
  writeFileSync(file, smallPlugin());
  const { child, line } = await debugged(t, home, [file, "--test-mode"]);
  const server = await DevServer.start(t, home, ["--dev-plugin-reattach", `SMALL='${line}'`]);
  await server.says(/plugin small v1\.2\.3 is mounted at small\//);
  const ask = asker(server);
  assert.equal((await ask("POST", "small/kv/a", { value: "one" })).status, 204);
  assert.equal(at(await ask("GET", "small/kv/a"), "data", "value"), "one");
  assert.equal(at(await ask("GET", "small/pid"), "data", "pid"), child.pid);
  const reloaded = await ask("POST", "sys/plugins/reload/secret/small", {});
  assert.match(reloaded.text, /serves one mount, and does so already/);
  assert.equal(at(await ask("GET", "small/kv/a"), "data", "value"), "one", "it goes on");
  assert.equal(await server.stop(), 0);
  assert.equal(child.exitCode, null, "nobody has told it to end");
  const next = await DevServer.start(t, home, ["--dev-plugin-reattach", line]);
  await next.says(/plugin small v1\.2\.3 is mounted at small\//);
  const askNext = asker(next);
  assert.equal((await askNext("GET", "small/kv/a")).status, 404, "it is another store");
  child.kill("SIGKILL");
  await once(child, "close");
  const gone = /process \d+ is to answer at \S+: where it was started anew, so is the server/;
  await until(async () => {
    const answer = await askNext("GET", "small/kv/a");
    assert.ok(answer.status >= 500, answer.text);
    return gone.test((errorsOf(answer) as string[]).join());
  });
  assert.equal(await next.stop(), 0);
});

test("what is attached to runs in test mode, on a socket, and in development alone", () => {
  const one = {
    Protocol: "grpc",
    ProtocolVersion: 5,
    Pid: 1,
    Test: true,
    Addr: { Network: "unix", String: "/tmp/x" },
  };
  const refused = (value: unknown, args = ["--dev"]) =>
    DevServer.refused([
      ...args,
      "--dev-plugin-reattach",
      typeof value === "string" ? value : JSON.stringify({ totp: value }),
    ]);
  assert.match(refused(one, []), /--dev-plugin-reattach needs --dev/);
  assert.match(refused({ ...one, Test: false }), /only a plugin that is served in test mode/);
  assert.match(refused({ ...one, Protocol: "netrpc" }), /must have grpc as its Protocol/);
  assert.match(refused({ ...one, Pid: -1 }), /totp has no Pid/);
  assert.match(
    refused({ ...one, Addr: { Network: "tcp", String: "127.0.0.1:1" } }),
    /a Unix socket/,
  );
  assert.match(refused("{"), /takes what the plugin has printed: \{"NAME"/);
  assert.match(refused(one, ["--dev", "--dev-persist", "x"]), /goes without --dev-persist/);
});
