// Fills an empty storage with the rows of a store: rows in, leaves and sums made of them, no log entries, bounded
// memory. It is a store when finish() has resolved, and nothing before; it begins a lineage of its own. A copy of
// another cluster goes on with that cluster's log instead, and after a crash where it was: the cursor is written
// with the leaves, and what lies behind it is removed.

import type { KeyObject } from "node:crypto";
import { EMPTY } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Timers } from "@holdfast/shared/world";
import { Slices } from "../commit/slices.ts";
import type { Batch, StorageEngine } from "../engines/engine.ts";
import { anchorRefused } from "../failures.ts";
import { afterKey, checkKey, classOf, compareKeys } from "../key.ts";
import { timelineOf } from "../rows/epoch.ts";
import {
  decodeHead,
  encodeHead,
  encodeTail,
  encodeTimeline,
  firstTimeline,
  type Head,
  HEAD_ROW,
  headIsAuthentic,
  LEAF_FORM,
  LEAF_FORM_ROW,
  type Origin,
  TAIL_ROW,
  type Timeline,
  TIMELINE_ROW,
} from "../rows/head.ts";
import { firstChain } from "../rows/log-entry.ts";
import { LeafHasher, sha256, slotOf } from "../rows/merkle.ts";
import { u8 } from "../rows/row-bytes.ts";
import { type Anchor, encodeSync, readSync, SYNC_ROW } from "../rows/sync.ts";
import { addsUpTo, encodeUnhashed, UNHASHED_LEAF, UNHASHED_ROW } from "./unhashed.ts";
import { EMPTY_BATCH, GatheredLeaves } from "./gathered-leaves.ts";

const MAX_ROWS = 2048;
const MAX_BYTES = 4 * 1024 * 1024;

export interface FilledRow {
  readonly key: string;
  /** 16 bytes: the mount or namespace it belongs to. Of no meaning below core/. */
  readonly scope: Uint8Array;
  readonly value: Uint8Array;
}

/** Where the log of the new store begins. */
export interface Beginning {
  readonly lineage: Uint8Array; // 16 bytes, never used before
  readonly epoch: number;
  /** Of the last entry that there might have been: the next one has the one after it. */
  readonly index: bigint;
  readonly cluster: string;
  readonly origin: Origin;
}

export interface FillerOptions {
  readonly engine: StorageEngine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signal?: AbortSignal;
}

export class Filler {
  readonly #engine: StorageEngine;
  readonly #hasher: LeafHasher | null;
  readonly #treeKey: KeyObject | null;
  readonly #slices: Slices;
  readonly #leaves: GatheredLeaves;
  #rows: Batch["data"][number][] = [];
  #bytes = 0;
  #last = "";
  #copied: Anchor | null = null;

  /** Without the key of the trees leaves are left to be hashed when it is there; see unhashed.ts. */
  constructor(options: FillerOptions, treeKey: KeyObject | null) {
    this.#engine = options.engine;
    this.#treeKey = treeKey;
    this.#hasher = treeKey === null ? null : new LeafHasher(treeKey);
    this.#slices = new Slices(options, options.signal);
    this.#leaves = new GatheredLeaves(options.engine, this.#slices, async () => {
      if (this.#copied === null) return [];
      await this.#flushRows(); // what has a leaf has its row
      return [this.#mark(this.#copied)];
    });
  }

