// The writing half of the store: creates it, unlocks and locks it, and takes transactions. What is taken
// becomes durable in commit/acceptance.ts; what others write comes by following/; whether anything is
// taken at all is the business of life.ts; the reading half is store.ts.

import type { KeyObject } from "node:crypto";
import type { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Timers } from "@holdfast/shared/world";
import {
  Acceptance,
  type AcceptanceOptions,
  type Held,
  NOTHING,
  timelineRow,
} from "./commit/acceptance.ts";
import type { AcceptedState } from "./commit/accepted-state.ts";
import type { Accepted } from "./commit/committer.ts";
import type { FailStop } from "./commit/fail-stop.ts";
import { Slices } from "./commit/slices.ts";
import type { SlotLeaves } from "./commit/slot-leaves.ts";
import type { Tip } from "./commit/tip.ts";
import {
  EngineError,
  type Leaf,
  type Limits,
  type Range,
  type StorageEngine,
} from "./engines/engine.ts";
import * as failures from "./failures.ts";
import { Adopting } from "./following/adopting.ts";
import type { ControlReader } from "./following/control-records.ts";
import { Following } from "./following/following.ts";
import type { CommittedEntry } from "./following/foreign-entries.ts";
import { hashLeaves } from "./generations/unhashed.ts";
import { classOf, hasClass } from "./key.ts";
import { assertUnlockable, heldOf, isInitialised, type Life } from "./life.ts";
import {
  creation,
  type Identity,
  type Opened,
  openTip,
  type ReadSums,
  readSums,
} from "./opening.ts";
import { epochStart, withEpoch } from "./rows/epoch.ts";
import * as heads from "./rows/head.ts";
import { Forest, slotOf } from "./rows/merkle.ts";
import {
  ENTRY_BYTES,
  sizeOf,
  type StoreTx,
  Transaction,
  type TransactionLimits,
} from "./transaction.ts";

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

/** With `changes` where rows come back that were lost. */
export type MendedRows = Pick<Accepted, "leaves" | "sums"> &
  Partial<Pick<Accepted, "meta" | "changes">>;
type Rows = Pick<Accepted, "changes" | "leaves" | "sums" | "log" | "head">;
export type WritingOptions = Omit<AcceptanceOptions, "moved">;

export class Writing {
  /** What transactions see; its getDurable is what reads outside of them see. */
  readonly state: AcceptedState;
  /** What is half taken over from another cluster. */
  readonly adopting: Adopting;

  readonly #engine: StorageEngine;
  readonly #clock: Clock;
  readonly #world: { readonly clock: Clock; readonly timers: Timers };
  readonly #log: Log;
  readonly #life: Life<Held>;
  readonly #failStop: FailStop;
  readonly #acceptance: Acceptance;
  readonly #following: Following;
  readonly #unwatch: () => void;
  #unmended: readonly number[] = []; // slots whose sums wait to be written until the store leads
  #inside = false; // a transaction's function
  #hashing = false; // the storage is used by hashLeaves alone
  #readAhead: ReadSums | null = null; // for the next unlock
  #bytesElsewhere: () => number | null = () => null; // what others take at once

  constructor(options: WritingOptions) {
    const { engine, clock, timers, log, life, failStop, durable } = options;
    this.#engine = engine;
    this.#clock = clock;
    this.#world = { clock, timers };
    this.#log = log;
    this.#life = life;
    this.#failStop = failStop;
    const acceptance = new Acceptance({ ...options, moved: () => following.takeUp([]) });
    const adopting = new Adopting({ engine, life, failStop, acceptance });
    const following = new Following({ engine, life, failStop, acceptance, adopting, durable });
    this.#acceptance = acceptance;
    this.#following = following;
    this.adopting = adopting;
    this.state = acceptance.state;
    this.#unwatch = engine.watch((keys) => following.onForeignCommit(keys));
  }

  get head(): heads.Head | null {
    return this.#acceptance.head;
  }

  /** As it was last known to be stored. */
  get headBytes(): Uint8Array | null {
    return this.#acceptance.headBytes;
  }

