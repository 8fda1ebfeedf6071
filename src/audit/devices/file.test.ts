import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { type FakeWorld, fakeWorld } from "../../../tests/support/fake-world.ts";
import { linesOf, temporary } from "../../../tests/support/made/made-audit.ts";
import { AppendError } from "../../base/append-error.ts";
import { SystemAppendFiles } from "../../system/append-file.ts";
import { SystemRandom } from "../../system/random.ts";
import type { AppendFile, AppendFiles } from "@holdfast/shared/world";
import { freshKey } from "../../crypto/aead.ts";
import type { ChainHead } from "../../signed/audit-line.ts";
import { Hmac } from "../../crypto/hmac.ts";
import { verifyAuditFile } from "../records/verify.ts";
import { FileSource, type FileTarget } from "./file.ts";
import { rotatedFiles } from "./rotated-files.ts";

const SECOND = 1_000_000_000n;
const key = freshKey(new SystemRandom());

interface SetUp {
  readonly path: string;
  readonly world: FakeWorld;
  /** What was stored of the chain. */
  readonly stored: { head: ChainHead | null };
  /** A process that starts on the same file. */
  readonly source: (change?: Partial<FileTarget>, files?: AppendFiles) => FileSource;
}

function setUp(t: TestContext): SetUp {
  const path = join(temporary(t), "audit.log");
  const world = fakeWorld();
  const stored: { head: ChainHead | null } = { head: null };
  return {
    path,
    world,
    stored,
    source: (change = {}, files = new SystemAppendFiles()) =>
      new FileSource(
        {
          device: "file/",
          path,
          mode: 0o600,
          rotation: { bytes: null, interval: null, keep: null },
          prefix: "",
          allow: async () => () => {},
          ...change,
        },
        {
          ...world,
          files,
          hmac: new Hmac(key),
          heads: { load: () => stored.head, save: async (head) => void (stored.head = head) },
        },
      ),
  };
}

const record = (text: string) => `{"type":"request","text":"${text}"}`;
const events = (path: string) =>
  linesOf(path).map((line) => JSON.parse(line).event ?? JSON.parse(line).text);

test("records stand in the file behind the first line of the chain, and survive a restart", async (t) => {
  const { path, source, stored } = setUp(t);
  const first = await source().open();
  await first.write([record("a"), record("b")]);
  await first.close();
  assert.equal(stored.head?.number, 3);
  const again = source();
  const second = await again.open();
  await second.write([record("c")]);
  assert.deepEqual(events(path), ["started", "a", "b", "continued", "c"]);
  const { problem, records } = verifyAuditFile(linesOf(path), key, { upTo: again.head });
  assert.deepEqual([problem, records], [null, 5]);
  await second.close();
});

test("after a crash the chain goes on from the file, which is ahead of what was stored", async (t) => {
  const { path, source, stored } = setUp(t);
  const first = await source().open();
  await first.write([record("a")]);
  await first.close();
  const crashing = await source().open(); // never closed: nothing is stored
  await crashing.write([record("b")]);
  assert.equal(stored.head?.number, 2);
  const third = await source().open();
  await third.write([record("c")]);
  assert.equal(verifyAuditFile(linesOf(path), key).problem, null);
  await Promise.all([crashing.close(), third.close()]);
});

test("the end of the chain is stored every minute", async (t) => {
  const { source, stored, world } = setUp(t);
  const sink = await source().open();
  await sink.write([record("a")]);
  assert.equal(stored.head?.number, undefined);
  await world.timers.advance(61n * SECOND);
  assert.equal(stored.head?.number, 2);
  await sink.close();
});

test("T-G09: records that were cut off while the server was down are missed at the next start", async (t) => {
  const { path, source, world } = setUp(t);
  const first = await source().open();
  await first.write([record("a"), record("b"), record("c")]);
  await first.close();
  const lines = linesOf(path);
  truncateSync(path, Buffer.byteLength(`${lines.slice(0, 2).join("\n")}\n`));
  const second = await source().open();
  await second.write([record("d")]);
  await second.close();
  assert.ok(world.lines.some((line) => line.includes("audit records are missing")));
  assert.deepEqual(verifyAuditFile(linesOf(path), key).problem, {
    line: 3,
    reason: "records 3 to 4 are missing",
  });
});

test("a line broken off by a power cut is ended, told, and accounted for", async (t) => {
  const { path, source } = setUp(t);
  const first = await source().open();
  await first.write([record("a")]);
  await first.close();
  appendFileSync(path, '{"type":"request","tex');
  const second = await source().open();
  await second.write([record("b")]);
  await second.close();
  const { problem, torn, records } = verifyAuditFile(linesOf(path), key);
  assert.deepEqual([problem, torn, records], [null, 1, 4]);
});

test("lines of something else are left alone, and the chain starts behind them", async (t) => {
  const { path, source } = setUp(t);
  writeFileSync(path, "older text\nwithout an end");
  const sink = await source().open();
  await sink.write([record("a")]);
  await sink.close();
  assert.ok(readFileSync(path, "utf8").startsWith("older text\nwithout an end\n{"));
  const { problem, foreign, records } = verifyAuditFile(linesOf(path), key);
  assert.deepEqual([problem, foreign, records], [null, 2, 2]);
});

