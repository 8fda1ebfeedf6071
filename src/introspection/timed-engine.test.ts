import assert from "node:assert/strict";
import test from "node:test";
import { batchOf, bytes, engineContract } from "../../tests/contract/engine.ts";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { Histogram } from "../base/metrics.ts";
import type { Batch } from "../storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../storage/engines/memory.ts";
import { TimedEngine } from "./timed-engine.ts";

function timesOf() {
  const bounds = [0.005, 1];
  return {
    get: new Histogram(bounds),
    scan: new Histogram(bounds),
    commit: new Histogram(bounds),
  };
}

engineContract(
  "timed",
  async () => {
    const disk = new MemoryDisk();
    const make = () => new TimedEngine(new MemoryEngine(disk), new FakeClock(), timesOf());
    return { engine: make(), reopen: async () => make() };
  },
  { histories: 10 },
);

/** An engine on which everything takes its time. */
class SlowEngine extends MemoryEngine {
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    super();
    this.#clock = clock;
  }

  override get(key: string): Uint8Array | null {
    this.#clock.pass(MILLISECOND);
    return super.get(key);
  }

  override async commit(batch: Batch): Promise<void> {
    this.#clock.pass(20n * MILLISECOND);
    return super.commit(batch);
  }
}

test("reads and commits are timed, a commit that fails too", async () => {
  const clock = new FakeClock();
  const times = timesOf();
  const engine = new TimedEngine(new SlowEngine(clock), clock, times);
  await engine.commit(batchOf({ data: [{ key: "a", value: bytes("x") }] }));
  assert.deepEqual(engine.get("a"), bytes("x"));
  engine.keys({ from: "", to: null, limit: 1 });
  engine.rows({ from: "", to: null, limit: 1 });
  const expect = { name: "repl/head", value: bytes("other") };
  await assert.rejects(engine.commit(batchOf({ expect })));
  assert.deepEqual(times.get.cumulative, [1, 1, 1]);
  assert.equal(times.get.sum, 0.001);
  assert.deepEqual(times.scan.cumulative, [2, 2, 2]);
  assert.deepEqual(times.commit.cumulative, [0, 2, 2]);
});
