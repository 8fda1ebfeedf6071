// What was hashed is what runs, whatever becomes of the file meanwhile.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { describe, Failure } from "@holdfast/shared/failure";
import type { ProgramFile } from "@holdfast/shared/world";
import { PluginPlace } from "../../../tests/support/plugins/plugin-place.ts";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { type CopySettings, PrivateCopies } from "./private-copies.ts";

const GOOD = "#!/bin/sh\necho good\n";
const OTHER = "#!/bin/sh\necho evil\n";

function opened(
  t: TestContext,
  changes: Partial<CopySettings> = {},
  files = new SystemProgramFiles(),
) {
  const place = new PluginPlace();
  t.after(() => place.remove());
  const settings = {
    directory: place.directory,
    fileOwner: null,
    filePermissions: 0o755,
    folder: place.copies,
    isForOthers: false,
    ...changes,
  };
  const machine = { platform: "linux", arch: "x64" };
  const copies = new PrivateCopies(files, settings, machine);
  return { place, copies };
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => assert.fail("it was taken"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Failure, String(error));
  return `${error.code}: ${error.message}`;
}

test("T-H03: swapped by rename and in place a hundred starts never run other bytes", async (t) => {
  const { place, copies } = opened(t);
  const sum = place.put("p", GOOD);
  const path = join(place.directory, "p");
  const swaps = `
    const { renameSync, writeFileSync } = require("node:fs");
    for (;;) for (const text of ${JSON.stringify([OTHER, GOOD])}) {
      writeFileSync(${JSON.stringify(path)}, text);
      writeFileSync(${JSON.stringify(join(place.base, "next"))}, text === ${JSON.stringify(GOOD)} ? ${JSON.stringify(OTHER)} : ${JSON.stringify(GOOD)}, { mode: 0o755 });
      renameSync(${JSON.stringify(join(place.base, "next"))}, ${JSON.stringify(path)});
    }`;
  const swapper = spawn(process.execPath, ["-e", swaps], { stdio: "ignore" });
  let ran = 0;
  let refused = 0;
  try {
    for (let i = 0; i < 100; i++) {
      try {
        const copy = await copies.take("p", sum);
        assert.equal(execFileSync(copy.path, { encoding: "utf8" }), "good\n");
        ran++;
        await copy.release();
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        assert.match(error.code, /^plugin-(?:sum-mismatch|file-refused)$/);
        refused++;
      }
    }
  } finally {
    swapper.kill("SIGKILL");
    await once(swapper, "exit");
  }
  assert.ok(ran > 0 && refused > 0, `${ran} ran, ${refused} were refused: nothing was swapped`);
});

/** Calls between the look at a file and the writing of its copy. */
class FilesWithPause extends SystemProgramFiles {
  pause = () => {};

  override async write(
    path: string,
    bytes: AsyncIterable<Uint8Array>,
    mode: number,
  ): Promise<void> {
    this.pause();
    await super.write(path, bytes, mode);
  }
}

test("T-H03: what is written to the copy is what is hashed, and not what was read before", async (t) => {
  const files = new FilesWithPause();
  const { place, copies } = opened(t, {}, files);
  const [good, other] = [place.put("p", GOOD), place.put("q", OTHER)];
  place.put("p", GOOD);
  files.pause = () => writeFileSync(join(place.directory, "p"), OTHER); // in place: the open file changes
  const said = await refusal(copies.take("p", good));
  assert.match(said, /^plugin-sum-mismatch/);
  assert.ok(said.includes(other));
  assert.deepEqual(readdirSync(place.copies), []);
});

