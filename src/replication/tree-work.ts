// Checking and mending the trees of this cluster, when an operator asks for it. One at a time, in slices beside everything
// else; the status shows how far it is.

import { base64 } from "@holdfast/shared/bytes";
import { jsonCodec } from "@holdfast/shared/codec";
import { describe } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Timers } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import type { ReadView } from "../storage/engines/engine.ts";
import type { CheckReport } from "../storage/repair/check.ts";
import { type HealReport, healStore, type Replica } from "../storage/repair/heal.ts";
import { type ReindexStage, reindexStore } from "../storage/repair/reindex.ts";
import { ALL_SLOTS, type TreeName } from "../storage/rows/merkle.ts";
import type { Store } from "../storage/store.ts";
import { reindexRunning, roleChanging, wouldLose } from "./failures.ts";
import type { ReplicationFigures } from "./figures.ts";

/** Trees by the numbers that clients know. */
const TREES = [
  { number: "1", name: "shared", type: "replicated" },
  { number: "2", name: "local", type: "local" },
] as const;
const MAX_TOLD = 20; // keys in the log, for each time

/** Below core/replication/dr/: what was found last, and when. It is of this cluster's disk alone. */
const FOUND = "trees";

interface Found {
  readonly checked: string | null;
  readonly reindexed: string | null;
  readonly corrupted: boolean;
}

const foundCodec = jsonCodec<Found>();

export interface TreeWorkOptions {
  readonly store: Store;
  /** Where it is kept what was found. Default: nowhere. */
  readonly view?: View;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly figures?: ReplicationFigures;
  /** Whether other clusters may have what is lost here. */
  readonly hasReplicas: () => boolean;
  /** Those that can be asked now. */
  readonly replicas: () => readonly Replica[];
  /** On a secondary: whether the primary is followed now, so that what differs is fetched from it. */
  readonly follows: () => boolean;
  /** That it is fetched at once. False where the primary is not followed. */
  readonly refetch: () => boolean;
}

/** What a check has found, for those who know other servers, and what became of it. */
export interface Checked {
  readonly report: JsonObject;
  readonly warnings: readonly string[];
}

/** As many checks at most, where one does not name all that is damaged. */
const ROUNDS = 16;

export class TreeWork {
  readonly #options: TreeWorkOptions;
  readonly #log: Log;
  #checkedAt: Instant | null = null;
  #reindexedAt: Instant | null = null;
  #corrupted = false;
  #reindexing: Promise<void> | null = null;
  #isResting = false;
  #stage: ReindexStage | null = null;
  #healed = 0;

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

  /** How far a reindex is, in slots and keys; null where none runs. */
  get reindexing(): (ReindexStage & { readonly total: number }) | null {
    if (this.#stage === null) return null;
    const { head } = this.#options.store;
    const rows = (head?.shared.count ?? 0) + (head?.local.count ?? 0);
    return { ...this.#stage, total: ALL_SLOTS + rows };
  }

  /** Records that were damaged here and taken from another cluster, since the start. */
  get healed(): number {
    return this.#healed;
  }

  open(): void {
    this.#isResting = false;
    const found = this.#options.view?.get(FOUND, foundCodec) ?? null;
    if (found === null) return;
    this.#checkedAt = parseTime(found.checked);
    this.#reindexedAt = parseTime(found.reindexed);
    this.#corrupted = found.corrupted;
  }

  /** Outlives a start, where that is possible: whoever has asked is answered without. */
  async #keep(): Promise<void> {
    const { view } = this.#options;
    if (view === undefined) return;
    const text = (time: Instant | null) => (time === null ? null : showTime(time));
    const row = {
      checked: text(this.#checkedAt),
      reindexed: text(this.#reindexedAt),
      corrupted: this.#corrupted,
    };
    try {
      await view.write((tx) => tx.put(FOUND, row, foundCodec), { essential: true });
    } catch (error) {
      this.#log.warn("could not write down what was found", { cause: describe(error) });
    }
  }

  /** Waits for a reindex that runs; it is begun anew by hand. None begins from here on. */
  async close(): Promise<void> {
    this.#isResting = true;
    await this.#reindexing;
  }

  /** `deep`: the stored values are hashed again as well. What another cluster has is healed. */
  async check(deep: boolean): Promise<Checked> {
    const { store, clock } = this.#options;
    const found = await store.check({ deep });
    const pages = this.#wrongPages();
    this.#checkedAt = clock.now();
    const { healed, isWhole } = await this.#heal(found, deep);
    this.#corrupted = !isWhole;
    await this.#keep();
    const isOthers = store.following || store.leavesShared;
    const isFetching = !isWhole && isOthers && this.#options.refetch();
    const warnings = [
      ...(healed > 0 ? [`${healed} damaged records were healed from another cluster`] : []),
      ...(isFetching ? ["what is damaged here is fetched from the primary"] : []),
      ...(isWhole || isFetching ? [] : ["not everything that is damaged here could be healed"]),
    ];
    return { report: this.#reportOf(found, pages, { deep, healed }), warnings };
  }

  /** Goes on after this has resolved. Refused while others may have what would be lost here: they are asked first. */
  async reindex({
    force,
    diff,
  }: {
    readonly force: boolean;
    readonly diff: boolean;
  }): Promise<void> {
    if (this.#stage !== null) throw reindexRunning();
    this.#stage = { stage: "scanning", done: 0 };
    try {
      if (!force) await this.#assertNothingLost();
      if (this.#isResting) throw roleChanging(); // whoever rests has not waited for this one
    } catch (error) {
      this.#stage = null;
      throw error;
    }
    this.#reindexing = this.#run(diff).finally(() => {
      this.#reindexing = null;
      this.#stage = null;
    });
  }

  /** Leaves made from what is damaged would be believed by all others: on a primary nothing may be, on a secondary nothing
   *  gone that the primary is not asked for. */
  async #assertNothingLost(): Promise<void> {
    const { store, hasReplicas, follows } = this.#options;
    if (!hasReplicas()) return;
    if (store.following) {
      const { missing } = await store.check({ deep: false });
      if (missing.length > 0 && !follows()) throw wouldLose(missing.length);
      return;
    }
    const { left } = await this.#heal(await store.check({ deep: true }), true);
    if (left > 0) throw wouldLose(left);
  }

  async #run(diff: boolean): Promise<void> {
    const { store, clock, refetch } = this.#options;
    const mending = {
      viewing: <T>(run: (view: ReadView) => Promise<T>) => store.viewing(run),
      mend: (fn: Parameters<Store["mend"]>[0]) => store.mend(fn, { following: store.following }),
    };
    try {
      const { mended, removed, sums } = await reindexStore(mending, this.#options, {
        see: (stage) => (this.#stage = stage),
      });
      this.#reindexedAt = clock.now();
      this.#corrupted = false;
      await this.#keep();
      const counts = { mended: mended.count, removed: removed.count, sums };
      this.#log.info("the trees were made anew", counts);
      if (store.following && mended.count + removed.count > 0) refetch();
      if (!diff) return;
      for (const key of [...mended.keys, ...removed.keys])
        this.#log.warn("its leaf was wrong", { key });
    } catch (error) {
      this.#log.error("the trees could not be made anew", { cause: describe(error) });
    }
  }

  /** Of a primary; what a secondary lacks it fetches by comparing. Gives how many records are right again, and how many are not. */
  async #heal(
    first: CheckReport,
    deep: boolean,
  ): Promise<{ readonly healed: number; readonly left: number; readonly isWhole: boolean }> {
    const { store, replicas, hasReplicas } = this.#options;
    if (first.ok) return { healed: 0, left: 0, isWhole: true };
    this.#options.figures?.damaged();
    this.#log.error("the trees do not add up", {
      event: "replication.corruption-detected",
      damaged: first.damaged,
      subpages: first.wrongSubpages.length,
    });
    let found = first;
    let healed = 0;
    for (let round = 0; round < ROUNDS && !found.ok; round++) {
      if (store.following || !hasReplicas()) break;
      const report = await healStore(store, found, replicas(), this.#options);
      this.#tell(report);
      if (report.healed.count + report.sums === 0) break;
      healed += report.healed.count;
      found = await store.check({ deep });
    }
    this.#healed += healed;
    return { healed, left: found.damaged, isWhole: found.ok };
  }

