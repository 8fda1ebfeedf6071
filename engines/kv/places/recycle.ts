// The recycle bin: secrets whose newest version somebody has deleted, for as long as the mount shows
// them there. It only shows: what has left the bin can still be undeleted, until it is destroyed, falls
// out of the versions that are kept, or goes with its metadata.

import { type Pace, Stretches } from "@holdfast/shared/sliced";
import type { Clock, Instant } from "@holdfast/shared/world";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import type { MountSettings } from "../mount-settings.ts";
import { MAX_PAGE } from "../api/fields.ts";
import { binned, binnedAfter, RECYCLE, takeOutOfBin } from "../rows.ts";
import { type Walk, walk } from "./walk.ts";

/** Characters of an entry in an answer besides its path, which is there twice. */
const ENTRY = 128;
/** Paths in one walk: an answer may be full after few. */
const MAX_WALKED = 256;
/** Rows looked at in one tidying: once a minute. */
const MAX_TIDIED = 1000;

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

export interface BinWorld {
  readonly storage: EngineStorage;
  readonly clock: Clock;
}

export class RecycleBin {
  readonly #storage: EngineStorage;
  readonly #clock: Clock;
  readonly #settings: () => MountSettings;
  #tidied = ""; // up to this path

  constructor({ storage, clock }: BinWorld, settings: () => MountSettings) {
    this.#storage = storage;
    this.#clock = clock;
    this.#settings = settings;
  }

  async list(page: Omit<Walk, "root">, pace: Pace): Promise<BinPage> {
    const window = this.#settings().recycleWindow;
    const now = this.#clock.now();
    const world = { storage: this.#storage, pace };
    const stretches = new Stretches(pace);
    const found: Deleted[] = [];
    let size = 0;
    let { after } = page;
    for (;;) {
      const limit = Math.min(page.limit - found.length, MAX_WALKED);
      const walked = await walk(world, { ...page, after, limit, root: RECYCLE });
      for (const path of walked.paths) {
        if (stretches.over) await stretches.next();
        const row = await binned(this.#storage, path);
        const deleted = BigInt(row?.deleted ?? 0);
        if (row === null || deleted + window <= now) continue;
        size += 2 * path.length + ENTRY;
        const last = found.at(-1);
        if (size > MAX_PAGE && last !== undefined) return { found, next: last.path };
        found.push({ path, version: row.version, deleted, until: deleted + window });
      }
      if (walked.next === null || found.length === page.limit) return { found, next: walked.next };
      after = walked.next;
    }
  }

  /** Takes rows out whose time is over: some of them, beginning where it ended the last time. */
  async tidy(): Promise<void> {
    const window = this.#settings().recycleWindow;
    const rows = await binnedAfter(this.#storage, this.#tidied, MAX_TIDIED);
    const last = rows.at(-1);
    this.#tidied = rows.length < MAX_TIDIED || last === undefined ? "" : last.path;
    const now = this.#clock.now();
    const over = rows.filter(({ deleted }) => BigInt(deleted) + window <= now);
    if (over.length === 0) return;
    await this.#storage.write((tx) => {
      for (const { path } of over) takeOutOfBin(tx, path);
    });
  }
}
