import assert from "node:assert/strict";
import test from "node:test";
import { concat } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import { Failure } from "@holdfast/shared/failure";
import type { WorkFile, WorkFiles } from "@holdfast/shared/world";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import {
  archiveOf,
  CLUSTER,
  rewritten,
  withSealOf,
} from "../../../tests/support/made/made-archive.ts";
import { madeBarrier, sealedBarrier } from "../../../tests/support/made/made-barrier.ts";
import { bytes } from "../../../tests/support/made/made-store.ts";
import { until } from "../../../tests/support/until.ts";
import { MemoryDisk, MemoryEngine } from "../../storage/engines/memory.ts";
import { RestoreBook } from "./restore-book.ts";
import type { RestoreSecret } from "./restore-secret.ts";
import { Restores } from "./restores.ts";

/** A spool in memory, whose content can become another one. */
class Spool implements WorkFile {
  content: Buffer = Buffer.alloc(0);

  get size(): number {
    return this.content.length;
  }

  async append(more: Uint8Array): Promise<void> {
    this.content = concat(this.content, more);
  }

  async overwrite(at: number, over: Uint8Array): Promise<void> {
    this.content.set(over, at);
  }

  async read(at: number, length: number): Promise<Buffer> {
    return this.content.subarray(at, at + length);
  }

  async sync(): Promise<void> {}

  async close(): Promise<void> {}
}

async function stage() {
  const made = await madeBarrier();
  const view = made.barrier.view("shared/kv/", Buffer.alloc(16, 4));
  for (let i = 0; i < 5; i++) {
    await view.write((tx) => tx.put(`secret-${i}`, bytes(`value ${i}`), bytesCodec));
  }
  const none = () => Promise.reject(new Error("this is not for restores"));
  const spool = new Spool();
  const files: WorkFiles = {
    create: none,
    createUnnamed: async () => spool,
    open: none,
    rename: none,
    remove: none,
  };
  const world = fakeWorld();
  const book = new RestoreBook(world.clock);
  const disk = new MemoryDisk();
  const failed = { code: "", filled: false };
  const restores = new Restores({
    ...world,
    store: made.store,
    barrier: made.barrier,
    clusterId: () => CLUSTER,
    keyedAt: () => 0n,
    book,
    files,
    fs: { freeBytes: () => 2 ** 40 },
    directory: "/",
    adopt: async () => ({ adopted: 0, left: 0 }),
    keep: async () => {},
    unknown: () => [],
    carried: { rows: async function* () {}, exchanged: () => null },
    secret: {} as RestoreSecret,
    exchange: async (data) => {
      try {
        const engine = new MemoryEngine(disk);
        await data.fill(engine, new AbortController().signal);
        failed.filled = true;
        await data.finish(engine);
      } catch (error) {
        failed.code = error instanceof Failure ? error.code : String(error);
        throw error;
      }
    },
  });
  /** How it has ended, and why not better. */
  const restored = async (archive: Uint8Array) => {
    await restores.restore(streamOf(archive), { force: false });
    await until(() => book.status.ended !== null);
    return { ...failed, state: book.status.state, error: book.status.error };
  };
  return { made, view, restores, spool, disk, restored };
}

function streamOf(archive: Uint8Array): BodyStream {
  return {
    length: archive.length,
    async *[Symbol.asyncIterator]() {
      yield archive;
    },
  };
}

function refusal(code: string) {
  return (error: unknown) => error instanceof Failure && error.code === code;
}

test("T-L03: sums that are not those that were sealed are refused, by force too", async () => {
  const { made, view, restores } = await stage();
  const before = await archiveOf(made.store);
  await view.write((tx) => tx.put("more", bytes("x"), bytesCodec));
  const changed = withSealOf(await archiveOf(made.store), before);
  for (const force of [false, true]) {
    const tried = restores.restore(streamOf(changed), { force });
    await assert.rejects(tried, refusal("snapshot-changed"), `force: ${force}`);
  }
});

test("data keys that this server does not have are refused without force, though the root key is the same", async () => {
  const { restores } = await stage();
  const other = await madeBarrier();
  await other.barrier.rotate();
  const tried = restores.restore(streamOf(await archiveOf(other.store)), { force: false });
  await assert.rejects(tried, refusal("restore-other-keys"));
});

test("rows that somebody with the root key took out or moved do not add up: nothing is exchanged", async () => {
  for (const which of ["one less", "another scope"]) {
    const { made, restored } = await stage();
    const archive = await rewritten(await archiveOf(made.store), (records) =>
      which === "one less"
        ? records.filter(({ key }) => key !== "shared/kv/secret-3")
        : records.map((one) => ({ ...one, scope: Buffer.alloc(16, 5) })),
    );
    const { state, code, filled, error } = await restored(archive);
    assert.deepEqual([state, code, filled], ["failed", "restore-not-whole", false], which);
    assert.match(error, /do not add up to what its maker had stored/);
  }
});

test("what is read back from the disk is what was received, though another archive is as whole", async () => {
  const { made, spool, restored } = await stage();
  const archive = await archiveOf(made.store);
  const changed = await rewritten(archive, (records) =>
    records.filter(({ key }) => !key.startsWith("core/")),
  );
  const append = spool.append.bind(spool);
  spool.append = async (more) => {
    await append(more);
    spool.content = changed;
  };
  const { state, code, filled } = await restored(archive);
  assert.deepEqual([state, code, filled], ["failed", "restore-changed", false]);
});

test("with the keys of this server its own rows stay as they are: none that is gone comes back", async () => {
  const { made, disk, restored } = await stage();
  await made.store.write((tx) => {
    tx.put("core/upgrade/1", bytes("gone today"));
    tx.put("core/upgrade/2", bytes("of then"));
  });
  const archive = await archiveOf(made.store);
  await made.store.write((tx) => {
    tx.delete("core/upgrade/1");
    tx.put("core/upgrade/2", bytes("of today"));
    tx.put("core/upgrade/3", bytes("new"));
  });
  const { state, error } = await restored(archive);
  assert.equal(state, "done", error);
  const { store } = sealedBarrier(disk);
  const read = (key: string) => Buffer.from(store.get(key) ?? []).toString();
  assert.equal(store.get("core/upgrade/1"), null);
  assert.equal(read("core/upgrade/2"), "of today");
  assert.equal(read("core/upgrade/3"), "new");
  assert.notEqual(store.get("shared/kv/secret-1"), null);
});