  #tell({ healed, refused, silent }: HealReport): void {
    if (healed.count > 0) {
      this.#log.warn("damaged records were healed from another cluster", {
        event: "replication.healed",
        records: healed.count,
        keys: healed.keys.slice(0, MAX_TOLD).join(" "),
      });
    }
    for (const { replica, key } of refused.slice(0, MAX_TOLD)) {
      this.#log.error("a secondary has sent another record than the one that was stored here", {
        event: "replication.heal-refused",
        secondary: replica,
        key,
      });
    }
    for (const { replica, cause } of silent) {
      this.#log.warn("a secondary could not be asked for what is damaged here", {
        secondary: replica,
        cause: describe(cause),
      });
    }
  }

  /** Hashes of pages in memory that are not those of their sums. They are made anew. */
  #wrongPages(): PagesByTree {
    const { trees } = this.#options.store;
    const found = { shared: trees.shared.mendHashes(), local: trees.local.mendHashes() };
    const count = found.shared.length + found.local.length;
    if (count > 0) {
      this.#log.error("the trees in memory do not add up", {
        event: "replication.corruption-detected",
        pages: count,
      });
    }
    return found;
  }

  #reportOf(
    report: CheckReport,
    wrongPages: PagesByTree,
    { deep, healed }: { readonly deep: boolean; readonly healed: number },
  ): JsonObject {
    const { trees } = this.#options.store;
    const maps = TREES.map(({ number, name, type }) => {
      const wrong = report.wrongSubpages.filter(({ tree }) => tree === name);
      const pages = new Map<string, JsonObject>();
      // A page whose own hash is wrong, whatever its subpages are.
      for (const page of wrongPages[name])
        pages.set(String(page), { corrupted: true, subpages: [] });
      for (const [page, places] of Map.groupBy(wrong, (place) => String(place.page))) {
        const corrupted = pages.has(page);
        pages.set(page, { corrupted, subpages: places.map(({ subpage }) => subpage) });
      }
      const row = {
        tree_type: type,
        root_hash: base64(trees[name].root()),
        corrupted_subtree_root: pages.size > 0,
        corrupted_index_tuples_map: pages.size === 0 ? null : Object.fromEntries(pages),
      };
      return [number, row] as const;
    });
    const areHashesRight = wrongPages.shared.length + wrongPages.local.length === 0;
    return {
      corrupted_root: !report.ok || !areHashesRight,
      corrupted_tree_map: Object.fromEntries(maps) as JsonObject,
      ...(deep ? { corrupted_keys_count: report.damaged } : {}),
      healed_keys_count: healed,
      last_corruption_check_epoch: showTime(this.#checkedAt ?? 0n),
    };
  }
}

type PagesByTree = Readonly<Record<TreeName, readonly number[]>>;
