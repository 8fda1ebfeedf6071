// The data of an archive in the place of what is here. With the keys of this server, what belongs to the node and its seal
// stays (everything below core/), and what exists outside and the archive does not know is taken over; with other keys the
// archive brings its own seal, and waits for its shares, as does what exists outside.

import type { KeyObject } from "node:crypto";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import { uuidText } from "@holdfast/shared/text/uuid";
import { Barrier } from "../../barrier/barrier.ts";
import type { View } from "../../barrier/view.ts";
import type { Carried, CarriedRow } from "../../carried/carried.ts";
import type { OutsideRow } from "../../carried/outside-rows.ts";
import type { StorageEngine } from "../../storage/engines/engine.ts";
import { type Beginning, Filler } from "../../storage/generations/filler.ts";
import type { Head, LogPlace } from "../../storage/rows/head.ts";
import { CORE_SCOPE } from "../../storage/rows/log-entry.ts";
import { Store } from "../../storage/store.ts";
import { noRoomToRestore, notWhole } from "./failures.ts";
import { checkRoom } from "../disk-room.ts";
import { NOTHING_LEFT, noteLeft } from "./left-outside.ts";
import type { ReceivedArchive } from "./receiving.ts";
import type { RestoreBook } from "./restore-book.ts";

const NODE = "core/";
const PAGE = 64;

/** Of everything below shared/ and local/. */
export interface DataViews {
  readonly shared: View;
  readonly local: View;
}

/** Takes over what exists outside and is known to `from` alone. */
export type Adopt = (
  from: DataViews,
  to: DataViews,
) => Promise<{ readonly adopted: number; readonly left: number }>;

export interface RestoredDataOptions {
  readonly store: Store;
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly clusterId: () => string;
  readonly adopt: Adopt;
  /** What this cluster is to others stays, in the place of what it was when the archive was made. */
  readonly keep: (from: DataViews, to: DataViews) => Promise<void>;
  /** What exists outside and is not known to data of which there are only keys. */
  readonly unknown: (
    from: DataViews,
    hasKey: (key: string) => boolean,
  ) => Iterable<readonly OutsideRow[]>;
  /** What goes along to data of other keys. */
  readonly carried: Pick<Carried, "rows" | "exchanged">;
  readonly book: RestoreBook;
  /** Throws where the data may not be replaced any more. */
  readonly guard: () => void;
}

/** In the words of the exchange of houses. */
export interface RestoredData {
  fill(engine: StorageEngine, signal: AbortSignal): Promise<void>;
  finish(engine: StorageEngine): Promise<KeyObject | null>;
  /** It is in use: what nobody takes over counts from now on. */
  countLeft(): void;
}

/** `treeKey`: where the archive is of this server's keys; null where it is of others. */
export function restoredData(
  received: ReceivedArchive,
  treeKey: KeyObject | null,
  options: RestoredDataOptions,
): RestoredData {
  const { store, barrier, book, clusterId, random, guard } = options;
  const { archive } = received;
  let filler: Filler;
  let done: { readonly adopted: number; readonly left: number } | null = null;
  return {
    fill: async (engine, signal) => {
      book.tell({ state: "filling", bytesDone: 0 });
      filler = new Filler({ engine, signal, ...options }, treeKey);
      let entries = 0;
      const tell = (bytesDone: number) => book.tell({ bytesDone, entries });
      for await (const records of received.records(tell)) {
        for (const record of records) {
          if (treeKey === null || !record.key.startsWith(NODE)) await filler.add(record);
        }
        entries += records.length;
        guard();
        checkRoom(engine.freeBytes(), 0, noRoomToRestore);
      }
      await filler.flush();
      if (!filler.isCopyOf(archive.headRow)) throw notWhole();
    },

    finish: async (engine) => {
      guard(); // in the turn of who initialises: nobody does between this and the switch
      book.tell({ state: "exchanging" });
      if (treeKey !== null) await carryOver(store, filler);
      else if (store.initialised) {
        const unknown = options.unknown(viewsOf(barrier), (key) => engine.get(key) !== null);
        await putAll(
          options.carried.rows({ ...archive.meta, head: archive.headRow }, unknown),
          filler,
        );
      }
      const cluster = treeKey === null ? archive.meta.clusterId : clusterId();
      const beginning = beginningAfter(archive.head, store, { cluster, random });
      await filler.finish(beginning, archive.headRow);
      filler.wipe();
      if (treeKey === null) return null;
      const { rootKey } = barrier;
      done = await adoptInto(engine, rootKey, options);
      return rootKey;
    },

    countLeft: () => {
      const left = done === null ? options.carried.exchanged() : done.left;
      if (done !== null) book.tell({ adopted: done.adopted });
      if (left !== null) book.left({ ...NOTHING_LEFT, count: left });
    },
  };
}

/** Rows of the node and its seal, as they are now: nothing writes them any more. */
async function carryOver(store: Store, filler: Filler): Promise<void> {
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const rows = store.rows(NODE, page);
    for (const { key, value } of rows) await filler.put({ key, value, scope: CORE_SCOPE });
    after = rows.at(-1)?.key;
    if (after === undefined) return;
  }
}

/** Below core/ nothing is in a tree: what is added there changes no sums of the archive. */
async function putAll(rows: AsyncIterable<CarriedRow>, filler: Filler): Promise<void> {
  for await (const { key, value } of rows) await filler.put({ key, value, scope: CORE_SCOPE });
}

/** Above everything that either of the two logs ever told. */
function beginningAfter(
  restored: Head,
  { head: now, timeline }: Pick<Store, "head" | "timeline">,
  { cluster, random }: { readonly cluster: string; readonly random: Random },
): Beginning {
  const index = now === null || restored.index > now.index ? restored.index : now.index;
  return {
    lineage: random.bytes(16),
    epoch: Math.max(restored.epoch, now?.epoch ?? 0) + 1,
    index: index + 1n,
    cluster,
    origin: {
      restored: placeOf(restored),
      replaced:
        now === null
          ? null
          : { ...placeOf(now), ...(timeline === null ? {} : { epochs: timeline.epochs }) },
    },
  };
}

function placeOf({ lineage, epoch, index }: Head): LogPlace {
  return { lineage: uuidText(lineage), epoch, index: String(index) };
}

/** The next store is opened for a moment, before anybody uses it. That also shows that it opens. */
async function adoptInto(engine: StorageEngine, rootKey: KeyObject, options: RestoredDataOptions) {
  const { barrier, clock, timers, random, log, adopt, keep } = options;
  const store = new Store({ engine, clock, timers, log });
  const next = new Barrier({ store, clock, timers, random, log, cacheBytes: 0 });
  await store.readSums();
  if (!next.unseal(rootKey)) throw notWhole();
  try {
    next.activate();
    await keep(viewsOf(barrier), viewsOf(next));
    const done = await adopt(viewsOf(barrier), viewsOf(next));
    await next
      .view("core/snapshots/")
      .write((tx) => noteLeft(tx, { ...NOTHING_LEFT, count: done.left }, clock.now()), {
        essential: true,
      });
    return done;
  } finally {
    await next.seal();
    await store.close();
  }
}

function viewsOf(barrier: Barrier): DataViews {
  return { shared: barrier.view("shared/"), local: barrier.view("local/") };
}
