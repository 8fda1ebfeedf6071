// Real files in a directory of their own: what is read, what replaces, what is refused.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import type { TestContext } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import type { FailureKind } from "@holdfast/shared/failure";
import { SystemFs } from "./fs.ts";

const files = new SystemFs();

function directory(t: TestContext): string {
  const path = fs.mkdtempSync(join(tmpdir(), "holdfast-fs-"));
  t.after(() => fs.rmSync(path, { recursive: true, force: true }));
  return path;
}

function refusal(run: () => unknown): { kind: FailureKind; message: string } {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return { kind: error.kind, message: error.message };
  }
  return assert.fail("it was accepted");
}

/** Notes calls into node:fs in order, and may make one of them fail. */
function watchCalls(t: TestContext, failing?: keyof typeof fs): string[] {
  const calls: string[] = [];
  for (const name of ["openSync", "writeSync", "fsyncSync", "renameSync", "unlinkSync"] as const) {
    const original = fs[name] as (...args: unknown[]) => unknown;
    t.mock.method(fs, name, (...args: unknown[]) => {
      calls.push(name);
      if (name !== failing) return original(...args);
      const failed = { code: "EIO", syscall: name };
      throw Object.assign(new Error("EIO: i/o error, somewhere"), failed);
    });
  }
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  return calls;
}

test("read() gives the whole file up to the limit, in memory outside the pool", (t) => {
  const path = join(directory(t), "a");
  for (const length of [0, 1, 100, 70_000]) {
    const bytes = Buffer.alloc(length, 7);
    fs.writeFileSync(path, bytes);
    const read = files.read(path, length);
    assert.deepEqual(read, bytes);
    assert.equal(read?.buffer.byteLength, length + 1);
  }
});

test("read() refuses a file above the limit", (t) => {
  const path = join(directory(t), "a");
  fs.writeFileSync(path, "12345");
  assert.deepEqual(
    refusal(() => files.read(path, 4)),
    {
      kind: "too-large",
      message: `${path} has 5 bytes; at most 4 are read`,
    },
  );
});

test("read() and info() give null for what does not exist", (t) => {
  const path = join(directory(t), "none");
  assert.equal(files.read(path, 10), null);
  assert.equal(files.info(path), null);
});

test("read() follows no link, opens no directory and does not wait on a pipe", (t) => {
  const at = directory(t);
  fs.writeFileSync(join(at, "target"), "x");
  fs.symlinkSync(join(at, "target"), join(at, "link"));
  execFileSync("mkfifo", [join(at, "pipe")]);
  assert.match(refusal(() => files.read(join(at, "link"), 10)).message, /links are not followed/);
  assert.match(refusal(() => files.read(at, 10)).message, /is not a regular file/);
  assert.match(refusal(() => files.read(join(at, "pipe"), 10)).message, /is not a regular file/);
});

