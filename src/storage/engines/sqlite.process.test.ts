// What only the sqlite engine promises of a store that is open: the end after the first error, a bounded log, and nothing left
// of what was deleted. How one is opened is in sqlite-opening.process.test.ts.

import assert from "node:assert/strict";
import { once } from "node:events";
import * as files from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { setFlagsFromString } from "node:v8";
import { batchOf, bytes, HEAD } from "../../../tests/contract/engine.ts";
import { describe as say } from "@holdfast/shared/failure";
import { EngineError, type SumRow } from "./engine.ts";
import { WriterFailure } from "./sqlite-failure.ts";
import { SqliteThread } from "./sqlite-thread.ts";
import { SqliteViewApart } from "./sqlite-view-apart.ts";
import type { SqliteEngine } from "./sqlite.ts";
import {
  child,
  line,
  newPlace,
  open,
  putting,
  sumRow,
} from "../../../tests/support/stores/sqlite-places.ts";

const MIB = 1024 * 1024;

describe("sums that changed lately", () => {
  const count = (directory: string, table: string) => {
    const db = new DatabaseSync(join(directory, "store.db"), { readOnly: true });
    const { n } = db.prepare(`SELECT count(*) AS n FROM ${table}`).get() ?? {};
    db.close();
    return n;
  };

  test("lie in one row for each commit until there are many, and read as if in their places", async () => {
    const directory = newPlace();
    const engine = await open(directory, { checkpointBytes: 256 * 1024 });
    await engine.commit(batchOf({ sums: [sumRow(1, 1), sumRow(5, 1), sumRow(9, 1)] }));
    const before = engine.snapshot();
    await engine.commit(batchOf({ sums: [sumRow(5, 2), sumRow(7, 2)] }));
    assert.deepEqual([count(directory, "recent"), count(directory, "sum")], [2, 0]);
    const sums = [sumRow(1, 1), sumRow(5, 2), sumRow(7, 2), sumRow(9, 1)];
    assert.deepEqual(engine.sums(), sums);
    assert.deepEqual(engine.sums(2, 2), sums.slice(1, 3));
    assert.deepEqual(before.sums(), [sumRow(1, 1), sumRow(5, 1), sumRow(9, 1)]);
    before.close();
    const many = Array.from({ length: 1000 }, (_, n) => sumRow(20 + 9 * n, 3));
    for (let n = 0; count(directory, "sum") !== 1004; n++) {
      assert.ok(n < 100, "after some ten thousand they go to their places");
      await engine.commit({ ...putting(`k/${n}`, Buffer.alloc(8192)), sums: many });
    }
    assert.deepEqual(engine.sums(0, 4), sums);
    assert.deepEqual(engine.sums(10), many);
    await engine.close();
    assert.deepEqual([count(directory, "recent"), count(directory, "sum")], [0, 1004]);
    assert.deepEqual((await open(directory)).sums(), [...sums, ...many]);
  });

  test("go to their places part by part, and at each step read as what they are", async () => {
    const directory = newPlace();
    const engine = await open(directory);
    const last = new Map<number, SumRow>();
    const expected = () => [...last.values()].toSorted((a, b) => a.slot - b.slot);
    // To show how thousands of rows differ takes minutes.
    const named = (rows: readonly SumRow[]) => rows.map(({ slot, count }) => `${slot}=${count}`);
    const areSame = (rows: readonly SumRow[]) => named(rows).join() === named(expected()).join();
    let [most, placed] = [0, 0];
    for (let n = 1; n <= 150; n++) {
      // Now and then they lie close together, also while others are on their way.
      const [first, step] = n % 7 === 0 ? [n * 100, 1] : [n * 31, 263];
      const sums = Array.from({ length: 500 }, (_, i) => sumRow((first + i * step) % 131_072, n));
      for (const row of sums) last.set(row.slot, row);
      await engine.commit(batchOf({ sums: sums.toSorted((a, b) => a.slot - b.slot) }));
      const waiting = Number(count(directory, "recent"));
      most = Math.max(most, waiting);
      if (waiting < most) placed = n;
      if (n % 16 === 0 || (n > 66 && n < 70)) assert.ok(areSame(engine.sums()), `${n}`);
    }
    assert.ok(
      placed > 0 && most < 150,
      `${placed}: their rows go, ${most}: and are never too many`,
    );
    await engine.close();
    assert.ok(areSame((await open(directory)).sums()));
  });

  test("of the commit that comes after the last row of them has gone are kept", async () => {
    const directory = newPlace();
    const engine = await open(directory);
    const few = Array.from({ length: 128 }, (_, n) => sumRow(2 * n, 1));
    for (let n = 0; n < 255; n++) await engine.commit(batchOf({ sums: few }));
    await engine.commit(batchOf({ sums: [...few, sumRow(300, 1)] })); // more than wait: they are one part
    await engine.commit(batchOf({}));
    assert.equal(count(directory, "recent"), 0, "all of their rows have gone with one commit");
    await engine.commit(batchOf({ sums: [sumRow(300, 999)] }));
    assert.deepEqual(engine.sums(300), [sumRow(300, 999)]);
    await engine.close();
    assert.deepEqual((await open(directory)).sums(300), [sumRow(300, 999)]);
  });

  test("are there after a crash while they go to their places", async () => {
    const directory = newPlace();
    const dying = child(
      directory,
      `const engine = await open();
       const sum = Buffer.alloc(32, 7);
       for (let n = 1; n <= 75; n++) {
         const sums = Array.from({ length: 500 }, (_, i) => ({ slot: i * 263, sum, count: n }));
         await engine.commit({ ...batch, data: [], sums });
       }
       console.log("committed");
       setInterval(() => {}, 1000);`,
    );
    assert.equal(await line(dying), "committed");
    dying.kill("SIGKILL");
    await once(dying, "exit");
    assert.ok(Number(count(directory, "recent")) > 0);
    assert.ok(Number(count(directory, "sum")) > 0, "some are in their places");
    const sum = new Uint8Array(32).fill(7);
    const expected = Array.from({ length: 500 }, (_, i) => ({ slot: i * 263, sum, count: 75 }));
    assert.deepEqual((await open(directory)).sums(), expected);
  });

  test("go to their places at once where many come in order and nothing else waits", async () => {
    const directory = newPlace();
    const engine = await open(directory);
    const range = (first: number, count: number) =>
      Array.from({ length: 4096 }, (_, n) => sumRow(first + n, count));
    await engine.commit(batchOf({ sums: range(0, 1) }));
    await engine.commit(batchOf({ sums: range(4096, 1) }));
    assert.deepEqual([count(directory, "recent"), count(directory, "sum")], [0, 8192]);
    // One that waits must not be read in the place of what comes after it.
    await engine.commit(batchOf({ sums: [sumRow(9, 2)] }));
    await engine.commit(batchOf({ sums: range(0, 3) }));
    assert.deepEqual([count(directory, "recent"), count(directory, "sum")], [2, 8192]);
    assert.deepEqual(engine.sums(8, 3), [sumRow(8, 3), sumRow(9, 3), sumRow(10, 3)]);
    await engine.close();
    const again = await open(directory);
    assert.deepEqual(again.sums(8, 3), [sumRow(8, 3), sumRow(9, 3), sumRow(10, 3)]);
    await again.close();
  });

  test("are there after a crash", async () => {
    const directory = newPlace();
    const dying = child(
      directory,
      `const engine = await open();
       const sum = Buffer.alloc(32, 7);
       await engine.commit({ ...batch, data: [], sums: [{ slot: 3, sum, count: 1 }] });
       console.log("committed");
       setInterval(() => {}, 1000);`,
    );
    assert.equal(await line(dying), "committed");
    dying.kill("SIGKILL");
    await once(dying, "exit");
    const engine = await open(directory);
    assert.deepEqual(engine.sums(), [{ slot: 3, sum: new Uint8Array(32).fill(7), count: 1 }]);
    assert.deepEqual([count(directory, "recent"), count(directory, "sum")], [0, 1]);
  });

  test("a damaged row loses what makes no sense; the storage opens, for the store to mend", async () => {
    const directory = newPlace();
    const engine = await open(directory);
    await engine.commit(batchOf({ sums: [sumRow(1, 1)] }));
    await engine.close();
    const db = new DatabaseSync(join(directory, "store.db"));
    for (const damaged of ["x''", "x'01'", "x'0200000001000000ffff00'"]) {
      db.exec(`INSERT INTO recent (sums) VALUES (${damaged})`);
    }
    db.close();
    assert.deepEqual((await open(directory)).sums(), [sumRow(1, 1)]);
  });
});

