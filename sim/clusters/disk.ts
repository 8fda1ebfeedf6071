// The disk of a simulated cluster, and an engine on it. A commit takes its time; where the power fails meanwhile it has come
// to the disk or not, whole or not at all. What single sectors do is the business of the simulated machine beside this.

import { type Batch, EngineError } from "../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../src/storage/engines/memory.ts";
import { copyBatch, MemoryRows } from "../../src/storage/engines/memory-rows.ts";
import type { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import { EngineBehind } from "../stores/engine-behind.ts";
import { type Life, MICROSECOND, MILLISECOND, type SimWorld, type Tick } from "../world.ts";

export class PowerDisk {
  readonly rows: MemoryRows;
  /** Those on their way, oldest first. */
  pending: Batch[] = [];
  /** The next commit fails: nobody knows what of it is there. */
  failing = false;
  /** Since it was opened. */
  hasFailed = false;

  constructor(rows = new MemoryRows()) {
    this.rows = rows;
  }

  /** Of what was on its way the first ones arrive, or all, or none. */
  cutPower(prng: Prng): void {
    const arrived = prng.int(this.pending.length + 1);
    for (const batch of this.pending.slice(0, arrived)) this.rows.apply(batch);
    this.pending = [];
    this.failing = false;
    this.hasFailed = false;
  }
}

export interface EngineWorld {
  readonly world: SimWorld;
  readonly life: Life;
  readonly prng: Prng;
  readonly report: (violation: unknown) => void;
}

export class PowerEngine extends EngineBehind {
  readonly #disk: PowerDisk;
  readonly #at: EngineWorld;

  constructor(disk: PowerDisk, at: EngineWorld) {
    super(new MemoryEngine(new MemoryDisk(disk.rows)));
    this.#disk = disk;
    this.#at = at;
  }

  override async commit(batch: Batch): Promise<void> {
    const { world, life, prng, report } = this.#at;
    if (life.ended) return await new Promise(() => {});
    if (this.#disk.hasFailed) report(new Violation("a store goes on after a failed sync"));
    const own = copyBatch(batch);
    this.#disk.pending.push(own);
    await world.sleep(latencyOf(prng), life);
    if (this.#disk.failing) {
      this.#disk.failing = false;
      this.#disk.hasFailed = true;
      throw new EngineError("the sync failed");
    }
    this.#disk.pending.splice(this.#disk.pending.indexOf(own), 1);
    await super.commit(own);
  }
}

/** Mostly a good disk, now and then a busy one, rarely one that hangs. */
export function latencyOf(prng: Prng): Tick {
  const roll = prng.next();
  const max = roll < 0.01 ? 2000 : roll < 0.1 ? 40 : 3;
  return 50 * MICROSECOND + Math.floor(prng.next() * max * MILLISECOND);
}
