// Files that only grow, on a real disk.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { SystemAppendFiles } from "./append-file.ts";
import { utf8 } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import type { DirectoryFacts } from "@holdfast/shared/world";

const files = new SystemAppendFiles();
const anywhere = { mode: 0o600, allow: () => {} };

function directory(t: TestContext): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-append-")));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("a file is made with its mode, grows, and is found again with its size", async (t) => {
  const path = join(directory(t), "a.log");
  const file = await files.open(path, anywhere);
  assert.equal(file.size, 0);
  assert.equal(statSync(path).mode & 0o7777, 0o600);
  await file.append(utf8("one\n"));
  await file.append(utf8("two\n"));
  assert.equal((await file.read(4, 100)).toString(), "two\n");
  await file.close();

  const again = await files.open(path, { ...anywhere, mode: 0o640 });
  assert.equal(again.size, 8);
  assert.equal(again.identity, file.identity);
  assert.equal(statSync(path).mode & 0o7777, 0o640);
  writeFileSync(path, "x".repeat(100)); // another writer: ours still goes to the end
  await again.append(utf8("three\n"));
  await again.close();
  assert.equal(readFileSync(path, "utf8"), `${"x".repeat(100)}three\n`);
});

test("links, hard links, directories and pipes are refused, and nothing behind them changes", async (t) => {
  const root = directory(t);
  const target = join(root, "target");
  writeFileSync(target, "kept");
  symlinkSync(target, join(root, "link"));
  linkSync(target, join(root, "second-name"));
  mkdirSync(join(root, "folder"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  for (const name of ["link", "second-name", "folder", "pipe"]) {
    await assert.rejects(files.open(join(root, name), anywhere), Failure, name);
  }
  await assert.rejects(files.open(join(root, "none", "a.log"), anywhere), Failure);
  await assert.rejects(files.open("/dev/null", anywhere), Failure);
  assert.equal(readFileSync(target, "utf8"), "kept");
  assert.equal(existsSync(join(root, "none")), false);
});

test("the directory that is judged is the real one, whatever path led to it", async (t) => {
  const root = directory(t);
  mkdirSync(join(root, "real"));
  chmodSync(join(root, "real"), 0o770);
  symlinkSync(join(root, "real"), join(root, "alias"));
  let seen: DirectoryFacts | null = null;
  const allow = (facts: DirectoryFacts) => {
    seen = facts;
    throw new Failure("invalid", "no", "not there");
  };
  await assert.rejects(
    files.open(join(root, "alias", "a.log"), { mode: 0o600, allow }),
    /not there/,
  );
  assert.deepEqual(seen, await files.directory(join(root, "real")));
  const facts = await files.directory(join(root, "alias"));
  assert.equal(facts?.path, join(root, "real"));
  assert.equal(facts?.mode, 0o770);
  assert.equal(facts?.ours, true);
  const above = await files.directory(root);
  assert.ok(facts?.identities.includes(above?.identities[0] ?? "none"));
  assert.equal(existsSync(join(root, "real", "a.log")), false);
});

test("files are listed, renamed, looked into and removed; what is not there is null", async (t) => {
  const root = join(directory(t), "deep", "er");
  await files.makeDirectory(root);
  assert.equal(statSync(root).mode & 0o777, 0o700);
  writeFileSync(join(root, "b"), "content");
  await files.rename(join(root, "b"), join(root, "a"));
  assert.deepEqual(await files.names(root), ["a"]);
  const seen = await files.look(join(root, "a"));
  assert.equal((await seen?.read(0, 3))?.toString(), "con");
  await seen?.close();
  assert.equal(await files.look(join(root, "b")), null);
  assert.equal(await files.directory(join(root, "none")), null);
  assert.equal(await files.directory(join(root, "a")), null);
  await files.remove(join(root, "a"));
  await files.remove(join(root, "a"));
  assert.deepEqual(await files.names(root), []);
});

test("standard output takes bytes and has nothing to read", async () => {
  await files.output.append(new Uint8Array(0));
  assert.equal((await files.output.read(0, 10)).length, 0);
  await files.output.close();
});
