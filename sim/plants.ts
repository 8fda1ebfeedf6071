// Known bugs, kept as switches: a simulator that never caught one proves nothing. Each lies in a
// decorator around a part of the world or of the store; production code has none of them.

import type { Random } from "@holdfast/shared/world";
import type { Batch, StorageEngine, Reads } from "../src/storage/engines/engine.ts";
import { copyBatch, MemoryRows } from "../src/storage/engines/memory-rows.ts";
import type { Changed as StoreChange } from "../src/storage/store.ts";
import type { Change } from "../src/storage/watch.ts";
import type { SimFile, Volume } from "./stores/disk.ts";
import type { SimEngineOptions } from "./stores/engine.ts";
import { EngineBehind } from "./stores/engine-behind.ts";
import type { FollowPlant } from "./stores/following-store.ts";
import type { Prng } from "./prng.ts";

export interface StorePlant {
  readonly watch?: (call: (change: Change) => void) => (change: Change) => void;
  readonly onCommit?: (call: (changed: StoreChange) => void) => (changed: StoreChange) => void;
}

export interface Plant {
  readonly summary: string;
  readonly skip?: NonNullable<SimEngineOptions["skip"]>;
  readonly file?: (file: SimFile, prng: Prng) => SimFile;
  readonly engine?: (engine: StorageEngine, prng: Prng) => StorageEngine;
  readonly random?: (random: Random, prng: Prng) => Random;
  readonly store?: (prng: Prng) => StorePlant;
  /** The bug, or `file` if that is there too, lies in a machine that follows, and nowhere else. */
  readonly follow?: FollowPlant;
}

export const PLANTS: Readonly<Record<string, Plant>> = {
  "ack-before-sync": {
    summary: "a commit is answered while its sync is still running",
    file: (file) => ({
      ...file,
      sync: () => {
        file.sync().catch(() => {});
        return Promise.resolve();
      },
    }),
  },
  "swallow-sync-error": {
    summary: "a failed sync is taken for a good one",
    file: (file) => ({ ...file, sync: () => file.sync().catch(() => {}) }),
  },
  "no-checksum": {
    summary: "recovery takes a torn record for a whole one",
    skip: "checksum",
  },
  "stale-tail": {
    summary: "recovery leaves a torn record in place and writes on behind it",
    skip: "cut",
  },
  "unsynced-recovery": {
    summary: "recovery relies on what it read, which is in the cache only",
    skip: "sync",
  },
  "dirty-read": {
    summary: "reads see a commit that is still on its way to the disk",
    engine: (engine) => new DirtyReads(engine),
  },
  "split-commit": {
    summary: "rows and head are written by two commits",
    engine: (engine) => new SplitCommit(engine),
  },
  "reordered-commits": {
    summary: "a commit is held back and reaches the disk after its successor",
    engine: (engine, prng) => new Reordered(engine, prng),
  },
  "lost-leaf-delete": {
    summary: "deleting a record leaves its leaf",
    engine: (engine) =>
      new Changed(engine, (batch) => ({
        ...batch,
        leaves: batch.leaves.filter(({ leaf }) => leaf !== null),
      })),
  },
  "stale-sum": {
    summary: "now and then a sum row is not written",
    engine: (engine, prng) =>
      new Changed(engine, (batch) => ({
        ...batch,
        sums: batch.sums.filter(() => !prng.chance(0.05)),
      })),
  },
  "log-hole": {
    summary: "of a group of several log entries the first is dropped",
    engine: (engine) =>
      new Changed(engine, (batch) => ({
        ...batch,
        log: batch.log.slice(batch.log.length > 1 ? 1 : 0),
      })),
  },
  "nonce-reuse": {
    summary: "the source of randomness repeats itself",
    random: (random, prng) => new Repeating(random, prng),
  },
  "cache-not-dropped": {
    summary: "the cache of the barrier does not hear of some commits",
    store: (prng) => ({
      onCommit: (call) => (changed) => {
        if (!prng.chance(0.2)) call(changed);
      },
    }),
  },
  "watch-lost": {
    summary: "a watcher is not woken now and then",
    store: (prng) => ({
      watch: (call) => (change) => {
        if (!prng.chance(0.1)) call(change);
      },
    }),
  },
  "follow-cache-kept": {
    summary: "the cache of a follower does not hear of some groups that it applies",
    follow: { cache: 0.5 },
  },
  "follow-watcher-asleep": {
    summary: "a watcher on a follower is not woken now and then",
    follow: { watcher: 0.1 },
  },
  "follow-half-group": {
    summary: "a group is applied in two commits",
    follow: { halves: 0.5 },
  },
  "follow-control-skipped": {
    summary: "a follower applies the entry of a new key and does not learn the key",
    follow: { control: 0.5 },
  },
  "follow-cursor-first": {
    summary: "a follower notes the cursor before the rows that it has taken over",
    follow: { cursor: 1 },
  },
  "follow-early-answer": {
    summary: "a follower answers while its sync is still running",
    follow: {},
    file: (file) => ({
      ...file,
      sync: () => {
        file.sync().catch(() => {});
        return Promise.resolve();
      },
    }),
  },
};