describe("a commit that is durable but not announced", () => {
  for (const readBetween of [true, false]) {
    const when = readBetween ? "after a read" : "without a read";
    test(`is not seen by reads or snapshots (${when} since the last commit)`, async () => {
      const directory = newPlace();
      const engine = await open(directory);
      await engine.commit(putting("k", bytes("old")));
      if (readBetween) assert.deepEqual(engine.get("k"), bytes("old"));
      const other = new DatabaseSync(join(directory, "store.db"), { readOnly: true });
      const peek = other.prepare("SELECT value FROM data WHERE key = 'k'");
      const committed = engine.commit(putting("k", bytes("new")));
      // No turn of the event loop until another connection sees it: the answer cannot arrive.
      const durable = () => Buffer.from(peek.get()!["value"] as Uint8Array).toString() === "new";
      while (!durable());
      assert.deepEqual(engine.get("k"), bytes("old"));
      const view = engine.snapshot();
      assert.deepEqual(view.get("k"), bytes("old"));
      await committed;
      assert.deepEqual(engine.get("k"), bytes("new"));
      assert.deepEqual(view.get("k"), bytes("old"));
      view.close();
      other.close();
      await engine.close();
    });
  }
});

describe("the end after the first error", () => {
  /** Fails unless every use of the engine throws an EngineError. */
  async function assertStopped(engine: SqliteEngine): Promise<void> {
    assert.throws(() => engine.get("k"), EngineError);
    assert.throws(() => engine.meta(HEAD), EngineError);
    assert.throws(() => engine.sums(), EngineError);
    assert.throws(() => engine.snapshot(), EngineError);
    await assert.rejects(engine.commit(batchOf({})), EngineError);
  }

  /** A store whose pages, all but the first ones with the schema, are overwritten. */
  async function damagedPlace(): Promise<string> {
    const directory = newPlace();
    const engine = await open(directory);
    const data = Array.from({ length: 2000 }, (_, i) => ({
      key: `k/${i}`,
      value: new Uint8Array(200),
    }));
    await engine.commit(batchOf({ data }));
    await engine.close();
    const file = files.openSync(join(directory, "store.db"), "r+");
    const { size } = files.fstatSync(file);
    files.writeSync(file, Buffer.alloc(size - 8 * 4096, 0xff), 0, size - 8 * 4096, 8 * 4096);
    files.closeSync(file);
    return directory;
  }

  test("a damaged page fails the read, and then everything", async () => {
    const engine = await open(await damagedPlace());
    assert.deepEqual(engine.meta(HEAD), null);
    const view = engine.snapshot();
    assert.throws(
      () => engine.rows({ from: "", to: null, limit: 5000 }),
      (error: Error) => {
        assert.ok(error instanceof EngineError);
        assert.match(
          say(error),
          /failed to read: database disk image is malformed \(SQLite code 11\)/,
        );
        return true;
      },
    );
    await assertStopped(engine);
    assert.throws(() => view.meta(HEAD), EngineError);
    view.close();
    await engine.close();
  });

  test("a damaged page fails the commit, and then everything", async () => {
    const engine = await open(await damagedPlace());
    await assert.rejects(engine.commit(putting("k/1000", bytes("v"))), (error: Error) => {
      assert.ok(error instanceof EngineError);
      assert.match(say(error), /failed to commit: database disk image is malformed/);
      return true;
    });
    await assertStopped(engine);
    await engine.close();
  });

  test("a commit that was running when a read failed is not acknowledged", async () => {
    const engine = await open(await damagedPlace());
    const committed = engine.commit(batchOf({ meta: [{ name: "m", value: bytes("v") }] }));
    assert.throws(() => engine.rows({ from: "", to: null, limit: 5000 }), EngineError);
    await assert.rejects(committed, EngineError);
    await engine.close();
  });

  test("a full disk ends it; what was acknowledged before is there, nothing after is taken", async () => {
    const directory = newPlace();
    const body = `
      const engine = await open();
      let acknowledged = 0;
      const first = await (async () => {
        for (;;) {
          await engine.commit(putting("k/" + acknowledged, new Uint8Array(100_000)));
          acknowledged++;
        }
      })().catch((error) => error);
      const tries = [];
      for (let i = 0; i < 3; i++) {
        tries.push(await engine.commit(putting("small", new Uint8Array(1))).catch((e) => e.name));
      }
      try { engine.get("k/0"); } catch (error) { tries.push(error.name); }
      await engine.close();
      console.log(JSON.stringify([acknowledged, first.name, first.cause.message, tries]));`;
    // The size of a file is limited (in units of 512 bytes), which the disk reports as an error.
    const other = child(directory, body, "ulimit -f 8192;");
    const [acknowledged, name, cause, tries] = JSON.parse(await line(other));
    await once(other, "exit");
    assert.ok(acknowledged > 10 && acknowledged < 50, `${acknowledged}`);
    assert.equal(name, "EngineError");
    assert.match(cause, /SQLite code/);
    assert.deepEqual(tries, Array(4).fill("EngineError"));
    const engine = await open(directory);
    const keys = engine.keys({ from: "k/", to: "k0", limit: 1000 });
    // The failed one may be there or not; the later ones were never taken.
    assert.ok(keys.length === acknowledged || keys.length === acknowledged + 1);
    assert.equal(engine.get("small"), null);
    await engine.close();
  });

  // Stand-ins for the writer's program that answer the opening, as it does, and then die.
  const ready = `parentPort.postMessage({ kind: "done", logPages: 0, blocked: false });`;
  function program(body: string): URL {
    const source = `import { parentPort } from "node:worker_threads"; ${ready} ${body}`;
    return new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  }
  const options = { path: "", synchronous: "FULL" } as const;

  test("a writer that dies while it commits rejects the commit and stops the engine", async () => {
    for (const death of ["process.exit(3)", "throw new Error('out of luck')"]) {
      const failStop = new WriterFailure();
      const dying = program(`parentPort.on("message", () => { ${death} });`);
      const thread = await SqliteThread.start(options, failStop, { program: dying });
      const answering = thread.ask({ kind: "commit", packed: new ArrayBuffer(8) });
      await assert.rejects(answering, /failed to keep its threads alive/);
      assert.throws(() => failStop.check(), EngineError);
      await assert.rejects(thread.ask({ kind: "checkpoint", truncate: false }), EngineError);
      await thread.terminate();
    }
  });

  test("a writer that dies while nothing is asked stops the engine too", async () => {
    const failStop = new WriterFailure();
    const thread = await SqliteThread.start(options, failStop, {
      program: program("process.exit(0);"),
    });
    while (!failStop.tripped) await new Promise((resolve) => setImmediate(resolve));
    assert.throws(() => failStop.check(), EngineError);
    await thread.terminate();
  });

  test("threads have little room for young objects, whatever the process has", async () => {
    setFlagsFromString("--max-semi-space-size=32"); // as the launcher does
    const allocating = program(`
      import { getHeapSpaceStatistics } from "node:v8";
      const young = () => getHeapSpaceStatistics().find((one) => one.space_name === "new_space");
      parentPort.on("message", () => {
        let most = 0;
        for (let held = [], n = 0; n < 6_000_000; n++) {
          held.push({ n });
          if (held.length > 400_000) held = [];
          if (n % 50_000 === 0) most = Math.max(most, young().physical_space_size);
        }
        parentPort.postMessage({ kind: "done", logPages: most, blocked: false });
      });`);
    const thread = await SqliteThread.start(options, new WriterFailure(), { program: allocating });
    try {
      const { logPages: most } = await thread.ask({ kind: "checkpoint", truncate: false });
      assert.ok(most <= 12 * MIB, `${most / MIB} MiB`);
    } finally {
      await thread.terminate();
    }
  });

  test("a writer that cannot start is an error of the opening", async () => {
    const dead = new URL("data:text/javascript,process.exit(1)");
    await assert.rejects(
      SqliteThread.start(options, new WriterFailure(), { program: dead }),
      EngineError,
    );
  });
});

