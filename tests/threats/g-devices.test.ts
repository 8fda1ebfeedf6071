// Threats G that concern where a trail goes: files that would do harm, paths that are no files, and a device
// that does not get on. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import test from "node:test";
import { at } from "../support/http-client.ts";
import { scene, type Scene } from "./scene.ts";

/** Each is refused with a sentence, and nothing is made of it, neither a device nor a file. */
async function refuses(stage: Scene, options: Readonly<Record<string, object>>): Promise<void> {
  const { directory } = stage.server;
  const files = () => new Set(readdirSync(directory, { recursive: true, encoding: "utf8" }));
  const before = files();
  for (const [what, setting] of Object.entries(options)) {
    const body = { type: "file", options: setting };
    const { root: token } = stage;
    const answer = await stage.server.call("POST", "/v1/sys/audit/bad", { token, body });
    assert.equal(answer.status, 400, `${what}: ${answer.text}`);
    assert.ok(String(at(answer, "errors", 0)).length > 10, what);
  }
  assert.deepEqual(files(), before);
  const { data } = (await stage.must("GET", "/v1/sys/audit")).json as { data: object };
  assert.deepEqual(Object.keys(data), ["file/"], "the one that is good");
}

test("T-G02: no audit file is put among the server's own files, made to be run, or begun by its maker", async (t) => {
  const stage = await scene(t);
  await stage.audit();
  const { auditDirectory, directory } = stage.server;
  const own = join(directory, "server");
  mkdirSync(own, { recursive: true });
  symlinkSync(own, join(auditDirectory, "link"));
  symlinkSync(directory, join(auditDirectory, "up"));
  const inside = (name: string, more: object = {}) => ({
    file_path: join(auditDirectory, name),
    ...more,
  });
  await refuses(stage, {
    "the data directory": { file_path: join(directory, "x.log") },
    "the server's own": { file_path: join(own, "x.log") },
    "through a link": inside("link/x.log"),
    "through a link, up": inside("up/x.log"),
    "the way up": { file_path: `${auditDirectory}/../x.log` },
    "another's directory": { file_path: "/tmp/holdfast-threat.log" },
    "among programs": { file_path: "/usr/local/bin/x" },
    "to be run by its owner": inside("x.log", { mode: "0700" }),
    "to be run by anybody": inside("x.log", { mode: "0755" }),
    "to be written by others": inside("x.log", { mode: "0666" }),
    "a program's first line": inside("x.log", { prefix: "#!/bin/sh\n" }),
    "any first word": inside("x.log", { prefix: "x" }),
  });
  assert.equal(existsSync("/tmp/holdfast-threat.log"), false);
});

test("T-G02: the server's own directories take no trail, though the configuration lists what is around them", async (t) => {
  const stage = await scene(t, {
    config: (config) => {
      const fileRoots = [dirname(config.directories.server)];
      return { ...config, audit: { ...config.audit, fileRoots } };
    },
  });
  const { directory, auditDirectory } = stage.server;
  const own = join(directory, "server");
  for (const made of [own, auditDirectory]) mkdirSync(made, { recursive: true, mode: 0o700 });
  await stage.audit();
  symlinkSync(own, join(auditDirectory, "link"));
  await refuses(stage, {
    "the server's own": { file_path: join(own, "x.log") },
    "through a link": { file_path: join(auditDirectory, "link", "x.log") },
  });
});

test("T-G03: what names no file of its own is no audit file", async (t) => {
  const stage = await scene(t);
  await stage.audit();
  const { auditDirectory } = stage.server;
  const pipe = join(auditDirectory, "pipe");
  assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
  mkdirSync(join(auditDirectory, "folder"));
  symlinkSync("/dev/null", join(auditDirectory, "null"));
  await refuses(stage, {
    nothing: {},
    "an empty path": { file_path: "" },
    "the root of all": { file_path: "/" },
    "a relative path": { file_path: "audit.log" },
    "a directory": { file_path: join(auditDirectory, "folder") },
    "a slash at the end": { file_path: `${auditDirectory}/x.log/` },
    "a pipe": { file_path: pipe },
    "a device node": { file_path: "/dev/full" },
    "a device node by a link": { file_path: join(auditDirectory, "null") },
    "the process's own": { file_path: "/proc/self/environ" },
    "a zero byte": { file_path: `${auditDirectory}/x\u0000.log` },
  });
});

test("T-G06: while the only device stalls nothing is done and little is kept; when it gets on, so does all", async (t) => {
  const sockets: Socket[] = [];
  const sink = createServer((socket) => void sockets.push(socket.pause().on("error", () => {})));
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    sink.close();
  });
  const stage = await scene(t);
  const { port } = sink.address() as { port: number };
  const options = { address: `127.0.0.1:${port}`, socket_type: "tcp", write_timeout: "1s" };
  await stage.must("POST", "/v1/sys/audit/far", { body: { type: "socket", options } });
  // A record of some 400 KB each: what the system keeps for a socket is full after a few of them.
  const custom_metadata = { a: "b" };
  const body = { custom_metadata, odd: Array.from({ length: 4_900 }, (_, i) => `text ${i}`) };
  const make = async (number: number) => {
    const path = `/v1/sys/namespaces/n${number}`;
    return (await stage.server.call("POST", path, { token: stage.root, body })).status;
  };
  const statuses: number[] = [];
  const isThere = (number: number) => stage.server.server.namespaces.named(`n${number}`) !== null;
  const before = process.memoryUsage().rss;
  for (let number = 0; number < 240; number += 24) {
    const some = Array.from({ length: 24 }, (_, i) => make(number + i));
    statuses.push(...(await Promise.all(some)));
  }
  const failed = statuses.filter((status) => status >= 500).length;
  assert.ok(failed > 100, `${failed} of 240 failed`);
  // Of some the first record went through, at the start and each time the device was dialled anew, and the
  // second did not; all others were not done.
  const done = statuses.filter((status, number) => status >= 500 && isThere(number)).length;
  assert.ok(done < failed / 4, `${done} of ${failed} that failed were done`);
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
  assert.ok(grown < 200, `${Math.round(grown)} MB more`);
  for (const socket of sockets) socket.resume();
  let last = 0;
  for (let tries = 0; last !== 200 && tries < 500; tries++) last = await make(1000);
  assert.equal(last, 200, "and all is well again");
});