  /**
   * A copy of another cluster, whose log goes on after the anchor. Where one was begun before, it is taken up: its
   * own anchor stays, and `cursor` says after which key.
   */
  static async copy(options: FillerOptions, treeKey: KeyObject, anchor: Anchor): Promise<Filler> {
    const filler = new Filler(options, treeKey);
    const { engine } = options;
    invariant(engine.meta(HEAD_ROW) === null, "a store is not filled");
    const begun = readSync(engine);
    filler.#copied = begun ?? anchor;
    if (begun === null) {
      await engine.commit({ ...EMPTY_BATCH, meta: [filler.#mark(anchor)] });
      return filler;
    }
    filler.#last = begun.cursor;
    await filler.#removeAfter(begun.cursor);
    await filler.#leaves.readStored();
    return filler;
  }

  /** The last key whose row is sure to be here after a crash, or has been added since. */
  get cursor(): string {
    return this.#last;
  }

  /** Where the log of the cluster that is copied stood; null where this is no copy of one. */
  get anchor(): Anchor | null {
    return this.#copied;
  }

  #mark({ head, timeline }: Anchor): Batch["meta"][number] {
    const sync = encodeSync({ kind: "adopt", head, timeline, cursor: this.#last });
    return { name: SYNC_ROW, value: sync };
  }

  /** Rows that have no leaf: they may have changed there since. */
  async #removeAfter(cursor: string): Promise<void> {
    for (let from = afterKey(cursor); ;) {
      const keys = this.#engine.keys({ from, to: null, limit: MAX_ROWS });
      const copied = keys.filter((key) => slotOf(classOf(key), key) !== null);
      const data = copied.map((key) => ({ key, value: null }));
      if (data.length > 0) await this.#engine.commit({ ...EMPTY_BATCH, data });
      if (keys.length < MAX_ROWS) return;
      from = afterKey(keys.at(-1)!);
      await this.#slices.pause();
    }
  }

  /** The rows in the order of their keys, each once. */
  async add(row: FilledRow): Promise<void> {
    invariant(compareKeys(row.key, this.#last) > 0, "rows come in the order of their keys");
    this.#last = row.key;
    await this.#take(row);
  }

  /** One more row after the others, in the place of what is there under its key. */
  async put(row: FilledRow): Promise<void> {
    const slot = slotOf(classOf(row.key), row.key);
    if (slot === null) {
      if (this.#rows.some(({ key }) => key === row.key)) await this.#flushRows();
      return this.#take(row);
    }
    await this.flush();
    const before = this.#engine.leaf(slot, row.key);
    if (before !== null) this.#leaves.forest.of(slot).replace(slot, before.hash, null);
    await this.#take(row);
    await this.flush();
  }

  /** Everything so far can be read from the engine. */
  async flush(): Promise<void> {
    await this.#flushRows();
    await this.#leaves.flush();
  }

  /** Whether everything so far is what adds up to the head of another store; true where there is no key to tell. */
  isCopyOf(headRow: Uint8Array): boolean {
    return this.#treeKey === null || addsUpTo(this.#leaves.forest, headRow, this.#treeKey);
  }

  /** Makes it a store. Without the key, `copied` is the head of the store that it is a copy of. */
  async finish(beginning: Beginning, copied: Uint8Array = EMPTY): Promise<Head> {
    invariant(this.#copied === null, "a copy goes on with the log that it is a copy of");
    const { lineage, epoch, index, cluster, origin } = beginning;
    const chain = firstChain(lineage);
    const place = { lineage, epoch, index, chain, lastDr: index, lastPerf: index, logBytes: 0n };
    const unhashed = encodeUnhashed({ lineage, epoch, index, copied });
    const first = { index, epoch, chain, lineage };
    return this.#end(place, { ...firstTimeline(first, cluster), origin }, unhashed);
  }

  /** Makes the copy a store: its log goes on after the anchor. */
  async finishCopy(): Promise<Head> {
    invariant(this.#copied !== null && this.#treeKey !== null, "no copy was begun");
    const { head, timeline } = this.#copied;
    const place = decodeHead(head);
    const fits = timelineOf(encodeTimeline(timeline), place) !== null;
    if (!fits || !headIsAuthentic(head, this.#treeKey)) throw anchorRefused("it is another one");
    return this.#end(place, timeline, EMPTY);
  }

  async #end(
    place: Omit<Head, "shared" | "local">,
    timeline: Timeline,
    unhashed: Uint8Array,
  ): Promise<Head> {
    await this.flush();
    const { forest } = this.#leaves;
    const head: Head = { ...place, shared: forest.shared.total(), local: forest.local.total() };
    const { index, chain, logBytes } = place;
    const tail = { first: index + 1n, chainBefore: chain, logBytesBefore: logBytes };
    const treeKey = this.#treeKey;
    await this.#leaves.end([
      { name: TAIL_ROW, value: encodeTail(tail) },
      { name: TIMELINE_ROW, value: encodeTimeline(timeline) },
      { name: LEAF_FORM_ROW, value: u8(LEAF_FORM) },
      { name: SYNC_ROW, value: null },
      treeKey === null
        ? { name: UNHASHED_ROW, value: unhashed }
        : { name: HEAD_ROW, value: encodeHead(head, treeKey) },
    ]);
    return head;
  }

  /** Forgets the key of the trees. */
  wipe(): void {
    this.#hasher?.wipe();
  }

  async #take({ key, scope, value }: FilledRow): Promise<void> {
    checkKey(key);
    this.#rows.push({ key, value });
    this.#bytes += key.length + value.length;
    const slot = slotOf(classOf(key), key);
    if (slot !== null) {
      const hash = this.#hasher?.hash(key, scope, sha256(value)) ?? UNHASHED_LEAF;
      this.#leaves.forest.of(slot).replace(slot, null, hash);
      await this.#leaves.add({ slot, key, leaf: { hash, scope } });
    }
    if (this.#rows.length >= MAX_ROWS || this.#bytes >= MAX_BYTES) await this.#flushRows();
    await this.#slices.pause();
  }

  async #flushRows(): Promise<void> {
    if (this.#rows.length === 0) return;
    const data = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    await this.#engine.commit({ ...EMPTY_BATCH, data });
  }
}