describe("an engine whose log was copied beside its commits", () => {
  const leaf = { hash: new Uint8Array(32), scope: new Uint8Array(16) };
  const twice = batchOf({ leaves: [{ slot: 1, key: "a", leaf, fresh: true }] });

  test("leaves the log as it is when it has failed", async () => {
    const directory = newPlace();
    const engine = await open(directory, { checkpointBytes: MIB / 4 });
    await engine.commit(twice);
    for (let i = 0; i < 40; i++) await engine.commit(putting("k", new Uint8Array(20_000).fill(i)));
    await assert.rejects(engine.commit(twice), EngineError);
    const size = () => files.statSync(join(directory, "store.db-wal")).size;
    const before = size();
    await engine.close();
    assert.equal(size(), before);
    assert.equal((await open(directory)).get("k")![0], 39);
  });

  test("says that it has failed to who has asked for nothing", async () => {
    const failStop = new WriterFailure();
    const heard: EngineError[] = [];
    failStop.onTrip((error) => heard.push(error));
    const program = new URL(
      `data:text/javascript,${encodeURIComponent(
        `import { parentPort } from "node:worker_threads"; parentPort.postMessage({ kind: "done" }); setImmediate(() => process.exit(0));`,
      )}`,
    );
    const thread = await SqliteThread.start({ path: "", synchronous: "FULL" }, failStop, {
      program,
    });
    while (heard.length === 0) await new Promise((resolve) => setImmediate(resolve));
    failStop.trip("read", new Error("later"));
    assert.equal(heard.length, 1, "once");
    await thread.terminate();
  });
});

