// The following half of the store: what somebody else has committed, handed over as log entries or found in
// a storage that is theirs too. It is checked, taken over whole or not at all, and told as own commits are.

import { equalBytes } from "@holdfast/shared/bytes";
import { type Acceptance, type Held, type OnDurable, timelineRow } from "../commit/acceptance.ts";
import type { FailStop } from "../commit/fail-stop.ts";
import { EngineError, type StorageEngine } from "../engines/engine.ts";
import * as failures from "../failures.ts";
import { heldOf, isInitialised, type Life } from "../life.ts";
import { openCopy, openTip } from "../opening.ts";
import * as heads from "../rows/head.ts";
import { isSumRow, slotOf } from "../rows/merkle.ts";
import type { Adopting } from "./adopting.ts";
import { type ControlReader, ControlReaders, unreadRow } from "./control-records.ts";
import {
  agreedHead,
  changesOf,
  type CommittedEntry,
  entriesBetween,
  readGroup,
  timelineAfter,
} from "./foreign-entries.ts";

export interface FollowingOptions {
  readonly engine: StorageEngine;
  readonly life: Life<Held>;
  readonly failStop: FailStop;
  readonly acceptance: Acceptance;
  readonly adopting: Adopting;
  /** Told what others have changed, as after an own commit. */
  readonly durable: OnDurable;
}

export class Following {
  readonly #engine: StorageEngine;
  readonly #life: Life<Held>;
  readonly #failStop: FailStop;
  readonly #acceptance: Acceptance;
  readonly #adopting: Adopting;
  readonly #durable: OnDurable;
  readonly #controls = new ControlReaders();

  constructor(options: FollowingOptions) {
    this.#engine = options.engine;
    this.#life = options.life;
    this.#failStop = options.failStop;
    this.#acceptance = options.acceptance;
    this.#adopting = options.adopting;
    this.#durable = options.durable;
  }

  /** Who reads the control records of a type, when somebody else has made them. */
  onControl(type: number, reader: ControlReader): void {
    this.#controls.on(type, reader);
  }

  /** Checks a group and takes it over; a throw anywhere in here changes nothing. */
  accept(group: readonly CommittedEntry[], sent: Uint8Array | null): number {
    const acceptance = this.#acceptance;
    const { leaves, limits, space, state, waiters, pendingBytes } = acceptance;
    if (!this.#life.following) throw failures.storeLeading();
    this.#adopting.assertWhole();
    const held = this.#held();
    const { tip, treeKey } = held;
    const entries = this.#failStop.read(() => readGroup(group, tip.head, this.#engine));
    if (entries.length === 0) return waiters.last;
    const { changes, bytes } = changesOf(entries);
    const takes: (() => void)[] = [];
    for (const { entry } of entries) {
      const take = this.#controls.read(entry);
      if (take === null) continue;
      takes.push(take);
      changes.set(...unreadRow(entry.index, entry.control!));
    }
    if (changes.size > limits.operations || bytes > limits.bytes) {
      throw failures.groupTooLarge(limits.operations, limits.bytes);
    }
    space.check(changes.values(), { bytes, pendingBytes, deletion: false });
    const timeline = timelineAfter(entries, tip.head, () => acceptance.timelineAt(tip.head));
    let headBytes: Uint8Array | null = null;
    const rows = tip.apply(
      entries,
      (slot, key) =>
        leaves.get(key) ?? this.#failStop.orFail(() => state.leaf(slot, key), EngineError),
      (made) => (headBytes = agreedHead(made, sent, treeKey)),
    );
    if (treeKey === null) this.#life.step({ do: "load", held: { ...held, unchecked: headBytes } });
    return acceptance.pushForeign(changes, {
      ...rows,
      meta: timelineRow(timeline),
      headBytes,
      bytes,
      onDurable: () => takes.forEach((take) => take()),
    });
  }

  /** Another commit was seen in our storage: while we follow it is what we wait for, otherwise the end. */
  onForeignCommit(keys: readonly string[]): void {
    const { at } = this.#life.state;
    if (at === "lost" || at === "closed" || at === "creating") return; // a conflict tells creation
    const { waiters, leaves } = this.#acceptance;
    if (this.#life.following) {
      this.takeUp(keys);
    } else if (at === "unlocked" || at === "locking" || waiters.pending > 0) {
      // A store that leads is the only writer for as long as it holds the storage: whoever else writes
      // has taken it over, and what we would write next no longer follows.
      this.#failStop.fail(new EngineError("another writer has changed the storage"));
    } else {
      leaves.clear();
      const bytes = this.#acceptance.adoptHead();
      this.#acceptance.follow(this.#acceptance.head, bytes);
    }
  }

  /**
   * What others have written to our own storage, while we follow: the log says what changed, `keys` what
   * of class ignored did. It is told as our own commits are. False, and the end, when the log there does
   * not continue the one we know.
   */
  takeUp(keys: readonly string[]): boolean {
    try {
      const changed = new Map<string, Uint8Array | null>(keys.map((key) => [key, null]));
      const bytes = this.#engine.meta(heads.HEAD_ROW);
      const known = this.#acceptance.headBytes;
      if (bytes === null && known !== null) throw new EngineError("the head has vanished");
      const moved = bytes !== null && (known === null || !equalBytes(bytes, known));
      const takes = moved ? this.#moveTo(bytes, changed) : [];
      for (const take of takes) take();
      if (changed.size > 0) this.#durable(changed, [...changed.keys()], []);
      return true;
    } catch (error) {
      this.#failStop.fail(error);
      return false;
    }
  }

  #moveTo(bytes: Uint8Array, changed: Map<string, Uint8Array | null>): (() => void)[] {
    const takes: (() => void)[] = [];
    const before = this.#acceptance.head;
    const head = heads.decodeHead(bytes);
    const slots = new Set<number>();
    const replaced = this.#adopting.reread(); // by the log of another cluster: no entries lead there
    if (before === null) this.#life.step({ do: "find" });
    else if (!replaced) {
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
    this.#acceptance.leaves.clear();
    this.#followTrees(head, bytes, slots);
    this.#acceptance.follow(head, bytes);
    return takes;
  }

  #followTrees(head: heads.Head, bytes: Uint8Array, slots: ReadonlySet<number>): void {
    const { state } = this.#life;
    if (state.at === "locked") return this.#life.step({ do: "load", held: null });
    if (state.at !== "unlocked") return;
    const { tip, trees } = state.held;
    const treeKey = this.#acceptance.keyOfTrees();
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

  /** Position and sums of a store that follows. While it is locked they are read when first needed. */
  #held(): Held {
    const { state } = this.#life;
    if (!isInitialised(state)) throw failures.storeUninitialised();
    if (state.at === "locking") throw failures.storeLocked(); // for a moment
    const known = heldOf(state);
    if (known !== null) return known;
    const { tip, durable } = this.#failStop.read(() => openCopy(this.#engine));
    const held = { treeKey: null, unchecked: null, tip, trees: durable };
    this.#life.step({ do: "load", held });
    return held;
  }
}
