// The simulated engine is an engine like the others; and its records hold against what the disk does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CommitConflict, EngineError } from "../../src/storage/engines/engine.ts";
import { batchOf, bytes, engineContract } from "../../tests/contract/engine.ts";
import { SimDisk } from "./disk.ts";
import { SimEngine } from "./engine.ts";
import { Prng } from "../prng.ts";
import { Life, SimWorld, type Tick } from "../world.ts";

/** A world that runs by itself whenever there is something to do. */
class SelfRunning extends SimWorld {
  #running = false;

  override after(delay: Tick, life: Life | null, call: () => void) {
    const timer = super.after(delay, life, call);
    if (!this.#running) {
      this.#running = true;
      void this.run(() => false, Infinity).then(() => (this.#running = false));
    }
    return timer;
  }
}

engineContract("sim", async () => {
  const prng = new Prng("contract");
  const disk = new SimDisk(new SelfRunning(prng), prng);
  let engine = await SimEngine.open(disk.mount(new Life("first")));
  return {
    engine,
    reopen: async () => {
      await engine.close();
      engine = await SimEngine.open(disk.mount(new Life("next")));
      return engine;
    },
  };
});

function put(key: string, value: string) {
  return batchOf({ data: [{ key, value: bytes(value) }] });
}

test("after a power cut there is every commit that had resolved, and of the next one all or nothing", async () => {
  for (let seed = 0; seed < 200; seed++) {
    const prng = new Prng(seed);
    const disk = new SimDisk(new SelfRunning(prng), prng);
    const life = new Life("first");
    const engine = await SimEngine.open(disk.mount(life));
    await engine.commit(put("a", "1".repeat(prng.int(2000))));
    await engine.commit(put("b", "2"));
    const both = [
      { key: "b", value: bytes("3".repeat(700)) },
      { key: "c", value: bytes("3".repeat(700)) },
    ];
    void engine.commit(batchOf({ data: both }));
    life.end();
    disk.cutPower();
    const again = await SimEngine.open(disk.mount(new Life("second")));
    assert.notEqual(again.get("a"), null);
    const isThere = again.get("c") !== null;
    assert.deepEqual(again.get("b"), bytes(isThere ? "3".repeat(700) : "2"));
    await again.commit(put("d", "4"));
    assert.deepEqual(again.get("d"), bytes("4"));
  }
});

test("a failed sync fails the commit, and the engine does nothing any more", async () => {
  const prng = new Prng("failed sync");
  const disk = new SimDisk(new SelfRunning(prng), prng);
  const engine = await SimEngine.open(disk.mount(new Life("first")));
  await engine.commit(put("a", "1"));
  disk.failing = "sync";
  await assert.rejects(engine.commit(put("a", "2")), EngineError);
  assert.throws(() => engine.get("a"), EngineError);
  await assert.rejects(engine.commit(put("a", "3")), EngineError);
});

test("a commit on another head changes nothing on the disk", async () => {
  const prng = new Prng("conflict");
  const disk = new SimDisk(new SelfRunning(prng), prng);
  const engine = await SimEngine.open(disk.mount(new Life("first")));
  const expect = { name: "repl/head", value: bytes("another") };
  await assert.rejects(engine.commit({ ...put("a", "1"), expect }), CommitConflict);
  await engine.close();
  const again = await SimEngine.open(disk.mount(new Life("second")));
  assert.equal(again.get("a"), null);
});
