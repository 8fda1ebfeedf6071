// The recycle bin: secrets whose newest version somebody has deleted, for as long as the mount shows
// them there. It only shows: what has left the bin can still be undeleted, until it is destroyed, falls
// out of the versions that are kept, or goes with its metadata.

import type { Clock, Instant } from "../../base/world.ts";
import type { EngineStorage } from "../../../plugin-sdk/storage.ts";
import type { MountSettings } from "./mount-settings.ts";
import { binned, binnedAfter, RECYCLE, takeOutOfBin } from "./rows.ts";
import { type Walk, walk } from "./walk.ts";

/** Rows looked at in one tidying: once a minute. */
const MOST_TIDIED = 1000;

export interface Deleted {
  readonly path: string;
  readonly version: number;
  readonly deleted: Instant;
  /** When it leaves the bin. */
  readonly until: Instant;
}

export interface BinPage {
  readonly found: readonly Deleted[];
  readonly next: string | null;
}

export class RecycleBin {
  readonly #storage: EngineStorage;
  readonly #clock: Clock;
  readonly #settings: () => MountSettings;
  #tidied = ""; // up to this path

  constructor(storage: EngineStorage, clock: Clock, settings: () => MountSettings) {
    this.#storage = storage;
    this.#clock = clock;
    this.#settings = settings;
  }

  async list(page: Omit<Walk, "root">): Promise<BinPage> {
    const window = this.#settings().recycleWindow;
    const now = this.#clock.now();
    const found: Deleted[] = [];
    let { after } = page;
    for (;;) {
      const limit = page.limit - found.length;
      const walked = await walk(this.#storage, { ...page, after, limit, root: RECYCLE });
      for (const path of walked.paths) {
        const row = await binned(this.#storage, path);
        const deleted = BigInt(row?.deleted ?? 0);
        if (row === null || deleted + window <= now) continue;
        found.push({ path, version: row.version, deleted, until: deleted + window });
      }
      if (walked.next === null || found.length === page.limit) return { found, next: walked.next };
      after = walked.next;
    }
  }

  /** Takes rows out whose time is over: some of them, beginning where it ended the last time. */
  async tidy(): Promise<void> {
    const window = this.#settings().recycleWindow;
    const rows = await binnedAfter(this.#storage, this.#tidied, MOST_TIDIED);
    const last = rows.at(-1);
    this.#tidied = rows.length < MOST_TIDIED || last === undefined ? "" : last.path;
    const now = this.#clock.now();
    const over = rows.filter(({ deleted }) => BigInt(deleted) + window <= now);
    if (over.length === 0) return;
    await this.#storage.write((tx) => {
      for (const { path } of over) takeOutOfBin(tx, path);
    });
  }
}