/** The volume with every file of it planted. */
export function plantVolume(volume: Volume, plant: Plant | null, prng: Prng): Volume {
  const wrap = plant?.file;
  if (wrap === undefined) return volume;
  return {
    ...volume,
    open: (name) => {
      const file = volume.open(name);
      return file === null ? null : wrap(file, prng);
    },
    create: (name) => wrap(volume.create(name), prng),
  };
}

class Changed extends EngineBehind {
  readonly #change: (batch: Batch) => Batch;

  constructor(inner: StorageEngine, change: (batch: Batch) => Batch) {
    super(inner);
    this.#change = change;
  }

  override commit(batch: Batch): Promise<void> {
    return super.commit(this.#change(batch));
  }
}

class DirtyReads extends EngineBehind {
  #seen: MemoryRows | null = null;

  protected override source(): Reads {
    return this.#seen ?? super.source();
  }

  override async commit(batch: Batch): Promise<void> {
    this.#seen = allRows(this.inner);
    this.#seen.apply(copyBatch(batch));
    try {
      await super.commit(batch);
    } finally {
      this.#seen = null;
    }
  }
}

class SplitCommit extends EngineBehind {
  override async commit(batch: Batch): Promise<void> {
    await super.commit({ ...batch, meta: [] });
    const nothing = {
      data: [],
      leaves: [],
      sums: [],
      log: [],
      cutLogAbove: null,
      trimLogBelow: null,
    };
    await super.commit({ ...batch, ...nothing });
  }
}

class Reordered extends EngineBehind {
  readonly #prng: Prng;
  #held: Batch | null = null;
  #seen: MemoryRows | null = null;

  constructor(inner: StorageEngine, prng: Prng) {
    super(inner);
    this.#prng = prng;
  }

  protected override source(): Reads {
    return this.#seen ?? super.source();
  }

  override async commit(batch: Batch): Promise<void> {
    const held = this.#held;
    if (held === null) {
      if (!this.#prng.chance(0.2)) return super.commit(batch);
      this.#held = copyBatch(batch);
      this.#seen = allRows(this.inner);
      this.#seen.apply(this.#held);
      return;
    }
    // The later one first; then the earlier one, without what the later one has replaced.
    await super.commit({ ...batch, expect: held.expect });
    const gone = new Set(batch.data.map(({ key }) => key));
    const slots = new Set(batch.sums.map(({ slot }) => slot));
    const names = new Set(batch.meta.map(({ name }) => name));
    const [head] = batch.meta.filter(({ name }) => name === batch.expect.name);
    await super.commit({
      ...held,
      expect: head === undefined ? held.expect : { name: head.name, value: head.value },
      data: held.data.filter(({ key }) => !gone.has(key)),
      leaves: held.leaves.filter(({ key }) => !gone.has(key)),
      sums: held.sums.filter(({ slot }) => !slots.has(slot)),
      meta: held.meta.filter(({ name }) => !names.has(name)),
    });
    this.#held = null;
    this.#seen = null;
  }
}

class Repeating implements Random {
  readonly #inner: Random;
  readonly #prng: Prng;
  readonly #last = new Map<number, Buffer>();

  constructor(inner: Random, prng: Prng) {
    this.#inner = inner;
    this.#prng = prng;
  }

  bytes(length: number): Buffer {
    const last = this.#last.get(length);
    const out = last !== undefined && this.#prng.chance(0.02) ? last : this.#inner.bytes(length);
    this.#last.set(length, Buffer.from(out));
    return out;
  }

  uuid(): string {
    return this.#inner.uuid();
  }
}

/** Everything an engine holds, as far as the planted bugs need it. */
function allRows(engine: StorageEngine): MemoryRows {
  const rows = new MemoryRows();
  const all = { from: "", to: null, limit: Infinity };
  rows.apply({
    expect: { name: "", value: null },
    data: engine.rows(all),
    leaves: engine.leaves(null, Infinity).map(({ slot, key, ...leaf }) => ({ slot, key, leaf })),
    sums: engine.sums(),
    log: engine.logs(0n, Infinity),
    cutLogAbove: null,
    trimLogBelow: null,
    meta: ["repl/head", "repl/tail", "repl/timeline"].map((name) => ({
      name,
      value: engine.meta(name),
    })),
  });
  return rows;
}