test("a copy is made once, is for nobody else, and is made anew when the file is another one", async (t) => {
  const { place, copies } = opened(t);
  const sum = place.put("p", GOOD);
  const [one, two] = [await copies.take("p", sum), await copies.take("p", sum)];
  assert.equal(one.path, two.path);
  assert.equal(statSync(one.path).mode & 0o777, 0o500);
  assert.equal(statSync(place.copies).mode & 0o777, 0o700);
  // The same bytes, written anew.
  renameSync(join(place.directory, "p"), join(place.base, "old"));
  place.put("p", GOOD);
  const three = await copies.take("p", sum);
  assert.notEqual(three.path, one.path);
  assert.ok(existsSync(one.path), "something runs from it");
  await one.release();
  await one.release();
  assert.ok(existsSync(two.path));
  await two.release();
  assert.ok(!existsSync(two.path));
  await three.release();
  // Who has all our rights could change a copy: then it is made anew as well.
  chmodSync(three.path, 0o700);
  writeFileSync(three.path, OTHER);
  const four = await copies.take("p", sum);
  assert.equal(readFileSync(four.path, "utf8"), GOOD);
  await copies.close();
  assert.ok(!existsSync(place.copies));
});

test("T-H04: one with another sum is never run, and is named with both", async (t) => {
  const { place, copies } = opened(t);
  const [good, other] = [place.put("p", GOOD), place.put("q", OTHER)];
  place.put("p", OTHER);
  for (let i = 0; i < 2; i++) {
    const said = await refusal(copies.take("p", good));
    assert.match(said, /^plugin-sum-mismatch: checksums did not match/);
    assert.ok(said.includes(good) && said.includes(other));
  }
  assert.deepEqual(readdirSync(place.copies), []);
  place.put("p", GOOD);
  await (await copies.take("p", good)).release();
});

test("T-H04: one that runs by its own sum is not given to whoever names another", async (t) => {
  const { place, copies } = opened(t);
  const [good, other] = [place.put("p", GOOD), place.put("q", OTHER)];
  const running = await copies.take("p", good);
  const said = await refusal(copies.take("p", other));
  assert.match(said, /^plugin-sum-mismatch/);
  assert.ok(said.includes(good) && said.includes(other));
  await (await copies.take("p", good)).release();
  await running.release();
});

/** What it opens belongs to others. */
class FilesOf extends SystemProgramFiles {
  readonly #file: number;
  readonly #directory: number;

  constructor(file: number, directory: number) {
    super();
    this.#file = file;
    this.#directory = directory;
  }

