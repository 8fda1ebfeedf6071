import assert from "node:assert/strict";
import test from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import { Failure } from "@holdfast/shared/failure";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import {
  archiveOf,
  CLUSTER,
  rewritten,
  withSealOf,
} from "../../../tests/support/made/made-archive.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { bytes } from "../../../tests/support/made/made-store.ts";
import type { DataOfThen } from "../../house/room.ts";
import { EngineError } from "../../storage/engines/engine.ts";
import { MemoryGenerations } from "../../storage/generations/memory-generations.ts";
import type { StateRecord } from "../archive/state.ts";
import { LoadedSnapshots } from "./loaded-snapshots.ts";

const never = new AbortController().signal;

/** Counts what it has given out, and what was given back. */
class CountedGenerations extends MemoryGenerations {
  begun = 0;
  discarded = 0;
  full = false;

  override async begin() {
    this.begun++;
    const next = await super.begin();
    if (this.full) {
      next.engine.commit = () => Promise.reject(new EngineError("database or disk is full"));
    }
    const discard = async () => {
      this.discarded++;
      await next.discard();
    };
    return { ...next, discard };
  }
}

async function stage() {
  const made = await madeBarrier();
  const view = made.barrier.view("shared/kv/", Buffer.alloc(16, 4));
  for (let i = 0; i < 20; i++) {
    await view.write((tx) => tx.put(`secret-${i}`, bytes(`value ${i}`), bytesCodec));
  }
  const generations = new CountedGenerations();
  const world = fakeWorld();
  const loaded = new LoadedSnapshots({
    ...world,
    barrier: made.barrier,
    clusterId: () => CLUSTER,
    keyedAt: () => 0n,
    scratch: { sweep: async () => {}, open: async () => generations },
    mountsOf: () => ({ use: () => Promise.reject(new Error("no mounts")), close: async () => {} }),
    hadNamespace: () => true,
  });
  await loaded.open();
  return { made, loaded, generations, archive: await archiveOf(made.store) };
}

function streamOf(archive: Uint8Array, pause: () => Promise<void> = nextTurn): BodyStream {
  return {
    length: archive.length,
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < archive.length; at += 1000) {
        yield archive.subarray(at, at + 1000);
        await pause();
      }
    },
  };
}

/** At an endpoint of the server whose room is what the snapshot holds. */
const place = {
  namespace: ROOT_NAMESPACE,
  mount: null,
  endpoint: { name: "read", roomOver: (data: unknown) => data } as unknown as Served,
};

function refusal(code: string) {
  return (error: unknown) => error instanceof Failure && error.code === code;
}

test("what was stored is read, and after unloading nothing is, by whoever still holds it", async () => {
  const { loaded, generations, archive } = await stage();
  const { id } = await loaded.load(streamOf(archive), never);
  const data = await loaded.use(id, place, async (room) => room as DataOfThen);
  const read = () => data.shared.get("kv/secret-7", bytesCodec);
  assert.deepEqual(Buffer.from(read() ?? []).toString(), "value 7");
  assert.equal(data.shared.get("kv/none", bytesCodec), null);
  await assert.rejects(data.shared.write((tx) => tx.put("kv/a", bytes("b"), bytesCodec)));
  await loaded.unload(id);
  assert.throws(read, refusal("snapshot-not-loaded"));
  assert.deepEqual([generations.begun, generations.discarded], [1, 1]);
});

test("unloading waits for those who read, and lets in nobody else", async () => {
  const { loaded, generations, archive } = await stage();
  const { id } = await loaded.load(streamOf(archive), never);
  const reading = Promise.withResolvers<void>();
  const used = loaded.use(id, place, async (room) => {
    await reading.promise;
    return (room as DataOfThen).shared.get("kv/secret-1", bytesCodec);
  });
  const unloaded = loaded.unload(id);
  await assert.rejects(
    loaded.use(id, place, async () => {}),
    refusal("snapshot-not-loaded"),
  );
  await nextTurn();
  assert.equal(generations.discarded, 0);
  reading.resolve();
  assert.notEqual(await used, null);
  await unloaded;
  assert.equal(generations.discarded, 1);
});

test("sealing does not wait for one that still reads: it finds the keys gone", async () => {
  const { loaded, generations, archive } = await stage();
  const { id } = await loaded.load(streamOf(archive), never);
  const reading = Promise.withResolvers<void>();
  const used = loaded.use(id, place, async (room) => {
    await reading.promise;
    return (room as DataOfThen).shared.get("kv/secret-1", bytesCodec);
  });
  await loaded.close();
  assert.equal(generations.discarded, 1);
  reading.resolve();
  await assert.rejects(used, refusal("snapshot-not-loaded"));
});

test("a full disk is a refusal, and what was begun is removed", async () => {
  const { loaded, generations, archive } = await stage();
  generations.full = true;
  await assert.rejects(loaded.load(streamOf(archive), never), refusal("snapshot-load-failed"));
  assert.deepEqual([generations.begun, generations.discarded], [1, 1]);
  generations.full = false;
  await loaded.load(streamOf(archive), never);
});

test("one that is being loaded when the server comes to rest is cut off, and another can be after that", async () => {
  const { loaded, generations, archive } = await stage();
  const loading = loaded.load(
    streamOf(archive, async () => loaded.interrupt()),
    never,
  );
  await assert.rejects(loading, refusal("snapshot-load-interrupted"));
  assert.equal(generations.discarded, 1);
  loaded.lead();
  await loaded.load(streamOf(archive), never);
});

test("rows that somebody with the root key took out, changed or moved do not add up", async () => {
  const { loaded, generations, archive } = await stage();
  const changes: ((records: readonly StateRecord[]) => readonly StateRecord[])[] = [
    (records) => records.filter(({ key }) => key !== "shared/kv/secret-3"),
    (records) => records.map((one) => ({ ...one, scope: Buffer.alloc(16, 5) })),
  ];
  for (const change of changes) {
    const loading = loaded.load(streamOf(await rewritten(archive, change)), never);
    await assert.rejects(loading, refusal("snapshot-load-not-whole"));
  }
  assert.equal(generations.discarded, generations.begun);
});

test("one whose sums are not those that were sealed is refused, though all its rows open and add up", async () => {
  const { made, loaded, generations, archive } = await stage();
  await made.barrier.view("shared/kv/").write((tx) => tx.put("more", bytes("x"), bytesCodec));
  const changed = withSealOf(await archiveOf(made.store), archive);
  await assert.rejects(loaded.load(streamOf(changed), never), refusal("snapshot-changed"));
  assert.deepEqual([generations.begun, generations.discarded], [1, 1]);
});

test("one with data keys that this server does not have is refused, though the root key is the same", async () => {
  const { loaded } = await stage();
  const other = await madeBarrier();
  await other.barrier.rotate();
  const archive = await archiveOf(other.store);
  await assert.rejects(loaded.load(streamOf(archive), never), refusal("snapshot-other-keys"));
});
