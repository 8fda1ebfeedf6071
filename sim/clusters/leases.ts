// The room of a simulated cluster that makes things outside and ends them when they are due: first it writes down what it is
// going to make. Only where the data is this cluster's, since what it does outside cannot be taken back.

import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { View } from "../../src/barrier/view.ts";
import type { OutsideRows } from "../../src/replication/links/orphans.ts";
import type { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import { type Life, MILLISECOND, SECOND, type SimTimers, type SimWorld } from "../world.ts";
import type { Cloud } from "./cloud.ts";

const PREFIX = "sim/leases/"; // below local/
const EVERY = 3 * SECOND;
/** Longer than a process sleeps between what it writes down and what it makes. */
const SHORTEST = 90 * SECOND;
const ALL = { limit: 100_000 };

export interface LeasesOptions {
  readonly name: string;
  readonly life: Life;
  /** Of everything below local/. */
  readonly local: View;
  readonly timers: SimTimers;
  readonly world: SimWorld;
  readonly cloud: Cloud;
  /** Whether this cluster may end something. */
  readonly mayEnd: () => boolean;
  /** A known bug: it goes on when it should yield. */
  readonly keeps: boolean;
  /** A known bug: nobody hears what a tail that is given up has made outside. */
  readonly forgets: boolean;
  readonly report: (violation: unknown) => void;
}

export class Leases {
  readonly #options: LeasesOptions;
  #isOpen = false;
  #running: Promise<void> | null = null;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** As replication knows them. */
  get outside(): OutsideRows {
    const { local, forgets } = this.#options;
    return {
      standsFor: (key) => key.startsWith(PREFIX) && !forgets,
      all: () => [local.keys(PREFIX, ALL)],
      adopt: (rows) =>
        local.write((tx) => {
          const unknown = rows.filter(({ key }) => tx.get(key, bytesCodec) === null);
          for (const { key } of unknown) tx.put(key, dueAt(0), bytesCodec);
          return { adopted: unknown.length, known: rows.length - unknown.length, left: 0 };
        }),
    };
  }

  has(id: string): boolean {
    return this.#options.local.get(PREFIX + id, bytesCodec) !== null;
  }

  async make(id: string, prng: Prng): Promise<void> {
    const { local, world, cloud, life } = this.#options;
    const due = world.now + SHORTEST + prng.int(60) * SECOND;
    await local.write((tx) => tx.put(PREFIX + id, dueAt(due), bytesCodec));
    await world.sleep(prng.int(500) * MILLISECOND, life);
    cloud.create(id);
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#arm();
  }

  async close(): Promise<void> {
    if (!this.#options.keeps) this.#isOpen = false;
    await this.#running;
  }

  #arm(): void {
    this.#options.timers.after(BigInt(EVERY), () => {
      if (!this.#isOpen) return;
      this.#running = this.#end().finally(() => {
        this.#running = null;
        this.#arm();
      });
    });
  }

  async #end(): Promise<void> {
    const { local, world, cloud, mayEnd, name, report } = this.#options;
    if (!mayEnd()) report(new Violation(`${name} ends leases, and is no primary`));
    try {
      const due = local
        .records(PREFIX, bytesCodec, ALL)
        .filter(({ value }) => Number(Buffer.from(value).toString()) <= world.now);
      for (const { key } of due) cloud.end(key.slice(PREFIX.length));
      await local.write((tx) => {
        for (const { key } of due) tx.delete(key);
        tx.put("sim/ended", dueAt(world.now), bytesCodec);
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error; // later again, or by another cluster
    }
  }
}

function dueAt(time: number): Uint8Array {
  return Buffer.from(String(time));
}