test("a file that was moved away is followed by a new one when the device is opened anew", async (t) => {
  const { path, source } = setUp(t);
  const own = source();
  const first = await own.open();
  await first.write([record("a")]);
  renameSync(path, `${path}.moved`);
  const second = await own.open();
  await first.close();
  await second.write([record("b")]);
  await second.close();
  assert.deepEqual(events(`${path}.moved`), ["started", "a"]);
  assert.deepEqual(events(path), ["continued", "b"]);
  const { head } = verifyAuditFile(linesOf(`${path}.moved`), key);
  assert.equal(verifyAuditFile(linesOf(path), key, { from: head }).problem, null);
});

test("files rotate by size, the chain goes on through them, and old ones are removed", async (t) => {
  const { path, source, world } = setUp(t);
  const own = source({ rotation: { bytes: 4096, interval: null, keep: 2 } });
  const sink = await own.open();
  for (let i = 0; i < 40; i++) {
    await sink.write([record("x".repeat(600))]);
    await world.timers.advance(SECOND);
  }
  await sink.close();
  const directory = join(path, "..");
  const rotated = rotatedFiles(path, readdirSync(directory));
  assert.equal(rotated.length, 2);
  assert.match(rotated[0]!, /^audit\.log\.20260101T0000\d\dZ\.\d+$/);
  let head: ChainHead | null = null;
  for (const name of [...rotated, "audit.log"]) {
    const lines = linesOf(join(directory, name));
    assert.ok(lines.join("\n").length <= 4096 + 900);
    assert.equal(JSON.parse(lines[0]!).event, "rotated");
    const verdict = verifyAuditFile(lines, key, { from: head });
    assert.equal(verdict.problem, null);
    head = verdict.head;
  }
  assert.deepEqual(head, own.head);
});

test("files rotate by age, counted from their first line also over a restart", async (t) => {
  const { path, source, world } = setUp(t);
  const hourly = { rotation: { bytes: null, interval: 3600n * SECOND, keep: null } };
  const first = await source(hourly).open();
  await first.write([record("a")]);
  await world.timers.advance(1800n * SECOND);
  await first.close();
  const second = await source(hourly).open();
  await second.write([record("b")]);
  await world.timers.advance(1800n * SECOND);
  await second.write([record("c")]);
  await second.close();
  assert.deepEqual(events(path), ["rotated", "c"]);
  const [old] = rotatedFiles(path, readdirSync(join(path, "..")));
  assert.deepEqual(events(join(path, "..", old!)), ["started", "a", "continued", "b"]);
});

test("a file that cannot be moved is written on", async (t) => {
  const { path, source, world } = setUp(t);
  const files = new SystemAppendFiles();
  files.rename = () => Promise.reject(new Error("no"));
  const sink = await source(
    { rotation: { bytes: 4096, interval: null, keep: null } },
    files,
  ).open();
  for (let i = 0; i < 10; i++) await sink.write([record("x".repeat(900))]);
  await sink.close();
  assert.equal(linesOf(path).length, 11);
  assert.equal(verifyAuditFile(linesOf(path), key).problem, null);
  const warnings = world.lines.filter((line) => line.includes("could not be rotated"));
  assert.equal(warnings.length, 1); // and is not tried for each record
});

/** A disk with so many bytes left. */
function fullDisk(room: { left: number }): AppendFiles {
  const files = new SystemAppendFiles();
  const open = files.open.bind(files);
  files.open = async (path, options) => {
    const file = await open(path, options);
    const small: AppendFile = {
      identity: file.identity,
      size: file.size,
      modified: file.modified,
      read: (at, length) => file.read(at, length),
      close: () => file.close(),
      async append(bytes) {
        const part = bytes.subarray(0, room.left);
        room.left -= part.length;
        await file.append(part);
        if (part.length < bytes.length) throw new AppendError("ENOSPC: no space left", part.length);
      },
    };
    return small;
  };
  return files;
}

test("a disk that fills up at any byte leaves a chain that can be checked once there is room", async (t) => {
  const { path, source, stored } = setUp(t);
  const whole = `${record("a")}${record("b")}`.length * 4;
  for (let cut = 0; cut < whole; cut += 7) {
    writeFileSync(path, "");
    stored.head = null;
    const room = { left: 100_000 };
    const own = source({}, fullDisk(room));
    const sink = await own.open();
    await sink.write([record("before")]);
    room.left = cut;
    await sink.write([record("a"), record("b")]).catch(() => {});
    room.left = cut % 3; // still full
    await sink.write([record("c")]).catch(() => {});
    room.left = 100_000;
    await sink.write([record("after")]);
    const { problem } = verifyAuditFile(linesOf(path), key, { upTo: own.head });
    assert.equal(problem, null, `cut at ${cut}: ${problem?.line} ${problem?.reason}`);
    assert.ok(linesOf(path).some((line) => line.includes("after")));
    await sink.close();
  }
});

test("standard output gets a chain of its own and no file is made", async (t) => {
  const { path, source, stored } = setUp(t);
  const files = new SystemAppendFiles();
  const out: string[] = [];
  Object.assign(files, {
    output: { ...files.output, append: async (bytes: Buffer) => void out.push(bytes.toString()) },
  });
  Object.assign(files.output, {
    size: 0,
    read: async () => Buffer.alloc(0),
    close: async () => {},
  });
  const sink = await source({ path: null }, files).open();
  await sink.write([record("a")]);
  await sink.close();
  const lines = out.join("").trimEnd().split("\n");
  assert.equal(verifyAuditFile(lines, key).records, 2);
  assert.equal(existsSync(path), false);
  assert.equal(stored.head, null);
});
