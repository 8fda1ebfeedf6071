import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import test from "node:test";
import { gunzipSync } from "node:zlib";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { fakeWorld, START } from "../../../tests/support/fake-world.ts";
import {
  archiveOf,
  CLUSTER,
  MemoryArchive,
  readArchive,
  sourceOf,
  steadyRandom,
} from "../../../tests/support/made/made-archive.ts";
import { madeBarrier, OTHER_KEY, ROOT_KEY } from "../../../tests/support/made/made-barrier.ts";
import { bytes } from "../../../tests/support/made/made-store.ts";
import { FORMAT } from "../../storage/engines/sqlite-format.ts";
import { writeArchive } from "../archive/archive-writer.ts";
import type { StateRecord } from "../archive/state.ts";
import { CoreRows } from "./core-rows.ts";
import { type DeepReport, deepCheck } from "./deep-check.ts";

async function* inPieces(archive: Uint8Array, piece = 1000) {
  for (let at = 0; at < archive.length; at += piece) yield archive.subarray(at, at + piece);
}

function proved(archive: Uint8Array, rootKey: KeyObject = ROOT_KEY): Promise<DeepReport> {
  return deepCheck(inPieces(archive), { ...fakeWorld(), rootKeyFor: () => rootKey });
}

async function filled() {
  const made = await madeBarrier();
  const view = made.barrier.view("shared/kv/", Buffer.alloc(16, 4));
  for (let i = 0; i < 30; i++) {
    if (i === 15) await made.barrier.rotate();
    await view.write((tx) => tx.put(`secret-${i}`, bytes(`value ${i}`), bytesCodec));
  }
  await made.barrier.view("local/").write((tx) => tx.put("tokens/a", bytes("t"), bytesCodec));
  await made.barrier.view("core/").write((tx) => tx.put("cluster", bytes("c"), bytesCodec));
  return made;
}

/** An archive of the same store with other records, sealed as an insider with the root key would. */
async function forged(
  archive: Uint8Array,
  change: (records: StateRecord[]) => readonly StateRecord[],
  rootKey = ROOT_KEY,
): Promise<Buffer> {
  const read = readArchive(archive);
  const records = change([...read.records]);
  const file = new MemoryArchive();
  await writeArchive(sourceOf(read, records), file, {
    clusterId: CLUSTER,
    software: "0.1.0",
    format: FORMAT,
    created: START,
    rootKey,
    random: steadyRandom,
  });
  return file.bytes;
}

test("an archive of a store opens whole, with every data key that there was", async () => {
  const made = await filled();
  const seen: string[] = [];
  const report = await deepCheck(inPieces(await archiveOf(made.store)), {
    ...fakeWorld(),
    rootKeyFor: (rows) => {
      assert.ok(rows.get("core/keyring") !== null);
      return ROOT_KEY;
    },
    visit: ({ key }, plaintext) => {
      if (key === "shared/kv/secret-3") assert.equal(Buffer.from(plaintext).toString(), "value 3");
      seen.push(key);
    },
  });
  assert.deepEqual(report.problems, []);
  assert.equal(report.ok, true);
  assert.equal(report.entries.shared, 30);
  assert.equal(report.entries.local, 1);
  assert.equal(report.dataKeys, 2);
  assert.equal(seen.filter((key) => key.startsWith("shared/kv/")).length, 30);
  assert.equal(report.opened, seen.length);
});

test("what an insider could change without the keys is found: an entry, its place, its scope, one more, one less", async () => {
  const made = await filled();
  const archive = await archiveOf(made.store);
  const at = (records: readonly StateRecord[], name: string) =>
    records.findIndex(({ key }) => key === `shared/kv/${name}`);
  const problemsOf = async (change: (records: StateRecord[]) => readonly StateRecord[]) =>
    (await proved(await forged(archive, change))).problems;

  assert.deepEqual(await problemsOf((records) => records), []);
  const flipped = await problemsOf((records) => {
    const i = at(records, "secret-3");
    const value = Buffer.from(records[i]!.value);
    value[20]! ^= 1;
    return records.with(i, { ...records[i]!, value });
  });
  assert.match(flipped[0]!, /^1 entries do not open with its keys: "shared\/kv\/secret-3"$/);
  assert.match(flipped[1]!, /shared rows does not add up/);
  const swapped = await problemsOf((records) => {
    const [i, j] = [at(records, "secret-3"), at(records, "secret-4")];
    const [a, b] = [records[i]!, records[j]!];
    return records.with(i, { ...a, value: b.value }).with(j, { ...b, value: a.value });
  });
  assert.match(swapped[0]!, /^2 entries do not open/);
  const scoped = await problemsOf((records) => {
    const i = at(records, "secret-3");
    return records.with(i, { ...records[i]!, scope: Buffer.alloc(16, 9) });
  });
  assert.deepEqual(scoped, [
    "the tree over its shared rows does not add up: a row was changed, or its scope",
  ]);
  const fewer = await problemsOf((records) =>
    records.filter((_, i) => i !== at(records, "secret-3")),
  );
  assert.deepEqual(fewer, ["it has 29 shared rows, and 30 were in the store at that index"]);
});

test("sums that were sealed under another key, and keys that are not those in it, are told", async () => {
  const archive = await archiveOf((await filled()).store);
  const other = await forged(archive, (records) => records, OTHER_KEY);
  assert.deepEqual((await proved(other)).problems, ["its sums were not sealed under its root key"]);
  await assert.rejects(proved(archive, OTHER_KEY), /the keys in the snapshot do not open/);
  const bare = await forged(archive, (records) =>
    records.filter(({ key }) => !key.endsWith("keyring")),
  );
  await assert.rejects(proved(bare), /its keyring is missing/);
});

test("damage of the form is told by the reader, and stops it", async () => {
  const archive = await archiveOf((await filled()).store);
  await assert.rejects(proved(archive.subarray(0, archive.length - 1)), /ends early/);
  const flipped = Buffer.from(archive);
  flipped[archive.length - 3000]! ^= 1;
  await assert.rejects(proved(flipped), Failure);
  await assert.rejects(proved(gunzipSync(archive)), /does not begin as gzip does/);
});

test("rows below core/ are few: many small ones are refused before they fill the memory", () => {
  const core = new CoreRows();
  const add = () => {
    for (let i = 0; i < 100_000; i++) {
      core.add({ key: `core/${i}`, scope: Buffer.alloc(0), value: Buffer.alloc(0) });
    }
  };
  assert.throws(add, (error) => error instanceof Failure && error.code === "snapshot-damaged");
  assert.ok(core.size < 66_000);
});
