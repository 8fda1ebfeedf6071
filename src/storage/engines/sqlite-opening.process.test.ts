// What only the sqlite engine promises when it opens a store: a private directory, one process, a known format.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as files from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { batchOf, bytes } from "../../../tests/contract/engine.ts";
import { SystemFs } from "../../system/fs.ts";
import { Failure } from "@holdfast/shared/failure";
import type { FileInfo } from "@holdfast/shared/world";
import { EngineError, StorageLocked } from "./engine.ts";
import {
  child,
  line,
  modeOf,
  newPlace,
  open,
  putting,
  sumRow,
} from "../../../tests/support/stores/sqlite-places.ts";

const MIB = 1024 * 1024;

describe("the place of a store", () => {
  test("everything in it is private, whatever the umask", async () => {
    const directory = newPlace();
    const umask = process.umask(0);
    try {
      const engine = await open(directory);
      await engine.commit(putting("k", bytes("v")));
      assert.equal(engine.get("k")?.length, 1);
      assert.equal(modeOf(directory), "700");
      const names = files.readdirSync(directory).toSorted();
      assert.deepEqual(names, ["lock.db", "store.db", "store.db-shm", "store.db-wal"]);
      for (const name of names) assert.equal(modeOf(join(directory, name)), "600", name);
      await engine.close();
      assert.equal(process.umask(0), 0);
    } finally {
      process.umask(umask);
    }
  });

  test("a directory that others may enter is refused with the command that helps", async () => {
    for (const mode of [0o750, 0o705, 0o710, 0o777]) {
      const directory = newPlace();
      files.mkdirSync(directory);
      files.chmodSync(directory, mode);
      await assert.rejects(open(directory), (error: Failure) => {
        assert.ok(error instanceof Failure);
        assert.match(error.message, new RegExp(`chmod 700 ${directory}$`));
        return true;
      });
      assert.deepEqual(files.readdirSync(directory), []);
    }
  });

  test("a directory of somebody else is refused", async () => {
    class Strange extends SystemFs {
      override info(path: string): FileInfo | null {
        const info = super.info(path);
        return info && { ...info, ours: false };
      }
    }
    const refused = open(newPlace(), { fs: new Strange() });
    await assert.rejects(refused, /belongs to another user; .*chmod 700/);
  });

  test("a link, a file in place of the directory, and a readable database are refused", async () => {
    const file = newPlace();
    files.writeFileSync(file, "");
    await assert.rejects(open(file), Failure);
    const target = newPlace();
    files.mkdirSync(target, { mode: 0o700 });
    const link = newPlace();
    files.symlinkSync(target, link);
    await assert.rejects(open(link), /is not a directory/);
    const directory = newPlace();
    await (await open(directory)).close();
    files.chmodSync(join(directory, "store.db"), 0o640);
    await assert.rejects(open(directory), /chmod 600/);
  });

  test("it says how much room is left on its file system", async () => {
    const directory = newPlace();
    const engine = await open(directory);
    const { bavail, bsize } = files.statfsSync(directory);
    assert.ok(Math.abs(engine.freeBytes() - bavail * bsize) < 1024 * MIB);
    await engine.close();
  });
});

describe("one process per store", () => {
  test("a second engine in the same process is refused until the first is closed", async () => {
    const directory = newPlace();
    const first = await open(directory);
    await assert.rejects(open(directory), StorageLocked);
    await first.commit(putting("k", bytes("v"))); // undisturbed
    await first.close();
    const second = await open(directory);
    assert.deepEqual(second.get("k"), bytes("v"));
    await second.close();
  });

  test("a second process is refused until the first is killed, which loses nothing", async () => {
    const directory = newPlace();
    const other = child(
      directory,
      `const engine = await open();
       for (let i = 0; i < 50; i++) await engine.commit(putting("k/" + i, new Uint8Array(100).fill(i)));
       console.log("ready");`,
    );
    assert.equal(await line(other), "ready");
    await assert.rejects(open(directory), (error: Error) => {
      assert.ok(error instanceof StorageLocked);
      assert.ok(error.message.includes(directory));
      return true;
    });
    other.kill("SIGKILL");
    await once(other, "exit");
    assert.ok(files.statSync(join(directory, "store.db-wal")).size > 0);
    const engine = await open(directory);
    assert.equal(engine.keys({ from: "", to: null, limit: 100 }).length, 50);
    assert.deepEqual(engine.get("k/49"), new Uint8Array(100).fill(49));
    await engine.close();
  });

  test("of several processes that make the same store at once exactly one has it", async () => {
    const directory = newPlace();
    const body = `
      const result = await open().then(() => "open", (error) => error.name);
      console.log(result);
      setInterval(() => {}, 1000);`;
    const all = Array.from({ length: 4 }, () => child(directory, body));
    const exits = all.map((each) => once(each, "exit"));
    const results = await Promise.all(all.map(line));
    for (const each of all) each.kill("SIGKILL");
    await Promise.all(exits);
    assert.deepEqual(results.toSorted(), [
      "StorageLocked",
      "StorageLocked",
      "StorageLocked",
      "open",
    ]);
  });
});

