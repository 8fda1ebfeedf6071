// Generations on a real disk: which one is in use, what a crash leaves, and what is never touched.

import assert from "node:assert/strict";
import * as files from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { utf8 } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import type { Fs } from "@holdfast/shared/world";
import { SystemFs } from "../../system/fs.ts";
import { type Batch, type StorageEngine, StorageLocked } from "../engines/engine.ts";
import { lookAtPlace } from "../engines/sqlite-place.ts";
import { SqliteEngine } from "../engines/sqlite.ts";
import { ExchangeUncertain } from "./generations.ts";
import { SqliteGenerations } from "./sqlite-generations.ts";

function place(t: TestContext): string {
  const directory = files.mkdtempSync(join(tmpdir(), "holdfast-generations-"));
  t.after(() => files.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const NOTHING: Batch = {
  expect: { name: "repl/head", value: null },
  data: [],
  leaves: [],
  sums: [],
  log: [],
  cutLogAbove: null,
  trimLogBelow: null,
  meta: [],
};

function put(engine: StorageEngine, key: string, value: string): Promise<void> {
  return engine.commit({ ...NOTHING, data: [{ key, value: utf8(value) }] });
}

function valueOf(engine: StorageEngine, key: string): string | null {
  const value = engine.get(key);
  return value === null ? null : Buffer.from(value).toString();
}

const names = (directory: string) => files.readdirSync(directory).toSorted();
const fs = new SystemFs();

/** A store without generations that holds "one". */
async function filled(directory: string): Promise<SqliteGenerations> {
  const generations = await SqliteGenerations.claim({ directory, fs });
  const engine = await generations.open();
  await put(engine, "core/keyring", "the keyring of one");
  await put(engine, "shared/a", "one");
  await engine.close();
  return generations;
}

test("a store without generations stays as it lies until an exchange; then the next one is used and the first is gone", async (t) => {
  const directory = place(t);
  const generations = await filled(directory);
  assert.deepEqual(names(directory), ["lock.db", "store.db"]);
  for (const [number, before] of ["one", "two", "three"].entries()) {
    const old = await generations.open();
    assert.equal(valueOf(old, "shared/a"), before);
    const next = await generations.begin();
    await put(next.engine, "shared/a", ["two", "three", "four"][number]!);
    await next.takeIntoUse();
    await old.close();
    await generations.removeReplaced();
    const now = String(number + 1);
    assert.deepEqual(names(directory), [now, "current", "lock.db"]);
    assert.deepEqual(names(join(directory, now)), ["store.db"]);
    assert.equal(files.readFileSync(join(directory, "current"), "utf8"), `${now}\n`);
    assert.equal(files.statSync(join(directory, now)).mode & 0o777, 0o700);
    for (const file of ["current", `${now}/store.db`]) {
      assert.equal(files.statSync(join(directory, file)).mode & 0o777, 0o600, file);
    }
  }
  const engine = await generations.open();
  assert.equal(valueOf(engine, "shared/a"), "four");
  await engine.close();
  await generations.close();
});

test("one process at a time, whatever the generation", async (t) => {
  const directory = place(t);
  const generations = await filled(directory);
  await assert.rejects(SqliteGenerations.claim({ directory, fs }), StorageLocked);
  await assert.rejects(SqliteEngine.open({ directory, fs }), StorageLocked);
  await generations.close();
  await generations.close(); // what stops twice is stopped
  const engine = await SqliteEngine.open({ directory, fs });
  await generations.close();
  await assert.rejects(SqliteGenerations.claim({ directory, fs }), StorageLocked);
  await engine.close();
});

test("one that was begun and not taken into use is gone after discard, and after a crash at the next start", async (t) => {
  const directory = place(t);
  const generations = await filled(directory);
  const unwanted = await generations.begin();
  await put(unwanted.engine, "shared/a", "half");
  await unwanted.discard();
  assert.deepEqual(names(directory), ["lock.db", "store.db"]);
  const left = await generations.begin();
  await put(left.engine, "shared/a", "half");
  await left.engine.close();
  files.writeFileSync(join(directory, "1", ".store.db.0123456789ab.tmp"), "", { mode: 0o600 });
  files.mkdirSync(join(directory, "7"), { mode: 0o700 }); // made, and not even marked
  files.mkdirSync(join(directory, "8"), { mode: 0o700 });
  files.writeFileSync(join(directory, "8", ".filling.0123456789ab.tmp"), "", { mode: 0o600 });
  await generations.close(); // as by a crash
  assert.equal(lookAtPlace(directory, fs), "there");
  assert.deepEqual(
    names(directory),
    ["1", "7", "8", "lock.db", "store.db"],
    "looking removes nothing",
  );
  const engine = await SqliteEngine.open({ directory, fs });
  assert.equal(valueOf(engine, "shared/a"), "one");
  await engine.close();
  assert.deepEqual(names(directory), ["lock.db", "store.db"]);
});

test("a crash after the switch: the next start uses the new one and removes the old", async (t) => {
  const directory = place(t);
  for (const before of ["store.db", "1"]) {
    const generations =
      before === "1" ? await SqliteGenerations.claim({ directory, fs }) : await filled(directory);
    const next = await generations.begin();
    await put(next.engine, "shared/a", `after ${before}`);
    await next.takeIntoUse();
    await generations.close();
    assert.ok(names(directory).includes(before), "still there");
    const again = await SqliteGenerations.claim({ directory, fs });
    const engine = await again.open();
    assert.equal(valueOf(engine, "shared/a"), `after ${before}`);
    await engine.close();
    assert.ok(!names(directory).includes(before), "removed");
    await again.close();
  }
});

test("what could not be removed is removed before the next one begins", async (t) => {
  const directory = place(t);
  const generations = await filled(directory);
  for (const number of ["1", "2"]) {
    const next = await generations.begin(); // nobody has removed what was replaced before
    await put(next.engine, "shared/a", number);
    await next.takeIntoUse();
  }
  assert.deepEqual(names(directory), ["1", "2", "current", "lock.db"]);
  await generations.close();
  const engine = await SqliteEngine.open({ directory, fs });
  assert.equal(valueOf(engine, "shared/a"), "2");
  await engine.close();
  assert.deepEqual(names(directory), ["2", "current", "lock.db"]);
});

test("keys are overwritten in the file before it is unlinked", async (t) => {
  const directory = place(t);
  const generations = await filled(directory);
  const kept = join(directory, "kept.db");
  files.linkSync(join(directory, "store.db"), kept); // the same file under another name
  assert.ok(files.readFileSync(kept).includes("the keyring of one"));
  const next = await generations.begin();
  await next.takeIntoUse();
  await generations.removeReplaced();
  await generations.close();
  assert.ok(!files.readFileSync(kept).includes("the keyring of one"));
  const db = new DatabaseSync(kept, { readOnly: true });
  const row = db.prepare("SELECT value FROM data WHERE key = 'core/keyring'").get();
  assert.deepEqual(row?.["value"], new Uint8Array("the keyring of one".length));
  assert.equal(db.prepare("SELECT count(*) AS n FROM data").get()?.["n"], 2);
  db.close();
});

test("where it is not clear which one is in use, nothing is opened and nothing removed", async (t) => {
  const refused = async (directory: string, message: RegExp) => {
    const before = names(directory);
    for (const open of [
      () => SqliteEngine.open({ directory, fs }),
      async () => lookAtPlace(directory, fs),
    ]) {
      await assert.rejects(
        open(),
        (error) => error instanceof Failure && message.test(error.message),
      );
    }
    assert.deepEqual(names(directory), before);
  };
  const exchanged = async () => {
    const directory = place(t);
    const generations = await filled(directory);
    const next = await generations.begin();
    await next.takeIntoUse();
    await generations.removeReplaced();
    await generations.close();
    return directory;
  };
  const pointerless = await exchanged();
  files.rmSync(join(pointerless, "current"));
  await refused(pointerless, /current is missing, but there are generations \(1\)/);
  const doubled = await exchanged();
  files.copyFileSync(join(doubled, "1", "store.db"), join(doubled, "store.db"));
  files.chmodSync(join(doubled, "store.db"), 0o600);
  await refused(doubled, /lies beside generation 1/);
  const senseless = await exchanged();
  files.writeFileSync(join(senseless, "current"), "1 replaces ../x\n");
  await refused(senseless, /does not name a generation/);
  const emptied = await exchanged();
  files.rmSync(join(emptied, "1", "store.db"));
  await refused(emptied, /1\/store\.db is missing/);
});

/** A disk on which one call fails. */
function failing(call: "before" | "after"): Fs {
  const bad = Object.create(fs) as SystemFs;
  bad.replace = (path, bytes) => {
    const pointer = path.endsWith("current");
    if (!pointer || call === "after") fs.replace(path, bytes);
    if (pointer) throw new Failure("unavailable", "file-failed", "EIO");
  };
  for (const name of [
    "read",
    "info",
    "list",
    "remove",
    "makeDirectory",
    "removeDirectory",
  ] as const) {
    bad[name] = fs[name].bind(fs) as never;
  }
  bad.freeBytes = (path) => fs.freeBytes(path);
  return bad;
}

test("a switch that fails changed nothing, or says that it is not known", async (t) => {
  const directory = place(t);
  await (await filled(directory)).close();
  const generations = await SqliteGenerations.claim({ directory, fs: failing("before") });
  const next = await generations.begin();
  await assert.rejects(next.takeIntoUse(), Failure);
  await next.discard();
  assert.deepEqual(names(directory), ["lock.db", "store.db"]);
  await generations.close();
  const unsynced = await SqliteGenerations.claim({ directory, fs: failing("after") });
  const other = await unsynced.begin();
  await assert.rejects(other.takeIntoUse(), ExchangeUncertain);
  await unsynced.close();
});
