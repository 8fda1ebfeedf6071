// That what was removed lies nowhere in the files of a store once it was scrubbed: SQLite alone leaves some of it.

import assert from "node:assert/strict";
import * as files from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { batchOf } from "../../../tests/contract/engine.ts";
import { newPlace, open } from "../../../tests/support/stores/sqlite-places.ts";
import { Prng } from "../../../sim/prng.ts";
import type { Batch } from "../engines/engine.ts";
import type { SqliteEngine } from "../engines/sqlite.ts";

const WORD = "quetzal";
const TRIES = 40;
const ROWS = { from: "", to: null, limit: 10_000 };

/** Rows of two owners, written and removed in turns, so that pages are shared out; then those of one are removed. */
async function churned(directory: string, seed: number): Promise<SqliteEngine> {
  const engine = await open(directory);
  const prng = new Prng(seed);
  const rows = () => engine.rows(ROWS).map(({ key }) => key);
  const commit = (data: Batch["data"]) => engine.commit(batchOf({ data }));
  for (let round = 0; round < 30; round++) {
    const data = Array.from({ length: 12 }, () => {
      const key = `shared/${prng.int(40)}/${prng.chance(0.3) ? WORD : "other"}/${prng.int(10)}`;
      return { key, value: prng.chance(0.7) ? prng.bytes(30 + prng.int(400)) : null };
    });
    await commit([...new Map(data.map((row) => [row.key, row])).values()]);
  }
  for (const key of rows().filter((one) => one.includes(WORD)))
    await commit([{ key, value: null }]);
  return engine;
}

function hasWord(directory: string): boolean {
  return files
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .some((file) => files.readFileSync(join(file.parentPath, file.name)).includes(WORD));
}

async function scrub(engine: SqliteEngine): Promise<void> {
  engine.scrub();
  await engine.commit(batchOf({ data: [{ key: "shared/after", value: Buffer.from("1") }] }));
}

test("what was removed is in no gap of a page after a scrub, and everything else is as it was", async () => {
  let found = 0;
  for (let seed = 1; seed <= TRIES && found < 3; seed++) {
    const directory = newPlace();
    await (await churned(directory, seed)).close(); // its log is in the file by then
    const engine = await open(directory);
    if (hasWord(directory)) found++;
    const before = engine.rows(ROWS);
    await scrub(engine);
    assert.equal(hasWord(directory), false, `seed ${seed}`);
    // Nor does what is in memory bring it back.
    const prng = new Prng(seed + TRIES);
    for (let n = 0; n < 20; n++) {
      const key = `shared/${prng.int(40)}/later/${n}`;
      await engine.commit(batchOf({ data: [{ key, value: prng.bytes(200) }] }));
    }
    assert.equal(hasWord(directory), false, `seed ${seed}, later`);
    const after = engine.rows(ROWS).filter(({ key }) => !/\/(?:later\/|after$)/.test(key));
    assert.deepEqual(after, before);
    await engine.close();
    const db = new DatabaseSync(join(directory, "store.db"), { readOnly: true });
    assert.equal(db.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok");
    db.close();
  }
  assert.equal(found, 3, "without a scrub it is there");
});
