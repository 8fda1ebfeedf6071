// What is measured of snapshots, and told in the log: by the manual ones and by those on a schedule alike.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock } from "@holdfast/shared/world";
import type { SnapshotReading } from "../house/readings.ts";

const NANOS = 1e9;

export type SnapshotKind = SnapshotReading["kind"];

export class SnapshotFigures {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #readings = new Map<SnapshotKind, SnapshotReading>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Of each kind that was tried since the start. */
  get readings(): readonly SnapshotReading[] {
    return [...this.#readings.values()];
  }

  /** Counts and tells how one is made. `first` goes into the log, with what `run` says later: no secrets. */
  async measured<T extends { readonly bytes: number; readonly index: number }>(
    kind: SnapshotKind,
    first: Readonly<Record<string, string>>,
    run: (more: (about: Readonly<Record<string, string>>) => void) => Promise<T>,
  ): Promise<T> {
    const began = this.#clock.elapsed();
    let about = first;
    this.#log.info("a snapshot is made", { event: "snapshot.started", kind, ...about });
    try {
      const result = await run((more) => (about = { ...about, ...more }));
      const { bytes, index } = result;
      const seconds = Number(this.#clock.elapsed() - began) / NANOS;
      const lastSuccess = Number(this.#clock.now()) / NANOS;
      this.#set(kind, { lastSuccess, seconds, bytes });
      const ms = Math.round(seconds * 1000);
      const made = { event: "snapshot.succeeded", kind, ...about, bytes, index, ms };
      this.#log.info("a snapshot was made", made);
      return result;
    } catch (error) {
      this.#set(kind, { errors: this.#of(kind).errors + 1 });
      const cause = describe(error);
      this.#log.warn("a snapshot failed", { event: "snapshot.failed", kind, ...about, cause });
      throw error;
    }
  }

  #of(kind: SnapshotKind): SnapshotReading {
    const none = { kind, lastSuccess: null, seconds: null, bytes: null, errors: 0 };
    return this.#readings.get(kind) ?? none;
  }

  #set(kind: SnapshotKind, change: Partial<SnapshotReading>): void {
    this.#readings.set(kind, { ...this.#of(kind), ...change });
  }
}