test("a file that grows while it is read is refused", (t) => {
  const path = join(directory(t), "a");
  fs.writeFileSync(path, "12345");
  const stat = fs.fstatSync;
  t.mock.method(fs, "fstatSync", (handle: number) => {
    const before = stat(handle);
    fs.appendFileSync(path, "67890");
    return before;
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.equal(refusal(() => files.read(path, 100)).kind, "unavailable");
});

test("replace() makes and replaces a file of mode 0600 and leaves nothing else behind", (t) => {
  const at = directory(t);
  const path = join(at, "key");
  fs.writeFileSync(path, "old", { mode: 0o644 });
  files.replace(path, Buffer.from("new"));
  assert.equal(files.read(path, 10)?.toString(), "new");
  assert.equal(files.info(path)?.mode, 0o600);
  files.replace(join(at, "empty"), new Uint8Array(0));
  assert.deepEqual(files.list(at), ["empty", "key"]);
});

test("replace() syncs the file before the rename and the directory after it", (t) => {
  const path = join(directory(t), "key");
  const calls = watchCalls(t);
  files.replace(path, Buffer.from("new"));
  const order = ["openSync", "writeSync", "fsyncSync", "renameSync", "openSync", "fsyncSync"];
  assert.deepEqual(calls, order);
});

for (const failing of ["writeSync", "fsyncSync", "renameSync"] as const) {
  test(`when ${failing} fails, replace() throws, the old file stays and no other is left`, (t) => {
    const at = directory(t);
    const path = join(at, "key");
    fs.writeFileSync(path, "old");
    watchCalls(t, failing);
    const { kind, message } = refusal(() => files.replace(path, Buffer.from("new")));
    assert.equal(kind, "unavailable");
    assert.equal(message, `cannot write ${path}: EIO: i/o error`);
    assert.equal(fs.readFileSync(path, "utf8"), "old");
    assert.deepEqual(fs.readdirSync(at), ["key"]);
  });
}

test("replace() removes what a crash in an earlier one left, and only that", (t) => {
  const at = directory(t);
  const kept = [".key.0123456789ab.tmpx", ".key.tmp", ".other.0123456789ab.tmp", "bak"];
  for (const name of [...kept, ".key.0123456789ab.tmp"]) fs.writeFileSync(join(at, name), "x");
  files.replace(join(at, "key"), Buffer.from("new"));
  assert.deepEqual(files.list(at), [...kept, "key"]);
});

test("replace() puts the file in the place of a link instead of writing through it", (t) => {
  const at = directory(t);
  fs.writeFileSync(join(at, "target"), "x");
  fs.symlinkSync(join(at, "target"), join(at, "key"));
  files.replace(join(at, "key"), Buffer.from("new"));
  assert.equal(fs.readFileSync(join(at, "target"), "utf8"), "x");
  assert.equal(files.info(join(at, "key"))?.kind, "file");
});

test("replace() into a directory that does not exist, or over one, is refused", (t) => {
  const at = directory(t);
  files.makeDirectory(join(at, "key"));
  assert.match(
    refusal(() => files.replace(join(at, "no/key"), Buffer.from("x"))).message,
    /ENOENT/,
  );
  assert.match(refusal(() => files.replace(join(at, "key"), Buffer.from("x"))).message, /EISDIR/);
  assert.deepEqual(files.list(at), ["key"]);
});

test("info() tells kinds, size, mode and owner, and does not look through links", (t) => {
  const at = directory(t);
  fs.writeFileSync(join(at, "file"), "12345");
  fs.chmodSync(join(at, "file"), 0o640);
  fs.symlinkSync(join(at, "file"), join(at, "link"));
  assert.deepEqual(files.info(join(at, "file")), {
    kind: "file",
    size: 5,
    mode: 0o640,
    ours: true,
  });
  assert.equal(files.info(at)?.kind, "directory");
  assert.equal(files.info(join(at, "link"))?.kind, "other");
});

test("info() tells a stranger's file by the user we run as", (t) => {
  const path = join(directory(t), "file");
  fs.writeFileSync(path, "x");
  t.mock.property(process, "geteuid", () => 4_000_000);
  assert.equal(files.info(path)?.ours, false);
});

test("makeDirectory() makes all parents with mode 0700 and is content with an existing one", (t) => {
  const at = directory(t);
  files.makeDirectory(join(at, "a/b/c"));
  for (const made of ["a", "a/b", "a/b/c"]) {
    assert.equal(files.info(join(at, made))?.mode, 0o700, made);
  }
  files.makeDirectory(join(at, "a/b/c"));
  fs.writeFileSync(join(at, "file"), "x");
  assert.equal(refusal(() => files.makeDirectory(join(at, "file"))).kind, "unavailable");
});

test("makeDirectory() syncs each directory that got a new entry", (t) => {
  const at = directory(t);
  const calls = watchCalls(t);
  files.makeDirectory(join(at, "a/b/c"));
  assert.equal(calls.filter((call) => call === "fsyncSync").length, 3);
});

test("list() is sorted, and empty for a directory that does not exist", (t) => {
  const at = directory(t);
  for (const name of ["b", "a", "c"]) fs.writeFileSync(join(at, name), "x");
  assert.deepEqual(files.list(at), ["a", "b", "c"]);
  assert.deepEqual(files.list(join(at, "none")), []);
  assert.match(refusal(() => files.list(join(at, "a"))).message, /ENOTDIR/);
});

test("remove() removes durably, is content with absence, and refuses a directory", (t) => {
  const at = directory(t);
  const path = join(at, "key");
  fs.writeFileSync(path, "x");
  const calls = watchCalls(t);
  files.remove(path);
  assert.deepEqual(calls, ["unlinkSync", "openSync", "fsyncSync"]);
  assert.equal(files.info(path), null);
  files.remove(path);
  assert.equal(refusal(() => files.remove(at)).kind, "unavailable");
});

test("remove() takes the link and leaves what it points to", (t) => {
  const at = directory(t);
  fs.writeFileSync(join(at, "target"), "x");
  fs.symlinkSync(join(at, "target"), join(at, "link"));
  files.remove(join(at, "link"));
  assert.deepEqual(files.list(at), ["target"]);
});

test("freeBytes() is what an unprivileged user can write, in bytes", (t) => {
  const at = directory(t);
  t.mock.method(fs, "statfsSync", () => ({ bavail: 10, bfree: 20, blocks: 30, bsize: 4096 }));
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.equal(files.freeBytes(at), 40_960);
});

test("freeBytes() measures the real file system, and says when it cannot", (t) => {
  const at = directory(t);
  assert.ok(files.freeBytes(at) > 0);
  assert.match(refusal(() => files.freeBytes(join(at, "none"))).message, /ENOENT/);
});