  override async open(directory: string, name: string): Promise<ProgramFile | null> {
    const file = await super.open(directory, name);
    if (file === null) return null;
    return {
      facts: async () => ({ ...(await file.facts()), user: this.#file }),
      directory: { ...file.directory, user: this.#directory },
      read: (...from) => file.read(...from),
      close: () => file.close(),
    };
  }
}

test("T-H02: a file or a directory of another user is refused, unless it is the one who was named", async (t) => {
  const us = new SystemProgramFiles().us;
  const [foreign, named] = [us + 1, us + 2];
  for (const [file, directory, says] of [
    [foreign, us, /: it belongs to user \d+, who is neither/],
    [us, foreign, /: the plugin directory belongs to user \d+, who is neither/],
    [0, 0, null],
    [us, us, null],
    [named, named, null],
  ] as const) {
    const files = new FilesOf(file, directory);
    const { place, copies } = opened(t, { fileOwner: named }, files);
    const sum = place.put("p", GOOD);
    if (says === null) await (await copies.take("p", sum)).release();
    else assert.match(await refusal(copies.take("p", sum)), says);
  }
});

test("T-H02: a file comes from the directory that was looked at, whatever has its name meanwhile", async (t) => {
  const files = new SystemProgramFiles();
  const { place } = opened(t);
  const [tight, loose] = [place.directory, join(place.base, "loose")];
  place.put("p", GOOD);
  mkdirSync(loose);
  writeFileSync(join(loose, "p"), OTHER, { mode: 0o755 });
  chmodSync(loose, 0o777);
  const aside = join(place.base, "aside");
  let isOver = false;
  const swapping = (async () => {
    while (!isOver) {
      renameSync(tight, aside);
      renameSync(loose, tight);
      renameSync(aside, loose);
      await new Promise(setImmediate);
    }
  })();
  const seen = new Set<string>();
  try {
    for (let i = 0; i < 400 || (seen.size < 2 && i < 10_000); i++) {
      const file = await files.open(tight, "p");
      if (file === null) continue; // neither is there just now
      for await (const piece of file.read()) {
        seen.add(`${file.directory.mode.toString(8)} ${Buffer.from(piece).toString()}`);
      }
      await file.close();
    }
  } finally {
    isOver = true;
    await swapping;
  }
  assert.deepEqual([...seen].toSorted(), [`755 ${GOOD}`, `777 ${OTHER}`]);
});

test("T-H01: a name that leads below the directory or out of it opens nothing", async (t) => {
  const { place, copies } = opened(t);
  mkdirSync(join(place.directory, "below"));
  const sum = place.put(join("below", "p"), GOOD);
  place.put("p", GOOD);
  for (const name of ["below/p", "./p", "below/../p", "../plugins/p", "/bin/sh", ".", ".."]) {
    const said = await refusal(copies.take(name, sum));
    assert.match(said, /^plugin-file-refused: plugin file .*: .*is no name of a file$/, name);
  }
});

test("T-H02: links, other names, rights of others and what is no program are refused by name", async (t) => {
  const { place, copies } = opened(t);
  const sum = place.put("p", GOOD);
  const path = (name: string) => join(place.directory, name);
  const outside = join(place.base, "outside");
  writeFileSync(outside, GOOD, { mode: 0o755 });
  symlinkSync(outside, path("link"));
  linkSync(outside, path("hard"));
  mkdirSync(path("folder"));
  execFileSync("mkfifo", [path("pipe")]);
  place.put("open", GOOD, 0o757);
  place.put("setuid", GOOD, 0o4755);
  place.put("still", GOOD, 0o644);
  place.put("empty", "");
  place.put("text", "hello");
  place.put("windows", "MZ\0\0");
  place.put("nothere", "#!/opt/none/sh\n");
  const arm = Buffer.alloc(64);
  arm.write("\x7fELF\x02\x01\x01", "latin1");
  arm.writeUInt16LE(183, 18);
  place.put("arm", arm);
  for (const [name, says] of [
    ["none", /there is no such file in the plugin directory/],
    ["link", /links are not followed/],
    ["hard", /it has 2 names/],
    ["folder", /it is no regular file/],
    ["pipe", /it is no regular file/],
    ["open", /others may write to it \(mode 0757\)/],
    ["setuid", /goes beyond plugin_file_permissions/],
    ["still", /it is not executable/],
    ["../plugins/p", /no name of a file|plugin-file-refused/],
    ["..", /no name of a file|plugin-file-refused/],
  ] as const) {
    const said = await refusal(copies.take(name, sum));
    assert.match(said, /^plugin-file-refused: plugin file /, name);
    assert.match(said, says, name);
  }
  const sumOf = (name: string) => execFileSync("sha256sum", [path(name)], { encoding: "utf8" });
  for (const [name, says] of [
    ["empty", /it is empty/],
    ["text", /neither a program nor a script/],
    ["windows", /a program for Windows/],
    ["nothere", /its interpreter \/opt\/none\/sh is not there/],
    ["arm", /built for ARM64/],
  ] as const) {
    assert.match(await refusal(copies.take(name, sumOf(name).slice(0, 64))), says, name);
  }
  chmodSync(place.directory, 0o777);
  assert.match(await refusal(copies.take("p", sum)), /others may write to the plugin directory/);
  chmodSync(place.directory, 0o755);
  renameSync(place.directory, join(place.base, "elsewhere"));
  symlinkSync(join(place.base, "elsewhere"), place.directory);
  assert.match(await refusal(copies.take("p", sum)), /links are not followed/);
  rmSync(place.directory);
  assert.match(await refusal(copies.take("p", sum)), /there is no such file/);
});

test("a file that cannot be opened is told once, with the system's own code where that may pass", async (t) => {
  const { place, copies } = opened(t);
  const failed = (name: string): Promise<Failure> =>
    copies.check(name).then(
      () => assert.fail("it was opened"),
      (error: unknown) => error as Failure,
    );
  const { code, cause } = await failed("x".repeat(300));
  assert.equal(code, "plugin-file-refused");
  assert.equal((cause as NodeJS.ErrnoException).code, "ENAMETOOLONG");
  symlinkSync("/bin/true", join(place.directory, "link"));
  assert.equal(describe(await failed("link")).split("links are not followed").length, 2);
});