describe("a view that is read in a thread of its own", () => {
  const options = { path: "", synchronous: "FULL" } as const;
  const program = (rest: string) =>
    new URL(
      `data:text/javascript,${encodeURIComponent(
        `import { parentPort } from "node:worker_threads"; parentPort.postMessage({ kind: "done" }); ${rest}`,
      )}`,
    );

  test("whose thread ends fails who reads it, and nobody else", async () => {
    const failStop = new WriterFailure();
    let closed = 0;
    const dying = program(`parentPort.on("message", () => process.exit(0));`);
    const view = await SqliteViewApart.open(options, failStop, () => closed++, dying);
    await assert.rejects(view.pin([]), /what reads the storage for somebody has ended/);
    failStop.check();
    await view.close();
    assert.equal(closed, 1);
    const dead = new URL("data:text/javascript,process.exit(1)");
    await assert.rejects(
      SqliteViewApart.open(options, failStop, () => closed++, dead),
      /has ended/,
    );
    failStop.check();
    assert.equal(closed, 2);
  });

  test("is closed whatever it is doing", async () => {
    const endless = program(`parentPort.on("message", () => { for (;;); });`);
    const view = await SqliteViewApart.open(options, new WriterFailure(), () => {}, endless);
    const reading = assert.rejects(view.next(), /the storage is closed/);
    await view.close();
    await reading;
  });

  test("that cannot be read ends everything", async () => {
    const failStop = new WriterFailure();
    const reply = `{ kind: "done", reason: { message: "malformed", code: 11 } }`;
    const damaged = program(`parentPort.on("message", () => parentPort.postMessage(${reply}));`);
    const view = await SqliteViewApart.open(options, failStop, () => {}, damaged);
    await assert.rejects(view.next(), EngineError);
    assert.throws(() => failStop.check(), EngineError);
    await view.close();
  });
});

