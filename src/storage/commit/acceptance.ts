// What is accepted and not durable yet, and how it becomes durable: the line of writers, the rows on their way,
// the groups that are committed, and who is told when. Own transactions (writing.ts) and entries of
// others (following/) are accepted alike from here on.

import type { KeyObject } from "node:crypto";
import { equalBytes } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Timers } from "@holdfast/shared/world";
import { EngineError, type Leaf, type StorageEngine, type SumRow } from "../engines/engine.ts";
import { heldOf, type Life } from "../life.ts";
import { hasBegun, readHead } from "../opening.ts";
import { Pending } from "../pending.ts";
import { Forest } from "../rows/merkle.ts";
import { SpaceGuard } from "../space.ts";
import type { Below, TransactionLimits } from "../transaction.ts";
import { AcceptedState } from "./accepted-state.ts";
import { AdmissionQueue } from "./admission-queue.ts";
import { type Accepted, Committer, leavesHead } from "./committer.ts";
import { DurabilityWaiters } from "./durability-waiters.ts";
import type { FailStop } from "./fail-stop.ts";
import type { Tip, LeafChange } from "./tip.ts";
import { RecentMap } from "@holdfast/shared/recent-map";
import { headDamaged } from "../failures.ts";
import { timelineOf } from "../rows/epoch.ts";
import * as heads from "../rows/head.ts";

const MIB = 1024 * 1024;
/** The most that one change may be; an engine may take less. */
const CEILING = { operations: 8192, bytes: 64 * MIB };
/** What may be accepted and not durable yet: beyond it, writers wait their turn. */
const PENDING_BYTES = 64 * MIB;
const PENDING_TRANSACTIONS = 16_384;

/** What a commit of nothing would be: others name what differs. */
export const NOTHING: Omit<Accepted, "sequence"> = {
  changes: new Map(),
  leaves: [],
  sums: new Map(),
  log: [],
  head: null,
  headBytes: null,
  foreign: false,
  meta: new Map(),
  cutLogAbove: null,
  trimLogBelow: null,
  bytes: 0,
  onDurable: null,
  onConflict: null,
};

/** The meta rows of a commit after which this is the timeline; null where it does not change. */
export function timelineRow(timeline: heads.Timeline | null): Accepted["meta"] {
  if (timeline === null) return NOTHING.meta;
  return new Map([[heads.TIMELINE_ROW, heads.encodeTimeline(timeline)]]);
}

/** What the store has while the key of the trees is there, and while it follows without it. */
export interface Held {
  readonly treeKey: KeyObject | null;
  /** Without the key: the head that came with the last entry, whose MAC nobody here has checked. */
  readonly unchecked: Uint8Array | null;
  /** After everything accepted. */
  readonly tip: Tip;
  /** Over what is durable. */
  readonly trees: Forest;
}

/** The keys that a group has changed, each with the plain form its last writer gave, or null. */
export type Changed = ReadonlyMap<string, Uint8Array | null>;

/** Told of what is durable now; `foreign` are the keys among it that somebody else has written, `group` what was
 *  written by this process. */
export type OnDurable = (
  changed: Changed,
  foreign: readonly string[],
  group: readonly Accepted[],
) => void;

export interface AcceptanceOptions {
  readonly engine: StorageEngine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly life: Life<Held>;
  readonly failStop: FailStop;
  readonly maxEntryBytes: number;
  readonly reserveBytes: number;
  /** A group is durable: called with what changed before its writers are told. */
  readonly durable: OnDurable;
  /** The head is no longer ours while we follow: true if what others wrote was taken up. */
  readonly moved: () => boolean;
}

export class Acceptance {
  /** What transactions see; its getDurable is what reads outside of them see. */
  readonly state: AcceptedState;
  readonly below: Below;
  readonly limits: TransactionLimits;
  readonly space: SpaceGuard;
  readonly pending = new Pending();
  readonly leaves = new RecentLeaves();
  readonly waiters = new DurabilityWaiters();

  readonly #engine: StorageEngine;
  readonly #life: Life<Held>;
  readonly #failStop: FailStop;
  readonly #durable: OnDurable;
  readonly #committer: Committer;
  readonly #queue: AdmissionQueue; // writers that wait for room
  /** Durable; null before creation, or when it cannot be read. */
  #head: heads.Head | null;
  #pendingBytes = 0;
  /** Meta rows that were accepted last, until they are durable. */
  readonly #meta = new Map<string, { bytes: Uint8Array | null; sequence: number }>();