  get limits(): Limits {
    return this.#acceptance.limits;
  }

  /** In bytes; null where only the storage here bounds it. */
  takeAtMost(bytes: () => number | null): void {
    this.#bytesElsewhere = bytes;
  }

  #ownLimits(): TransactionLimits {
    const { limits } = this.#acceptance;
    const bytes = this.#bytesElsewhere() ?? limits.bytes;
    return bytes < limits.bytes ? { ...limits, bytes } : limits;
  }

  /** Over what is durable; empty while locked. */
  get trees(): Forest {
    return this.#acceptance.trees;
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
    if (this.#acceptance.head === null) this.adopting.assertWhole(); // it is still being filled
    const ahead = this.#readAhead;
    this.#readAhead = null;
    const opened = this.#failStop.read(() => openTip(this.#engine, treeKey, repair, ahead));
    const tip = keyed(opened.tip, treeKey, heldOf(state));
    for (const mended of opened.mended) this.#log.error("damage in storage", { mended });
    const held = { treeKey, unchecked: null, tip, trees: opened.durable };
    this.#life.step({ do: "unlock", held });
    this.#acceptance.openedAt(opened.tip.head);
    if (following) this.#unmended = opened.mendedSums.map(({ slot }) => slot);
    else if (opened.mendedSums.length > 0 || opened.mended.length > 0) this.#pushMended(opened);
  }

  /** Reads what unlocking needs, so that it holds nobody up. It reads it itself where this was not called. */
  async readSums(): Promise<void> {
    try {
      this.#readAhead = await readSums(this.#engine, new Slices(this.#world));
    } catch (error) {
      if (error instanceof EngineError) this.#failStop.fail(error);
      throw error;
    }
  }

  /** Of a store that was filled without its keys: has its leaves hashed, so that it can be unlocked. */
  async complete(treeKey: KeyObject): Promise<void> {
    await this.#acceptance.settled();
    assertUnlockable(this.#life.state);
    invariant(!this.#hashing, "the leaves are being hashed already");
    this.#hashing = true;
    try {
      await hashLeaves(this.#engine, treeKey, this.#world);
      this.#acceptance.follow(...this.#headNow());
    } catch (error) {
      if (error instanceof EngineError) this.#failStop.fail(error);
      throw error;
    } finally {
      this.#hashing = false;
    }
  }

  #headNow(): [heads.Head | null, Uint8Array | null] {
    const bytes = this.#acceptance.adoptHead();
    return [this.#acceptance.head, bytes];
  }

  #pushMended({ mendedSums, tip, abandoned }: Opened): void {
    const sums = new Map(mendedSums.map((row) => [row.slot, row]));
    const mended = { ...NOTHING, sums, head: tip.head, sequence: this.#acceptance.waiters.next() };
    if (abandoned === null) return this.#acceptance.push(mended);
    const meta = new Map([[heads.TAIL_ROW, heads.encodeTail(abandoned.tail)]]);
    this.#acceptance.push({ ...mended, meta, trimLogBelow: abandoned.below });
  }

  /** Takes nothing more that needs the key of the trees, waits for what was accepted, forgets it. */
  async lock(): Promise<void> {
    const { state } = this.#life;
    if (state.at === "locking") return state.done;
    if (state.at === "absent" || state.at === "locked") return this.#acceptance.settled();
    if (state.at === "creating") {
      await this.#acceptance.settled();
      return this.lock();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#life.step({ do: "lock", done: promise });
    await this.#acceptance.settled();
    heldOf(this.#life.state)?.tip.wipe();
    this.#life.step({ do: "forget" });
    this.#acceptance.leaves.clear();
    this.#unmended = [];
    resolve();
  }

  /** From now on others write the log. Resolves when what was accepted of our own is durable. */
  follow(refused?: () => Failure): Promise<void> {
    this.#life.change("following", refused);
    return this.#acceptance.settled();
  }

  /**
   * From now on we write the log, after everything that was applied or that others have written here.
   * They must have stopped, and their last commit must have been announced.
   */
  async lead(): Promise<void> {
    await this.#acceptance.settled();
    this.#failStop.assert();
    if (this.#life.following) this.#following.takeUp([]);
    this.adopting.reread(); // others may have begun to take something over
    this.adopting.assertWhole();
    this.#life.change("leading");
    const { state } = this.#life;
    const slots = this.#unmended;
    if (state.at === "unlocked" && slots.length > 0) {
      this.#unmended = [];
      const { tip } = state.held;
      const sums = new Map(slots.map((slot) => [slot, tip.sum(slot)]));
      this.#acceptance.push({
        ...NOTHING,
        sums,
        head: tip.head,
        sequence: this.#acceptance.waiters.next(),
      });
    }
    await this.#acceptance.settled();
  }

  settled(): Promise<void> {
    return this.#acceptance.settled();
  }

  /** Waits for what was accepted; nothing more is taken once the life is over. */
  async close(): Promise<void> {
    this.#unwatch();
    await this.#acceptance.settled();
  }

  requireTip(): Tip {
    this.#failStop.assert();
    const { state } = this.#life;
    if (!isInitialised(state)) throw failures.storeUninitialised();
    if (state.at !== "unlocked") throw failures.storeLocked();
    return state.held.tip;
  }

  keyOfTrees(): KeyObject {
    return this.#acceptance.keyOfTrees();
  }

  /**
   * Runs `fn` at once (or when there is room) without anything interleaving; resolves with its
   * result when all it wrote, and all it may have seen, is durable. A throw undoes it; it is told
   * only when what it may have seen is durable.
   */
  write<T>(fn: (tx: StoreTx) => T, options: WriteOptions = {}): Promise<T> {
    // One inside another is refused at once, not when there is room.
    return this.#acceptance.admit(() => this.#attempt(fn, options), this.#inside);
  }

  /** The same for what the cluster that writes shared rows has written. */
  writeApplied<T>(fn: (tx: StoreTx) => T, options: WriteOptions = {}): Promise<T> {
    const how = { ...options, applies: true };
    return this.#acceptance.admit(() => this.#attempt(fn, how), this.#inside);
  }

  /** Whether another cluster writes what is shared: then nobody here does. */
  leaveShared(left: boolean): void {
    const refused = (key: string) => {
      const event = "storage.shared-write-refused";
      const message = "shared data was to be written where another cluster writes it";
      this.#log.error(message, { event, kind: kindOf(key) });
      return failures.sharedElsewhere();
    };
    this.#life.leaveShared(left ? refused : null);
  }

  /**
   * What somebody else has committed: entries that continue the log here, with the same index, time and
   * chain, and the same leaves and sums after them. All of the group or nothing; resolves when it is
   * durable. `head` is the head after the last of them, as it was stored there.
   */
  apply(group: readonly CommittedEntry[], head: Uint8Array | null): Promise<void> {
    return this.#takeOver(() => this.#following.accept(group, head));
  }

  /** Rows of another cluster without entries: `run` takes them over. Resolves when that is durable. */
  adopt(run: (adopting: Adopting) => number): Promise<void> {
    return this.#takeOver(() => run(this.adopting));
  }

  #takeOver(accept: () => number): Promise<void> {
    const acceptance = this.#acceptance;
    const attempt = () =>
      acceptance.settleAfter(acceptance.waiters.last, () => {
        this.#failStop.assert();
        invariant(!this.#inside, "nothing is applied inside a transaction");
        return acceptance.whenDurable(accept());
      });
    return acceptance.admit(attempt, this.#inside);
  }

  /**
   * Another cluster writes the log from here on: its first entry, the head after it and the row of the timeline
   * in one transaction. Whatever was accepted before is of the epoch before.
   */
  startEpoch(cluster: string): Promise<void> {
    const acceptance = this.#acceptance;
    return acceptance.settleAfter(acceptance.waiters.last, () => {
      const tip = this.requireTip();
      this.#life.assertLeads();
      invariant(!this.#inside, "no epoch starts inside a transaction");
      const control = epochStart(cluster);
      const timeline = withEpoch(acceptance.timelineAt(tip.head), tip.head, cluster);
      const { log, head } = tip.startEpoch(control, this.#clock.now());
      const sequence = acceptance.waiters.next();
      const meta = timelineRow(timeline);
      acceptance.push({
        ...NOTHING,
        log: [log],
        head,
        meta,
        bytes: ENTRY_BYTES + log.entry.length,
        sequence,
      });
      return acceptance.whenDurable(sequence);
    });
  }

  /** The next entry has the index behind this one, and the log begins with it. */
  skipTo(index: bigint): Promise<void> {
    const acceptance = this.#acceptance;
    return acceptance.settleAfter(acceptance.waiters.last, () => {
      const tip = this.requireTip();
      this.#life.assertLeads();
      if (tip.head.index >= index) return acceptance.whenDurable(acceptance.waiters.last);
      const head = tip.skipTo(index);
      const { chain: chainBefore, logBytes: logBytesBefore } = head;
      const tail = heads.encodeTail({ first: index + 1n, chainBefore, logBytesBefore });
      const meta = new Map([[heads.TAIL_ROW, tail]]);
      const sequence = acceptance.waiters.next();
      acceptance.push({ ...NOTHING, head, meta, trimLogBelow: index + 1n, sequence });
      return acceptance.whenDurable(sequence);
    });
  }

  /** Who reads the control records of a type, when somebody else has made them. */
  onControl(type: number, reader: ControlReader): void {
    this.#following.onControl(type, reader);
  }

  /** For repairs of leaves and sums: `fn` compares and mends the tip; its rows are committed. */
  mend(fn: (mending: Mending) => MendedRows | null, following = false): Promise<void> {
    return this.#acceptance.settleAfter(this.#acceptance.waiters.last, () => {
      const mending = this.#mending(this.requireTip());
      if (!following) this.#life.assertLeads();
      this.#acceptance.leaves.clear();
      // A throw in between would leave the tip half mended.
      const rows = this.#failStop.orFail(() => fn(mending));
      if (rows === null) return this.#acceptance.whenDurable(this.#acceptance.waiters.last);
      invariant(!rows.meta?.has(heads.TIMELINE_ROW), "no repair changes the timeline");
      const { changes = NOTHING.changes } = rows;
      const mended = new Set(rows.leaves.map(({ key }) => key));
      invariant(
        changes.keys().every((key) => mended.has(key)),
        "a row comes back with its leaf",
      );
      const sequence = this.#acceptance.waiters.next();
      let bytes = 0;
      for (const { slot, key, leaf } of rows.leaves) {
        bytes += 2 * Buffer.byteLength(key) + 128;
        // A leaf that lies where its key does not belong says nothing about the key.
        if (!belongs(slot, key)) continue;
        const change = changes.get(key);
        const value = change === undefined ? mending.value(key) : change.value;
        this.#acceptance.pending.put(key, { value, leaf, sequence });
      }
      for (const [key, change] of changes) bytes += sizeOf(key, change);
      const foreign = changes.size > 0; // what is kept in memory of them may be wrong
      const { head } = mending.tip;
      this.#acceptance.push({ ...NOTHING, ...rows, foreign, head, bytes, sequence });
      return this.#acceptance.whenDurable(sequence);
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

  /** Removes log entries below `tail.first`, which becomes the tail, in one transaction. `mayBeHalf`: the log of
   *  a store that is half taken over goes, because that ends now. */
  trim(tail: heads.Tail, mayBeHalf = false): Promise<void> {
    return this.#acceptance.settleAfter(this.#acceptance.waiters.last, () => {
      this.#failStop.assert();
      if (!mayBeHalf) this.adopting.assertWhole();
      const bytes = this.#acceptance.meta(heads.TAIL_ROW);
      const accepted = bytes === null ? null : heads.decodeTail(bytes);
      // Whoever asks has seen what is durable, and another one may have gone further since: the tail never goes back.
      const next = accepted !== null && accepted.first > tail.first ? accepted : tail;
      const sequence = this.#acceptance.waiters.next();
      const meta = new Map([[heads.TAIL_ROW, heads.encodeTail(next)]]);
      this.#acceptance.push({ ...NOTHING, meta, trimLogBelow: next.first, sequence });
      return this.#acceptance.whenDurable(sequence);
    });
  }

  #attempt<T>(fn: (tx: StoreTx) => T, how: How): Promise<T> {
    return this.#acceptance.settleAfter(this.#acceptance.waiters.last, () => {
      let accepted: { result: T; sequence: number };
      try {
        accepted = this.#accept(fn, how);
      } catch (error) {
        how.undo?.();
        throw error;
      }
      return this.#acceptance.whenDurable(accepted.sequence).then(() => accepted.result);
    });
  }

  /** Runs the function and takes over what it wrote; a throw anywhere in here changes nothing. */
  #accept<T>(fn: (tx: StoreTx) => T, how: How): { result: T; sequence: number } {
    this.#failStop.assert();
    if (this.#hashing) throw failures.storeLocked();
    invariant(!this.#inside, "a transaction cannot begin inside another");
    const { state, following } = this.#life;
    if (state.at === "creating" && how.tip === undefined) throw failures.storeUninitialised();
    const tip = how.tip ?? (state.at === "unlocked" && !following ? state.held.tip : null);
    const index = (tip?.head.index ?? this.#acceptance.head?.index ?? 0n) + 1n;
    const tx = new Transaction(this.#acceptance.below, index, this.#clock.now(), this.#ownLimits());
    const result = this.#run(fn, tx);
    this.#failStop.assert(); // a read inside may have failed
    const { changes, control, bytes } = tx.finish();
    if (changes.size === 0 && control === null && how.meta === undefined) {
      return { result, sequence: this.#acceptance.waiters.last };
    }
    if (!how.essential) {
      const { deletion = false } = how;
      this.#acceptance.space.check(changes.values(), {
        bytes,
        pendingBytes: this.#acceptance.pendingBytes,
        deletion,
      });
    }
    const { applies = false } = how;
    this.#life.assertTakes(changes.keys(), { control: control !== null, applies });
    let rows: Rows;
    if (tip === null) {
      rows = { ...NOTHING, changes };
    } else {
      const leafBefore = (slot: number, key: string) => this.#acceptance.leaf(slot, key);
      const made = this.#failStop.orFail(() => tip.accept(changes, control, tx.time, leafBefore));
      const moves = made.log !== null || how.meta !== undefined;
      const log = made.log === null ? NOTHING.log : [made.log];
      rows = { ...made, changes, log, head: moves ? made.head : null };
    }
    const sequence = this.#acceptance.waiters.next();
    // Leaves are in the order of the changes; what is ignored has none.
    let at = 0;
    for (const [key, { value }] of changes) {
      const leaf = rows.leaves[at]?.key === key ? rows.leaves[at++]!.leaf : null;
      this.#acceptance.pending.put(key, { value, leaf, sequence });
    }
    invariant(at === rows.leaves.length, "a leaf of no change");
    this.#acceptance.leaves.accepted(rows.leaves);
    const { meta = NOTHING.meta } = how;
    const accepted = { ...NOTHING, ...rows, foreign: applies, meta, bytes, sequence };
    if (how.meta === undefined) this.#acceptance.push(accepted);
    else {
      const onDurable = () => this.#life.step({ do: "created" });
      this.#acceptance.push({
        ...accepted,
        onDurable,
        onConflict: () => this.#acceptance.withdraw(accepted, failures.alreadyInitialised()),
      });
    }
    return { result, sequence };
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
}

/** How a transaction is taken; those with rows of their own (`tip`, `meta`) create the store. */
interface How extends WriteOptions {
  /** Another cluster has written what is shared. */
  readonly applies?: boolean;
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

/** Of what a key is: without what it is called. */
function kindOf(key: string): string {
  const parts = key.split("/");
  return parts.slice(0, parts[1] === "ns" ? 4 : 2).join("/");
}

function belongs(slot: number, key: string): boolean {
  return hasClass(key) && slotOf(classOf(key), key) === slot;
}