describe("the log of SQLite", () => {
  const logSize = (directory: string) => files.statSync(join(directory, "store.db-wal")).size;

  test("stays bounded over thousands of commits while reads go on", async () => {
    const directory = newPlace();
    const engine = await open(directory, { checkpointBytes: MIB });
    let max = 0;
    for (let i = 0; i < 3000; i++) {
      const key = `k/${i % 50}`;
      const value = new Uint8Array(8000).fill(i);
      await engine.commit(putting(key, value));
      assert.equal(engine.get(key)![0], i % 256); // pins the engine's reads, or reads in passing
      max = Math.max(max, logSize(directory));
    }
    // 24 MB went through it. A checkpoint may meet a read and be tried again a quarter later.
    assert.ok(max > MIB && max < 3 * MIB, `${max}`);
    await engine.close();
  });

  test("grows while a view is held, and is given back after it", async () => {
    const directory = newPlace();
    const engine = await open(directory, { checkpointBytes: MIB / 4 });
    await engine.commit(putting("k", bytes("first")));
    const view = engine.snapshot();
    const value = new Uint8Array(50_000);
    for (let i = 0; i < 100; i++) await engine.commit(putting("k", value.fill(i)));
    assert.deepEqual(view.get("k"), bytes("first"));
    assert.ok(logSize(directory) > 4 * MIB);
    view.close();
    for (let i = 0; i < 20; i++) await engine.commit(putting("k", value.fill(i)));
    assert.ok(logSize(directory) < MIB, `${logSize(directory)}`);
    assert.deepEqual(engine.get("k"), value);
    await engine.close();
  });

  test("is gone after closing, with views open too", async () => {
    const directory = newPlace();
    const engine = await open(directory);
    await engine.commit(putting("k", bytes("v")));
    const view = engine.snapshot();
    await engine.commit(putting("k", bytes("w")));
    await engine.close();
    assert.deepEqual(files.readdirSync(directory).toSorted(), ["lock.db", "store.db"]);
    assert.throws(() => view.get("k"), EngineError);
    view.close();
  });
});

