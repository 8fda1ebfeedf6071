import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { SystemWorkFiles } from "./work-file.ts";

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-work-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

test("a file is new and private, grows, is written over and read back", async (t) => {
  const path = join(place(t), "a");
  const files = new SystemWorkFiles();
  const file = await files.create(path);
  await file.append(Buffer.from("hello "));
  await file.append(Buffer.from("world"));
  await file.overwrite(0, Buffer.from("HE"));
  await file.sync();
  assert.equal(file.size, 11);
  assert.equal((await file.read(0, 100)).toString(), "HEllo world");
  assert.equal((await file.read(6, 2)).toString(), "wo");
  await file.close();
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await assert.rejects(files.create(path), Failure);
  const again = await files.open(path);
  assert.equal(again?.size, 11);
  await again?.close();
});

test("an unnamed file leaves no name, also those that a crash has left", async (t) => {
  const directory = join(place(t), "spool");
  const files = new SystemWorkFiles();
  const first = await files.createUnnamed(directory);
  writeFileSync(join(directory, ".work-0123456789abcdef01234567"), "left over");
  writeFileSync(join(directory, "somebody else's"), "stays");
  const second = await files.createUnnamed(directory);
  assert.deepEqual(readdirSync(directory), ["somebody else's"]);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  await first.append(Buffer.from("one"));
  await second.append(Buffer.from("two"));
  assert.equal((await first.read(0, 3)).toString(), "one");
  assert.equal((await second.read(0, 3)).toString(), "two");
  await first.close();
  await second.close();
});

test("links are not followed, directories are no files, what is absent is null", async (t) => {
  const directory = place(t);
  const files = new SystemWorkFiles();
  writeFileSync(join(directory, "target"), "x");
  symlinkSync("target", join(directory, "link"));
  await assert.rejects(files.open(join(directory, "link")), Failure);
  await assert.rejects(files.create(join(directory, "link")), Failure);
  await assert.rejects(files.open(directory), /not a regular file/);
  assert.equal(await files.open(join(directory, "none")), null);
  await files.remove(join(directory, "none"));
});

test("a rename takes the place of what is there", async (t) => {
  const directory = place(t);
  const files = new SystemWorkFiles();
  writeFileSync(join(directory, "b"), "old");
  const file = await files.create(join(directory, "a"));
  await file.append(Buffer.from("new"));
  await file.close();
  await files.rename(join(directory, "a"), join(directory, "b"));
  assert.deepEqual(readdirSync(directory), ["b"]);
});
