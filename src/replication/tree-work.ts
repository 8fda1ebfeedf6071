// Checking and mending the trees of this cluster, when an operator asks for it. One at a time, in slices beside everything
// else; the status shows how far it is.

import { base64 } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Timers } from "@holdfast/shared/world";
import type { CheckReport } from "../storage/repair/check.ts";
import { reindexStore } from "../storage/repair/reindex.ts";
import type { Store } from "../storage/store.ts";
import { reindexRunning, wouldDropKeys } from "./failures.ts";

/** Trees by the numbers that clients know. */
const TREES = [
  { number: "1", name: "shared", type: "replicated" },
  { number: "2", name: "local", type: "local" },
] as const;

export interface TreeWorkOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Whether other clusters may have what is lost here. */
  readonly hasReplicas: () => boolean;
}

export class TreeWork {
  readonly #options: TreeWorkOptions;
  readonly #log: Log;
  #checkedAt: Instant | null = null;
  #reindexedAt: Instant | null = null;
  #corrupted = false;
  #reindexing: Promise<void> | null = null;

  constructor(options: TreeWorkOptions) {
    this.#options = options;
    this.#log = options.log.child("replication");
  }

  get checkedAt(): Instant | null {
    return this.#checkedAt;
  }

  get reindexedAt(): Instant | null {
    return this.#reindexedAt;
  }

  get corrupted(): boolean {
    return this.#corrupted;
  }

  get isReindexing(): boolean {
    return this.#reindexing !== null;
  }

  /** Waits for what runs; it is begun anew by hand. */
  async close(): Promise<void> {
    await this.#reindexing;
  }

  /** `deep`: the stored values are hashed again as well. */
  async check(deep: boolean): Promise<JsonObject> {
    const { store, clock } = this.#options;
    const report = await store.check({ deep });
    this.#checkedAt = clock.now();
    this.#corrupted = !report.ok;
    if (!report.ok) {
      this.#log.error("the trees do not add up", {
        event: "replication.corruption-detected",
        damaged: report.damaged,
        subpages: report.wrongSubpages.length,
      });
    }
    return this.#reportOf(report, deep);
  }

  /** Goes on after this has resolved. Refused while others may have what would be dropped here: they are asked first. */
  async reindex({
    force,
    diff,
  }: {
    readonly force: boolean;
    readonly diff: boolean;
  }): Promise<void> {
    if (this.#reindexing !== null) throw reindexRunning();
    const { store, hasReplicas } = this.#options;
    if (!force && hasReplicas()) {
      const { missing } = await store.check({ deep: false });
      if (missing.length > 0) throw wouldDropKeys(missing.length);
    }
    this.#reindexing = this.#run(diff).finally(() => {
      this.#reindexing = null;
    });
  }

  async #run(diff: boolean): Promise<void> {
    const { store, clock } = this.#options;
    try {
      const { mended, removed, sums } = await reindexStore(store, this.#options);
      this.#reindexedAt = clock.now();
      this.#corrupted = false;
      const counts = { mended: mended.count, removed: removed.count, sums };
      this.#log.info("the trees were made anew", counts);
      if (!diff) return;
      for (const key of [...mended.keys, ...removed.keys])
        this.#log.warn("its leaf was wrong", { key });
    } catch (error) {
      this.#log.error("the trees could not be made anew", { cause: describe(error) });
    }
  }

  #reportOf(report: CheckReport, deep: boolean): JsonObject {
    const { trees } = this.#options.store;
    const maps = TREES.map(({ number, name, type }) => {
      const wrong = report.wrongSubpages.filter(({ tree }) => tree === name);
      const pages = new Map<string, number[]>();
      for (const { page, subpage } of wrong) {
        pages.set(String(page), [...(pages.get(String(page)) ?? []), subpage]);
      }
      const tuples = [...pages].map(([page, subpages]) => [page, { corrupted: false, subpages }]);
      const row = {
        tree_type: type,
        root_hash: base64(trees[name].root()),
        corrupted_subtree_root: wrong.length > 0,
        corrupted_index_tuples_map: wrong.length === 0 ? null : Object.fromEntries(tuples),
      };
      return [number, row] as const;
    });
    return {
      corrupted_root: !report.ok,
      corrupted_tree_map: Object.fromEntries(maps) as JsonObject,
      ...(deep ? { corrupted_keys_count: report.damaged } : {}),
      last_corruption_check_epoch: showTime(this.#checkedAt ?? 0n),
    };
  }
}