test("rows in the wrong order are an error: who reads on from the last one would go round in circles", async () => {
  const directory = newPlace();
  const engine = await open(directory);
  const key = (n: number) => `k/${String(n).padStart(4, "0")}`;
  const data = Array.from({ length: 600 }, (_, n) => ({ key: key(n), value: new Uint8Array(100) }));
  await engine.commit(batchOf({ data }));
  await engine.close();
  const path = join(directory, "store.db");
  const content = files.readFileSync(path);
  const pageOf = (n: number) => Math.floor(content.indexOf(key(n)) / 4096) * 4096;
  const [a, b] = [pageOf(100), pageOf(400)];
  const first = Buffer.from(content.subarray(a, a + 4096));
  content.copy(content, a, b, b + 4096);
  first.copy(content, b);
  files.writeFileSync(path, content);
  const damaged = await open(directory);
  const all = { from: "", to: null, limit: 1000 };
  assert.throws(() => damaged.keys(all), EngineError);
  assert.throws(() => damaged.get(key(1)), EngineError, "it is not used any more");
});

test("nothing remains of values that were deleted or replaced", async () => {
  const directory = newPlace();
  const engine = await open(directory);
  const marker = (n: number) => Buffer.from(`a marker that must vanish, number ${n};`.repeat(n));
  const sizes = [1, 3, 20, 300]; // in a cell, in several, on overflow pages
  const data = sizes.map((n) => ({ key: `k/${n}`, value: marker(n) }));
  const log = sizes.map((n) => ({ index: BigInt(n), entry: marker(n) }));
  await engine.commit(batchOf({ data, log, meta: [{ name: "m", value: marker(2) }] }));
  await engine.close();
  const content = () => files.readFileSync(join(directory, "store.db"));
  assert.ok(content().includes("must vanish"));
  const again = await open(directory);
  await again.commit(
    batchOf({
      data: data.map(({ key }, i) => ({ key, value: i % 2 === 0 ? null : bytes("short") })),
      trimLogBelow: 1000n,
      meta: [{ name: "m", value: null }],
    }),
  );
  await again.close();
  assert.equal(content().includes("must vanish"), false);
});