describe("the format of a store", () => {
  async function madeWith(sql: string): Promise<{ directory: string; content: () => string }> {
    const directory = newPlace();
    await (await open(directory)).close();
    const path = join(directory, "store.db");
    const db = new DatabaseSync(path);
    db.exec(sql);
    db.close();
    return { directory, content: () => files.readFileSync(path, "base64") };
  }

  test("a newer one is refused by name and left as it is", async () => {
    const { directory, content } = await madeWith("PRAGMA user_version = 4");
    const before = content();
    await assert.rejects(open(directory), (error: Failure) => {
      assert.equal(error.code, "storage-format-newer");
      assert.match(error.message, /written by a newer version of Holdfast/);
      return true;
    });
    assert.equal(content(), before);
  });

  test("a newer one that was not closed keeps its log too", async () => {
    const directory = newPlace();
    await (await open(directory)).close();
    // Another process writes the mark and dies, so that it is in the log only.
    const program = `
      const { DatabaseSync } = require("node:sqlite");
      const db = new DatabaseSync(${JSON.stringify(join(directory, "store.db"))});
      db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 9");
      process.kill(process.pid, "SIGKILL");`;
    await once(spawn(process.execPath, ["-e", program]), "exit");
    const content = () =>
      ["store.db", "store.db-wal"].map((name) =>
        files.readFileSync(join(directory, name), "base64"),
      );
    const before = content();
    assert.ok(before[1]!.length > 0);
    await assert.rejects(open(directory), /format 9/);
    assert.deepEqual(content(), before);
  });

  test("a database of another program is refused and left as it is", async () => {
    for (const sql of ["PRAGMA application_id = 7", "PRAGMA application_id = 0"]) {
      const { directory, content } = await madeWith(sql);
      const before = content();
      await assert.rejects(open(directory), { code: "storage-foreign" });
      assert.equal(content(), before);
    }
  });

  test("a file that is no database is an error of the storage", async () => {
    const directory = newPlace();
    files.mkdirSync(directory, { mode: 0o700 });
    files.writeFileSync(join(directory, "store.db"), "x".repeat(8192), { mode: 0o600 });
    await assert.rejects(open(directory), EngineError);
    assert.equal(files.readFileSync(join(directory, "store.db"), "utf8"), "x".repeat(8192));
  });

  test("a log without its database is not thrown away", async () => {
    const directory = newPlace();
    await (await open(directory)).close();
    files.writeFileSync(join(directory, "store.db-wal"), "all that is left", { mode: 0o600 });
    for (const lose of [files.truncateSync, files.rmSync]) {
      lose(join(directory, "store.db"));
      await assert.rejects(open(directory), { code: "storage-file-missing" });
    }
    assert.equal(files.readFileSync(join(directory, "store.db-wal"), "utf8"), "all that is left");
  });

  test("the empty file of a first start that was cut short becomes a store", async () => {
    const directory = newPlace();
    files.mkdirSync(directory, { mode: 0o700 });
    files.writeFileSync(join(directory, "store.db"), "", { mode: 0o600 });
    const engine = await open(directory);
    await engine.commit(putting("k", bytes("v")));
    assert.deepEqual(engine.get("k"), bytes("v"));
    await engine.close();
  });

  const olderForms = [
    [1, "DROP TABLE recent;"],
    [2, ""],
  ] as const;
  for (const [format, unmade] of olderForms) {
    test(`one of format ${format} is raised, and keeps what it holds`, async () => {
      const { directory } = await madeWith(`
      ${unmade}
      PRAGMA user_version = ${format};
      INSERT INTO data VALUES ('k', x'76');
      INSERT INTO sum VALUES (7, x'0102', 3);
    `);
      const raised = await open(directory);
      assert.deepEqual(raised.get("k"), bytes("v"));
      await raised.commit(batchOf({ sums: [sumRow(8, 1)] }));
      const sums = [{ slot: 7, sum: Uint8Array.of(1, 2), count: 3 }, sumRow(8, 1)];
      assert.deepEqual(raised.sums(), sums);
      await raised.close();
      assert.deepEqual((await open(directory)).sums(), sums);
    });
  }

  test("a store runs with its settings: format 3, WAL", async () => {
    const directory = newPlace();
    const engine = await open(directory);
    const db = new DatabaseSync(join(directory, "store.db"), { readOnly: true });
    const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assert.equal(pragma("application_id"), Buffer.from("HOLD").readInt32BE());
    assert.equal(pragma("user_version"), 3);
    assert.equal(pragma("journal_mode"), "wal");
    db.close();
    await engine.close();
  });
});