  constructor(options: AcceptanceOptions) {
    const { engine, clock, log, life, failStop } = options;
    this.#engine = engine;
    this.#life = life;
    this.#failStop = failStop;
    this.#durable = options.durable;
    invariant(options.maxEntryBytes <= 8 * MIB, "a stored value has at most 8 MiB");
    this.limits = {
      operations: Math.min(engine.limits.operations, CEILING.operations),
      bytes: Math.min(engine.limits.bytes, CEILING.bytes),
      valueBytes: options.maxEntryBytes,
    };
    this.space = new SpaceGuard(engine, clock, log, options.reserveBytes);
    const headBytes = engine.meta(heads.HEAD_ROW);
    this.#head = readHead(headBytes);
    this.#committer = new Committer(engine, clock, headBytes, {
      encodeHead: (head) => heads.encodeHead(head, this.keyOfTrees()),
      durable: (group) => this.#onDurable(group),
      moved: (group) => life.following && group.every(leavesHead) && options.moved(),
      failed: (cause) => failStop.fail(cause),
    });
    const state = new AcceptedState(engine, this.pending, log, (slot) => this.#knownSum(slot));
    this.state = state;
    this.below = {
      // A failed read stops the store even if the transaction's function catches the error.
      get: (key) => failStop.orFail(() => state.get(key), EngineError),
      isPending: (key) => state.isPending(key),
      has: (key) =>
        this.leaves.get(key) !== undefined || failStop.orFail(() => state.has(key), EngineError),
      rows: (range) => failStop.orFail(() => state.rows(range), EngineError),
      keys: (range) => failStop.orFail(() => state.keys(range), EngineError),
    };
    this.#queue = new AdmissionQueue(options.timers, () => this.#hasRoom());
    failStop.onLost((refusal) => {
      this.#committer.stop();
      this.waiters.refuseAll(refusal);
      this.#queue.dissolve();
    });
  }

  get head(): heads.Head | null {
    return this.#head;
  }

  /** The durable head as it was last known to be stored. */
  get headBytes(): Uint8Array | null {
    return this.#committer.headBytes;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Over what is durable; empty while locked. */
  get trees(): Forest {
    return heldOf(this.#life.state)?.trees ?? new Forest();
  }

  keyOfTrees(): KeyObject {
    const treeKey = heldOf(this.#life.state)?.treeKey ?? null;
    invariant(treeKey !== null, "the head moves only while the key of the trees is there");
    return treeKey;
  }

  /** The leaf of a key after everything accepted. */
  leaf(slot: number, key: string): Leaf | null {
    return this.leaves.get(key) ?? this.state.leaf(slot, key);
  }

  settled(): Promise<void> {
    return this.#committer.settled();
  }

  /** Runs at once, or when there is room and whoever came before has had a turn. */
  admit<T>(attempt: () => Promise<T>, atOnce: boolean): Promise<T> {
    if (atOnce || (this.#queue.isEmpty && this.#hasRoom())) return attempt();
    return this.#queue.wait(attempt);
  }

  /** Runs now; a throw is told only after what was seen is durable, since it may tell of it. */
  async settleAfter<T>(seen: number, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof EngineError) this.#failStop.fail(error);
      await this.whenDurable(seen);
      throw error;
    }
  }

  push(accepted: Accepted): void {
    this.#pendingBytes += accepted.bytes;
    const { meta, sequence } = accepted;
    for (const [name, bytes] of meta) this.#meta.set(name, { bytes, sequence });
    this.#committer.push(accepted);
  }

  /** What somebody else has made: on its way like our own, and told as not ours when it is durable. `recent`: whether what
   *  is changed next may be the same. */
  pushForeign(
    changes: Accepted["changes"],
    rows: Partial<Accepted>,
    { recent = true }: { readonly recent?: boolean } = {},
  ): number {
    const sequence = this.waiters.next();
    const { leaves = NOTHING.leaves } = rows;
    const byKey = new Map(leaves.map(({ key, leaf }) => [key, leaf]));
    for (const [key, { value }] of changes) {
      this.pending.put(key, { value, leaf: byKey.get(key) ?? null, sequence });
    }
    if (recent) this.leaves.accepted(leaves);
    else this.leaves.forget(leaves);
    this.push({ ...NOTHING, ...rows, changes, foreign: true, sequence });
    return sequence;
  }

  /** The timeline of the log that ends at `head`, after everything accepted. */
  timelineAt(head: heads.Head): heads.Timeline {
    const timeline = timelineOf(this.meta(heads.TIMELINE_ROW), head);
    if (timeline === null) throw headDamaged("its timeline is not that of the log");
    return timeline;
  }

  /** A meta row after everything accepted; the head is the tip's. */
  meta(name: string): Uint8Array | null {
    const known = this.#meta.get(name);
    return known === undefined ? this.#failStop.read(() => this.#engine.meta(name)) : known.bytes;
  }

  whenDurable(sequence: number): Promise<void> {
    this.#failStop.assertNotFailed();
    return this.waiters.when(sequence);
  }

  /** What was accepted will not be: somebody else was first. Those who wait for it are told so. */
  withdraw({ sequence, changes, bytes }: Withdrawn, refusal: Error): void {
    this.#pendingBytes -= bytes;
    for (const key of changes.keys()) this.pending.settle(key, sequence);
    this.leaves.clear();
    this.waiters.reach(sequence);
    heldOf(this.#life.state)?.tip.wipe();
    this.#life.step({ do: "abandon" });
    this.adoptHead();
    this.waiters.refuse(sequence, refusal);
    this.#queue.drain();
  }

  /** The head was read when the store was opened with its key. */
  openedAt(head: heads.Head): void {
    this.#head = head;
  }

  /** Others have moved the head to where it is now. */
  follow(head: heads.Head | null, bytes: Uint8Array | null): void {
    this.#head = head;
    this.#committer.follow(bytes);
  }

  /** Another node has created or moved the head while we wrote nothing. */
  adoptHead(): Uint8Array | null {
    const bytes = this.#failStop.read(() => this.#engine.meta(heads.HEAD_ROW));
    if (this.#failStop.read(() => hasBegun(this.#engine))) this.#life.step({ do: "find" });
    this.#head = readHead(bytes);
    return bytes;
  }

  #hasRoom(): boolean {
    if (!this.#failStop.holds) return true; // to be refused
    return this.#pendingBytes < PENDING_BYTES && this.waiters.pending < PENDING_TRANSACTIONS;
  }

  /** As the tree in memory has it. For a moment after each commit the engine already shows what the
   *  trees do not know yet: null then. */
  #knownSum(slot: number): SumRow | null {
    const held = heldOf(this.#life.state);
    if (held === null) return null;
    const stored = this.#engine.meta(heads.HEAD_ROW);
    const known = this.#committer.headBytes;
    const abreast = stored !== null && known !== null && equalBytes(stored, known);
    return abreast ? held.trees.of(slot).row(slot) : null;
  }

  #onDurable(group: readonly Accepted[]): void {
    const changed = new Map<string, Uint8Array | null>();
    let foreign: readonly string[] = [];
    const trees = heldOf(this.#life.state)?.trees;
    for (const accepted of group) {
      if (accepted.foreign) foreign = [...foreign, ...accepted.changes.keys()];
      this.#pendingBytes -= accepted.bytes;
      for (const [key, { plain }] of accepted.changes) {
        changed.set(key, plain);
        this.pending.settle(key, accepted.sequence);
      }
      for (const { key } of accepted.leaves) this.pending.settle(key, accepted.sequence);
      for (const row of accepted.sums.values()) trees?.of(row.slot).set(row);
      if (accepted.head !== null) this.#head = accepted.head;
      accepted.onDurable?.();
    }
    const reached = group.at(-1)!.sequence;
    this.waiters.reach(reached);
    for (const [name, { sequence }] of this.#meta) if (sequence <= reached) this.#meta.delete(name);
    // Caches first, then whoever waits for a change, then the answers.
    this.#durable(changed, foreign, group);
    for (const { sequence } of group) this.waiters.tell(sequence);
    this.#queue.drain();
  }
}

type Withdrawn = Pick<Accepted, "sequence" | "changes" | "bytes">;

// --- recent leaves ---

// Leaves of what was written last. Most writes change what was written a moment ago, and need its leaf:
// looked up in storage each costs as much as sealing half an entry. They are those of everything
// accepted; this node is the only writer, so nothing else changes them but repairs, which clear this.

const MAX_LEAVES = 4096;

export class RecentLeaves {
  readonly #leaves = new RecentMap<string, Leaf>();

  /** Undefined: not known here. */
  get(key: string): Leaf | undefined {
    return this.#leaves.peek(key);
  }

  accepted(changes: readonly LeafChange[]): void {
    for (const { key, leaf } of changes) {
      if (leaf === null) this.#leaves.delete(key);
      else this.#leaves.set(key, leaf);
    }
    while (this.#leaves.size > MAX_LEAVES) this.#leaves.delete(this.#leaves.oldest!.key);
  }

  /** They have changed, and are looked up in storage when somebody needs them. */
  forget(changes: readonly LeafChange[]): void {
    for (const { key } of changes) this.#leaves.delete(key);
  }

  clear(): void {
    this.#leaves.clear();
  }
}
