// The log's file: appending, opening anew, rotation, and what happens when it does not take a line.

import assert from "node:assert/strict";
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { DAY, HOUR, SECOND } from "@holdfast/shared/text/duration";
import { LogFile, type LogFileOptions } from "./log-file.ts";

function opened(t: TestContext, options: Partial<LogFileOptions> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-log-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "h.log");
  const clock = new FakeClock();
  const fallen: string[] = [];
  const open = () =>
    new LogFile({
      path,
      rotateBytes: 0,
      rotateAfter: DAY,
      rotateKeep: 0,
      clock,
      fallback: (line) => fallen.push(line),
      ...options,
    });
  const file = open();
  t.after(() => file.close());
  const read = () => readFileSync(path, "utf8");
  return { directory, path, clock, fallen, open, file, read };
}

test("lines are appended to what is there, in a file of mode 0600", (t) => {
  const { file, open, path, read } = opened(t);
  file.write("a\n");
  const second = open();
  second.write("b\n");
  second.close();
  file.write("c\n");
  assert.equal(read(), "a\nb\nc\n");
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("after a rename from outside reopen() begins a new file", (t) => {
  const { file, path, read } = opened(t);
  file.write("a\n");
  renameSync(path, `${path}.1`);
  file.write("b\n");
  file.reopen();
  file.write("c\n");
  assert.equal(readFileSync(`${path}.1`, "utf8"), "a\nb\n");
  assert.equal(read(), "c\n");
});

test("a file is rotated at its size, and only so many old ones are kept", (t) => {
  const { file, clock, directory, read } = opened(t, { rotateBytes: 4, rotateKeep: 2 });
  writeFileSync(join(directory, "h.log.mine"), "not ours to remove");
  for (const line of ["aaaa\n", "bbbb\n", "cccc\n", "dddd\n"]) {
    file.write(line);
    clock.pass(SECOND);
  }
  assert.equal(read(), "dddd\n");
  const old = readdirSync(directory).filter((name) => /\d{9}$/.test(name));
  const texts = old.toSorted().map((name) => readFileSync(join(directory, name), "utf8"));
  assert.deepEqual(texts, ["bbbb\n", "cccc\n"]);
  assert.ok(readdirSync(directory).includes("h.log.mine"));
});

test("a file is rotated at its age, and an empty one never", (t) => {
  const { file, clock, directory } = opened(t, { rotateAfter: HOUR });
  clock.pass(2n * HOUR);
  file.write("a\n");
  assert.equal(readdirSync(directory).length, 1);
  file.write("b\n");
  clock.pass(2n * HOUR);
  file.write("c\n");
  assert.equal(readdirSync(directory).length, 2);
});

test("lines that the file does not take go to the fallback, with the reason once", (t) => {
  const { file, fallen, path } = opened(t);
  file.close();
  rmSync(path);
  symlinkSync("/dev/full", path); // links are not followed, and nothing can be opened here
  file.write("a\n");
  file.write("b\n");
  assert.equal(fallen.length, 3);
  assert.match(fallen[0] ?? "", /^cannot write the log .*; the log goes on here\n$/);
  assert.deepEqual(fallen.slice(1), ["a\n", "b\n"]);
  rmSync(path);
  file.write("c\n");
  assert.equal(readFileSync(path, "utf8"), "c\n");
});

test("what is no regular file, or cannot be made, is refused at the start", (t) => {
  const { directory, open, path } = opened(t);
  rmSync(path);
  symlinkSync(join(directory, "other"), path);
  assert.throws(open, /cannot write the log/);
  rmSync(path);
  chmodSync(directory, 0o700);
  assert.throws(
    () =>
      new LogFile({
        path: join(directory, "none", "h.log"),
        rotateBytes: 0,
        rotateAfter: DAY,
        rotateKeep: 0,
        clock: new FakeClock(),
        fallback: () => {},
      }),
    /ENOENT/,
  );
});
