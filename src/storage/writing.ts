// The writing half of the store: takes transactions, keeps what is on its way to the disk, commits in
// groups, and tells when something is durable. Whether anything is taken at all is the business of
// life.ts; the reading half is store.ts.

import type { KeyObject } from "node:crypto";
import { equalBytes } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Timers } from "@holdfast/shared/world";
import { AcceptedState } from "./commit/accepted-state.ts";
import { type Accepted, Committer, leavesHead } from "./commit/committer.ts";
import { type ControlReader, ControlReaders, unreadRow } from "./following/control-records.ts";
import {
  type StorageEngine,
  EngineError,
  type Leaf,
  type Range,
  type SumRow,
} from "./engines/engine.ts";
import * as failures from "./failures.ts";
import {
  agreedHead,
  changesOf,
  type CommittedEntry,
  entriesBetween,
  readGroup,
} from "./following/foreign-entries.ts";
import { classOf, hasClass } from "./key.ts";
import { assertLeads, assertUnlockable, heldOf, isInitialised, type Life } from "./life.ts";
import { AdmissionQueue } from "./commit/admission-queue.ts";
import {
  creation,
  hasBegun,
  type Identity,
  openCopy,
  type Opened,
  openTip,
  readHead,
} from "./opening.ts";
import { Pending } from "./pending.ts";
import * as heads from "./rows/head.ts";
import { Forest, isSumRow, slotOf } from "./rows/merkle.ts";
import { DurabilityWaiters } from "./commit/durability-waiters.ts";
import { RecentLeaves } from "./commit/recent-leaves.ts";
import type { SlotLeaves } from "./commit/slot-leaves.ts";
import { SpaceGuard } from "./space.ts";
import type { Tip } from "./commit/tip.ts";
import { type Below, type StoreTx, Transaction, type TransactionLimits } from "./transaction.ts";
import type { FailStop } from "./commit/fail-stop.ts";

const MIB = 1024 * 1024;
/** The most that one change may be; an engine may take less. */
const CEILING = { operations: 8192, bytes: 64 * MIB };
/** What may be accepted and not durable yet: beyond it, writers wait their turn. */
const PENDING_BYTES = 64 * MIB;
const PENDING_TRANSACTIONS = 16_384;

export interface WriteOptions {
  /** Takes from the reserve of a nearly full disk: revocations, seals. Default false. */
  readonly essential?: boolean;
  /** Deletes by writing a little: takes from the upper half of that reserve. Default false. */
  readonly deletion?: boolean;
  /** Called at once when the transaction is refused: undoes what its function did outside of it. */
  readonly undo?: () => void;
}

/** The state that a repair may compare and mend: everything accepted, leaves included. */
export interface Mending {
  readonly tip: Tip;
  readonly treeKey: KeyObject;
  value(key: string): Uint8Array | null;
  has(key: string): boolean;
  leaf(slot: number, key: string): Leaf | null;
  keys(range: Range): string[];
  leavesFrom(first: number): SlotLeaves;
}

export type MendedRows = Pick<Accepted, "leaves" | "sums">;
type Rows = Pick<Accepted, "changes" | "leaves" | "sums" | "log" | "head">;
const NOTHING: Omit<Accepted, "sequence"> = {
  changes: new Map(),
  leaves: [],
  sums: new Map(),
  log: [],
  head: null,
  headBytes: null,
  meta: new Map(),
  trimLogBelow: null,
  bytes: 0,
  onDurable: null,
  onConflict: null,
};

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

export interface WritingOptions {
  readonly engine: StorageEngine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly life: Life<Held>;
  readonly trust: FailStop;
  readonly maxEntryBytes: number;
  readonly reserveBytes: number;
  /** A group is durable: called with what changed before its writers are told. */
  readonly durable: (changed: Changed) => void;
}

/** The keys that a group has changed, each with the plain form its last writer gave, or null. */
export type Changed = ReadonlyMap<string, Uint8Array | null>;

export class Writing {
  /** What transactions see; its getDurable is what reads outside of them see. */
  readonly state: AcceptedState;

  readonly #engine: StorageEngine;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #life: Life<Held>;
  readonly #trust: FailStop;
  readonly #durable: (changed: Changed) => void;
  readonly #limits: TransactionLimits;
  readonly #space: SpaceGuard;
  readonly #committer: Committer;
  readonly #pending = new Pending();
  readonly #leaves = new RecentLeaves();
  readonly #below: Below;
  readonly #settling = new DurabilityWaiters();
  readonly #line: AdmissionQueue; // writers that wait for room
  readonly #unwatch: () => void;
  readonly #controls = new ControlReaders();
  #unmended: readonly number[] = []; // slots whose sums wait to be written until the store leads
  #head: heads.Head | null; // durable; null before creation, or when it cannot be read
  #pendingBytes = 0;
  #inside = false; // a transaction's function

  constructor(options: WritingOptions) {
    const { engine, clock, log, life, trust } = options;
    this.#engine = engine;
    this.#clock = clock;
    this.#log = log;
    this.#life = life;
    this.#trust = trust;
    this.#durable = options.durable;
    invariant(options.maxEntryBytes <= 8 * MIB, "a stored value has at most 8 MiB");
    this.#limits = {
      operations: Math.min(engine.limits.operations, CEILING.operations),
      bytes: Math.min(engine.limits.bytes, CEILING.bytes),
      valueBytes: options.maxEntryBytes,
    };
    this.#space = new SpaceGuard(engine, clock, log, options.reserveBytes);
    const headBytes = engine.meta(heads.HEAD_ROW);
    this.#head = readHead(headBytes);
    this.#committer = new Committer(engine, clock, headBytes, {
      encodeHead: (head) => heads.encodeHead(head, this.keyOfTrees()),
      durable: (group) => this.#onDurable(group),
      moved: (group) => life.following && group.every(leavesHead) && this.#takeUp([]),
      failed: (cause) => trust.fail(cause),
    });
    const state = new AcceptedState(engine, this.#pending, log, (slot) => this.#knownSum(slot));
    this.state = state;
    this.#below = {
      // A failed read stops the store even if the transaction's function catches the error.
      get: (key) => trust.orFail(() => state.get(key), EngineError),
      isPending: (key) => state.isPending(key),
      has: (key) =>
        this.#leaves.get(key) !== undefined || trust.orFail(() => state.has(key), EngineError),
      rows: (range) => trust.orFail(() => state.rows(range), EngineError),
      keys: (range) => trust.orFail(() => state.keys(range), EngineError),
    };
    this.#line = new AdmissionQueue(options.timers, () => this.#hasRoom());
    trust.onLost((refusal) => {
      this.#committer.stop();
      this.#settling.refuseAll(refusal);
      this.#line.dissolve();
    });
    // A store that leads is the only writer for as long as it holds the storage: whoever else writes
    // has taken it over, and what we would write next no longer follows.
    this.#unwatch = engine.watch((keys) => this.#onForeignCommit(keys));
  }

  get head(): heads.Head | null {
    return this.#head;
  }

  /** Over what is durable; empty while locked. */
  get trees(): Forest {
    return heldOf(this.#life.state)?.trees ?? new Forest();
  }

  /** The first transaction of a new store: identity, head and whatever `fn` writes, all or nothing. */
  create<T>(treeKey: KeyObject, identity: Identity, fn: (tx: StoreTx) => T): Promise<T> {
    const { tip, meta } = creation(treeKey, identity);
    try {
      const held = { treeKey, unchecked: null, tip, trees: new Forest() };
      this.#life.step({ do: "create", held });
    } catch (error) {
      tip.wipe();
      return Promise.reject(error as Error);
    }
    return this.#attempt(fn, { tip, meta, essential: true, undo: () => this.#abandon(tip) });
  }

  #abandon(created: Tip): void {
    created.wipe();
    this.#life.step({ do: "abandon" });
  }

  /**
   * Checks the head and loads the sums. Sums that no longer add up are recomputed from the leaves
   * if those do. With `repair`, a head that is not authentic is rebuilt from the log's last entry, and
   * a log that does not end at the head is given up: an operator's decision, to be followed by a
   * reindex.
   */
  unlock(treeKey: KeyObject, options: { readonly repair?: boolean } = {}): void {
    const { state, following } = this.#life;
    assertUnlockable(state);
    const repair = options.repair ?? false;
    if (repair && following) throw failures.storeFollowing();
    const opened = this.#trust.read(() => openTip(this.#engine, treeKey, repair));
    const tip = keyed(opened.tip, treeKey, heldOf(state));
    for (const mended of opened.mended) this.#log.error("damage in storage", { mended });
    const held = { treeKey, unchecked: null, tip, trees: opened.durable };
    this.#life.step({ do: "unlock", held });
    this.#head = opened.tip.head;
    if (following) this.#unmended = opened.mendedSums.map(({ slot }) => slot);
    else if (opened.mendedSums.length > 0 || opened.mended.length > 0) this.#pushMended(opened);
  }

  #pushMended({ mendedSums, tip, givenUp }: Opened): void {
    const sums = new Map(mendedSums.map((row) => [row.slot, row]));
    const mended = { ...NOTHING, sums, head: tip.head, sequence: this.#settling.next() };
    if (givenUp === null) return this.#push(mended);
    const meta = new Map([[heads.TAIL_ROW, heads.encodeTail(givenUp.tail)]]);
    this.#push({ ...mended, meta, trimLogBelow: givenUp.below });
  }

  /** Takes nothing more that needs the key of the trees, waits for what was accepted, forgets it. */
  async lock(): Promise<void> {
    const { state } = this.#life;
    if (state.at === "locking") return state.done;
    if (state.at === "absent" || state.at === "locked") return this.#committer.settled();
    if (state.at === "creating") {
      await this.#committer.settled();
      return this.lock();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#life.step({ do: "lock", done: promise });
    await this.#committer.settled();
    heldOf(this.#life.state)?.tip.wipe();
    this.#life.step({ do: "forget" });
    this.#leaves.clear();
    this.#unmended = [];
    resolve();
  }

  /** From now on others write the log. Resolves when what was accepted of our own is durable. */
  follow(): Promise<void> {
    this.#life.change("following");
    return this.#committer.settled();
  }

  /**
   * From now on we write the log, after everything that was applied or that others have written here.
   * They must have stopped, and their last commit must have been announced.
   */
  async lead(): Promise<void> {
    await this.#committer.settled();
    this.#trust.assert();
    if (this.#life.following) this.#takeUp([]);
    this.#life.change("leading");
    const { state } = this.#life;
    const slots = this.#unmended;
    if (state.at === "unlocked" && slots.length > 0) {
      this.#unmended = [];
      const { tip } = state.held;
      const sums = new Map(slots.map((slot) => [slot, tip.sum(slot)]));
      this.#push({ ...NOTHING, sums, head: tip.head, sequence: this.#settling.next() });
    }
    await this.#committer.settled();
  }

  settled(): Promise<void> {
    return this.#committer.settled();
  }

  /** Waits for what was accepted; nothing more is taken once the trust is closed. */
  async close(): Promise<void> {
    this.#unwatch();
    await this.#committer.settled();
  }

  requireTip(): Tip {
    this.#trust.assert();
    const { state } = this.#life;
    if (!isInitialised(state)) throw failures.storeUninitialised();
    if (state.at !== "unlocked") throw failures.storeLocked();
    return state.held.tip;
  }

  keyOfTrees(): KeyObject {
    const treeKey = heldOf(this.#life.state)?.treeKey ?? null;
    invariant(treeKey !== null, "the head moves only while the key of the trees is there");
    return treeKey;
  }

  /**
   * Runs `fn` at once (or when there is room) without anything interleaving; resolves with its
   * result when all it wrote, and all it may have seen, is durable. A throw undoes it; it is told
   * only when what it may have seen is durable.
   */
  write<T>(fn: (tx: StoreTx) => T, options: WriteOptions = {}): Promise<T> {
    const attempt = () => this.#attempt(fn, options);
    // One inside another is refused at once, not when there is room.
    if (this.#inside || (this.#line.isEmpty && this.#hasRoom())) return attempt();
    return this.#line.wait(attempt);
  }

  /**
   * What somebody else has committed: entries that continue the log here, with the same index, time and
   * chain, and the same leaves and sums after them. All of the group or nothing; resolves when it is
   * durable. `head` is the head after the last of them, as it was stored there.
   */
  apply(group: readonly CommittedEntry[], head: Uint8Array | null): Promise<void> {
    const attempt = () =>
      this.#settleAfter(this.#settling.last, () =>
        this.#whenDurable(this.#acceptForeign(group, head)),
      );
    if (this.#inside || (this.#line.isEmpty && this.#hasRoom())) return attempt();
    return this.#line.wait(attempt);
  }

  /** Who reads the control records of a type, when somebody else has made them. */
  onControl(type: number, reader: ControlReader): void {
    this.#controls.on(type, reader);
  }

  /** For repairs of leaves and sums: `fn` compares and mends the tip; its rows are committed. */
  mend(fn: (mending: Mending) => MendedRows | null): Promise<void> {
    return this.#settleAfter(this.#settling.last, () => {
      const mending = this.#mending(this.requireTip());
      assertLeads(this.#life.state, this.#life.role);
      this.#leaves.clear();
      // A throw in between would leave the tip half mended.
      const rows = this.#trust.orFail(() => fn(mending));
      if (rows === null) return this.#whenDurable(this.#settling.last);
      const sequence = this.#settling.next();
      let bytes = 0;
      for (const { slot, key, leaf } of rows.leaves) {
        bytes += 2 * Buffer.byteLength(key) + 128;
        // A leaf that lies where its key does not belong says nothing about the key.
        if (!belongs(slot, key)) continue;
        this.#pending.put(key, { value: mending.value(key), leaf, sequence });
      }
      this.#push({ ...NOTHING, ...rows, head: mending.tip.head, bytes, sequence });
      return this.#whenDurable(sequence);
    });
  }

  #mending(tip: Tip): Mending {
    const { state } = this;
    return {
      tip,
      treeKey: this.keyOfTrees(),
      value: (key) => state.value(key),
      has: (key) => state.hasValue(key),
      leaf: (slot, key) => state.leaf(slot, key),
      keys: (range) => state.keys(range),
      leavesFrom: (first) => state.leavesFrom(first),
    };
  }

  /** Removes log entries below `tail.first`, which becomes the tail, in one transaction. */
  trim(tail: heads.Tail): Promise<void> {
    return this.#settleAfter(this.#settling.last, () => {
      this.#trust.assert();
      const now = this.#trust.read(() => this.#engine.meta(heads.TAIL_ROW));
      const first = now === null ? 0n : heads.decodeTail(now).first;
      invariant(tail.first >= first, "the tail of the log never goes back");
      const sequence = this.#settling.next();
      const meta = new Map([[heads.TAIL_ROW, heads.encodeTail(tail)]]);
      this.#push({ ...NOTHING, meta, trimLogBelow: tail.first, sequence });
      return this.#whenDurable(sequence);
    });
  }

  #attempt<T>(fn: (tx: StoreTx) => T, how: How): Promise<T> {
    return this.#settleAfter(this.#settling.last, () => {
      let accepted: { result: T; sequence: number };
      try {
        accepted = this.#accept(fn, how);
      } catch (error) {
        how.undo?.();
        throw error;
      }
      return this.#whenDurable(accepted.sequence).then(() => accepted.result);
    });
  }

  /** Runs the function and takes over what it wrote; a throw anywhere in here changes nothing. */
  #accept<T>(fn: (tx: StoreTx) => T, how: How): { result: T; sequence: number } {
    this.#trust.assert();
    invariant(!this.#inside, "a transaction cannot begin inside another");
    const { state, following } = this.#life;
    if (state.at === "creating" && how.tip === undefined) throw failures.storeUninitialised();
    const tip = how.tip ?? (state.at === "unlocked" && !following ? state.held.tip : null);
    const index = (tip?.head.index ?? this.#head?.index ?? 0n) + 1n;
    const tx = new Transaction(this.#below, index, this.#clock.now(), this.#limits);
    const result = this.#run(fn, tx);
    this.#trust.assert(); // a read inside may have failed
    const { changes, control, bytes } = tx.finish();
    if (changes.size === 0 && control === null && how.meta === undefined) {
      return { result, sequence: this.#settling.last };
    }
    if (!how.essential) {
      const { deletion = false } = how;
      this.#space.check(changes.values(), { bytes, pendingBytes: this.#pendingBytes, deletion });
    }
    let rows: Rows;
    if (tip === null) {
      const ignored = [...changes.keys()].every((key) => classOf(key) === "ignored");
      if (!ignored || control !== null) assertLeads(state, this.#life.role);
      rows = { ...NOTHING, changes };
    } else {
      const leafBefore = (slot: number, key: string) =>
        this.#leaves.get(key) ?? this.state.leaf(slot, key);
      const made = this.#trust.orFail(() => tip.accept(changes, control, tx.time, leafBefore));
      const moves = made.log !== null || how.meta !== undefined;
      const log = made.log === null ? NOTHING.log : [made.log];
      rows = { ...made, changes, log, head: moves ? made.head : null };
    }
    const sequence = this.#settling.next();
    // Leaves are in the order of the changes; what is ignored has none.
    let at = 0;
    for (const [key, { value }] of changes) {
      const leaf = rows.leaves[at]?.key === key ? rows.leaves[at++]!.leaf : null;
      this.#pending.put(key, { value, leaf, sequence });
    }
    invariant(at === rows.leaves.length, "a leaf of no change");
    this.#leaves.accepted(rows.leaves);
    const accepted = { ...NOTHING, ...rows, meta: how.meta ?? NOTHING.meta, bytes, sequence };
    if (how.meta === undefined) this.#push(accepted);
    else {
      const onDurable = () => this.#life.step({ do: "created" });
      this.#push({ ...accepted, onDurable, onConflict: () => this.#onTaken(accepted) });
    }
    return { result, sequence };
  }

  /** Checks a group and takes it over; a throw anywhere in here changes nothing. */
  #acceptForeign(group: readonly CommittedEntry[], sent: Uint8Array | null): number {
    this.#trust.assert();
    invariant(!this.#inside, "nothing is applied inside a transaction");
    if (!this.#life.following) throw failures.storeLeading();
    const held = this.#followingState();
    const { tip, treeKey } = held;
    const entries = this.#trust.read(() => readGroup(group, tip.head, this.#engine));
    if (entries.length === 0) return this.#settling.last;
    const { changes, bytes } = changesOf(entries);
    const { operations, bytes: most } = this.#limits;
    const takes: (() => void)[] = [];
    for (const { entry } of entries) {
      const take = this.#controls.read(entry);
      if (take === null) continue;
      takes.push(take);
      changes.set(...unreadRow(entry.index, entry.control!));
    }
    if (changes.size > operations || bytes > most) throw failures.groupTooLarge(operations, most);
    const asked = { bytes, pendingBytes: this.#pendingBytes, deletion: false };
    this.#space.check(changes.values(), asked);
    let headBytes: Uint8Array | null = null;
    const rows = tip.apply(
      entries,
      (slot, key) =>
        this.#leaves.get(key) ?? this.#trust.orFail(() => this.state.leaf(slot, key), EngineError),
      (made) => (headBytes = agreedHead(made, sent, treeKey)),
    );
    if (treeKey === null) this.#life.step({ do: "load", held: { ...held, unchecked: headBytes } });
    const sequence = this.#settling.next();
    const leaves = new Map(rows.leaves.map(({ key, leaf }) => [key, leaf]));
    for (const [key, { value }] of changes) {
      this.#pending.put(key, { value, leaf: leaves.get(key) ?? null, sequence });
    }
    this.#leaves.accepted(rows.leaves);
    const onDurable = () => takes.forEach((take) => take());
    this.#push({ ...NOTHING, ...rows, changes, headBytes, bytes, sequence, onDurable });
    return sequence;
  }

  /** Position and sums of a store that follows. While it is locked they are read when first needed. */
  #followingState(): Held {
    const { state } = this.#life;
    if (!isInitialised(state)) throw failures.storeUninitialised();
    if (state.at === "locking") throw failures.storeLocked(); // for a moment
    const known = heldOf(state);
    if (known !== null) return known;
    const { tip, durable } = this.#trust.read(() => openCopy(this.#engine));
    const held = { treeKey: null, unchecked: null, tip, trees: durable };
    this.#life.step({ do: "load", held });
    return held;
  }

  #run<T>(fn: (tx: StoreTx) => T, tx: Transaction): T {
    this.#inside = true;
    try {
      const result = fn(tx);
      const thenable = typeof result === "object" && result !== null && "then" in result;
      invariant(!thenable, "a transaction's function is synchronous");
      return result;
    } catch (error) {
      tx.abandon();
      throw error;
    } finally {
      this.#inside = false;
    }
  }

  /** Runs now; a throw is told only after what was seen is durable, since it may tell of it. */
  async #settleAfter<T>(seen: number, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof EngineError) this.#trust.fail(error);
      await this.#whenDurable(seen);
      throw error;
    }
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

  #push(accepted: Accepted): void {
    this.#pendingBytes += accepted.bytes;
    this.#committer.push(accepted);
  }

  #hasRoom(): boolean {
    if (!this.#trust.holds) return true; // to be refused
    return this.#pendingBytes < PENDING_BYTES && this.#settling.pending < PENDING_TRANSACTIONS;
  }

  #onDurable(group: readonly Accepted[]): void {
    const changed = new Map<string, Uint8Array | null>();
    const trees = heldOf(this.#life.state)?.trees;
    for (const accepted of group) {
      this.#pendingBytes -= accepted.bytes;
      for (const [key, { plain }] of accepted.changes) {
        changed.set(key, plain);
        this.#pending.settle(key, accepted.sequence);
      }
      for (const { key } of accepted.leaves) this.#pending.settle(key, accepted.sequence);
      for (const row of accepted.sums.values()) trees?.of(row.slot).set(row);
      if (accepted.head !== null) this.#head = accepted.head;
      accepted.onDurable?.();
    }
    this.#settling.reach(group.at(-1)!.sequence);
    // Caches first, then whoever waits for a change, then the answers.
    this.#durable(changed);
    for (const { sequence } of group) this.#settling.tell(sequence);
    this.#line.drain();
  }

  /** Another node has created the store first. */
  #onTaken({ sequence, changes, bytes }: Pick<Accepted, "sequence" | "changes" | "bytes">): void {
    this.#pendingBytes -= bytes;
    for (const key of changes.keys()) this.#pending.settle(key, sequence);
    this.#leaves.clear();
    this.#settling.reach(sequence);
    heldOf(this.#life.state)?.tip.wipe();
    this.#life.step({ do: "abandon" });
    this.#adoptHead();
    this.#settling.refuse(sequence, failures.alreadyInitialised());
    this.#line.drain();
  }

  #onForeignCommit(keys: readonly string[]): void {
    const { at } = this.#life.state;
    if (at === "lost" || at === "closed" || at === "creating") return; // a conflict tells creation
    if (this.#life.following) {
      this.#takeUp(keys);
    } else if (at === "unlocked" || at === "locking" || this.#settling.pending > 0) {
      this.#trust.fail(new EngineError("another writer has changed the storage"));
    } else {
      this.#leaves.clear();
      this.#committer.follow(this.#adoptHead());
    }
  }

  /**
   * What others have written to our own storage, while we follow: the log says what changed, `keys` what
   * of class ignored did. It is told as our own commits are. False, and the end, when the log there does
   * not continue the one we know.
   */
  #takeUp(keys: readonly string[]): boolean {
    try {
      const changed = new Map<string, Uint8Array | null>(keys.map((key) => [key, null]));
      const bytes = this.#engine.meta(heads.HEAD_ROW);
      const known = this.#committer.headBytes;
      if (bytes === null && known !== null) throw new EngineError("the head has vanished");
      const moved = bytes !== null && (known === null || !equalBytes(bytes, known));
      const takes = moved ? this.#moveTo(bytes, changed) : [];
      for (const take of takes) take();
      if (changed.size > 0) this.#durable(changed);
      return true;
    } catch (error) {
      this.#trust.fail(error);
      return false;
    }
  }

  #moveTo(bytes: Uint8Array, changed: Map<string, Uint8Array | null>): (() => void)[] {
    const takes: (() => void)[] = [];
    const before = this.#head;
    const head = heads.decodeHead(bytes);
    const slots = new Set<number>();
    if (before === null) this.#life.step({ do: "find" });
    else {
      const own = heldOf(this.#life.state)?.tip.head.index ?? before.index;
      if (own !== before.index) throw new EngineError("another writer has changed the storage");
      for (const entry of entriesBetween(this.#engine, before, head)) {
        for (const { class: cls, key } of entry.operations) {
          changed.set(key, null);
          slots.add(slotOf(cls, key)!);
        }
        const take = this.#controls.read(entry);
        if (take !== null) takes.push(take);
      }
    }
    this.#leaves.clear();
    this.#followTrees(head, bytes, slots);
    this.#head = head;
    this.#committer.follow(bytes);
    return takes;
  }

  #followTrees(head: heads.Head, bytes: Uint8Array, slots: ReadonlySet<number>): void {
    const { state } = this.#life;
    if (state.at === "locked") return this.#life.step({ do: "load", held: null });
    if (state.at !== "unlocked") return;
    const { tip, trees } = state.held;
    const treeKey = this.keyOfTrees();
    if (!heads.headIsAuthentic(bytes, treeKey))
      throw failures.headDamaged("its MAC does not match");
    const rows = Array.from(slots, (slot) => this.#engine.sums(slot, 1))
      .flat()
      .filter((row) => slots.has(row.slot) && isSumRow(row));
    for (const row of rows) trees.of(row.slot).set(row);
    if (tip.follow(head, rows)) return;
    // A repair changes sums that no entry names.
    tip.wipe();
    const opened = openTip(this.#engine, treeKey, false);
    const held = { treeKey, unchecked: null, tip: opened.tip, trees: opened.durable };
    this.#life.step({ do: "load", held });
  }

  /** Another node has created or moved the head while we wrote nothing. */
  #adoptHead(): Uint8Array | null {
    const bytes = this.#trust.read(() => this.#engine.meta(heads.HEAD_ROW));
    if (this.#trust.read(() => hasBegun(this.#engine))) this.#life.step({ do: "find" });
    this.#head = readHead(bytes);
    return bytes;
  }

  #whenDurable(sequence: number): Promise<void> {
    this.#trust.assertNotFailed();
    return this.#settling.when(sequence);
  }
}

/** How a transaction is taken; those with rows of their own (`tip`, `meta`) create the store. */
interface How extends WriteOptions {
  readonly tip?: Tip;
  readonly meta?: ReadonlyMap<string, Uint8Array>;
}

/** The tip of a store that is unlocked: what it has applied while it was locked, and is still on its way to
 *  the disk, comes after what is stored. */
function keyed(stored: Tip, treeKey: KeyObject, before: Held | null): Tip {
  if (before === null || before.tip.head.index <= stored.head.index) return stored;
  const { tip, unchecked } = before;
  if (unchecked !== null && !heads.headIsAuthentic(unchecked, treeKey)) {
    throw failures.headDamaged("its MAC does not match");
  }
  stored.wipe();
  return tip.withKey(treeKey);
}

function belongs(slot: number, key: string): boolean {
  return hasClass(key) && slotOf(classOf(key), key) === slot;
}
