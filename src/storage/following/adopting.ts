// Taking over another cluster's state without the entries that made it: rows in chunks, each one transaction with
// the mark that says how far it has come, and last the place from which its log goes on. Until then the store
// is between two states: it follows, applies nothing, and its own log stays. A rewind is the same for the keys that
// a tail of the own log has changed, and then the tail goes. Both need the key of the trees: nobody else has a head
// for such a state, so nobody could vouch for it later.

import type { KeyObject } from "node:crypto";
import { concat, equalBytes } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { type Acceptance, type Held, timelineRow } from "../commit/acceptance.ts";
import type { Accepted } from "../commit/committer.ts";
import type { FailStop } from "../commit/fail-stop.ts";
import type { Tip } from "../commit/tip.ts";
import type { StorageEngine } from "../engines/engine.ts";
import * as failures from "../failures.ts";
import { classOf, compareKeys, isLegalKey } from "../key.ts";
import { isInitialised, type Life } from "../life.ts";
import { timelineOf } from "../rows/epoch.ts";
import * as heads from "../rows/head.ts";
import { CORE_SCOPE, SCOPE_BYTES } from "../rows/log-entry.ts";
import { MalformedBytes } from "../rows/row-bytes.ts";
import { type Anchor, encodeSync, readSync, type Sync, SYNC_ROW } from "../rows/sync.ts";
import { ENTRY_BYTES, sizeOf, type StoredChange } from "../transaction.ts";
import { unreadAbove } from "./control-records.ts";
import type { Surplus } from "./surplus.ts";

/** A record of the other cluster as it is there now; null: it is not there. Its bytes are the store's from then on. */
export interface AdoptedRow {
  readonly key: string;
  readonly scope: Uint8Array; // 16 bytes
  readonly value: Uint8Array | null;
}

export interface AdoptingOptions {
  readonly engine: StorageEngine;
  readonly life: Life<Held>;
  readonly failStop: FailStop;
  readonly acceptance: Acceptance;
}

export type Totals = Pick<heads.Head, "shared" | "local">;

/** What ends it, in the transaction of the last chunk. */
interface End {
  readonly position: heads.Head;
  readonly timeline: heads.Timeline;
  readonly tail: heads.Tail | null;
  readonly cutLogAbove: bigint;
}

export class Adopting {
  readonly #engine: StorageEngine;
  readonly #life: Life<Held>;
  readonly #failStop: FailStop;
  readonly #acceptance: Acceptance;
  /** After everything accepted. */
  #sync: Sync | null;
  #damage: Failure | null = null; // of the mark: nobody can go on after it, but begin anew
  #ending = false; // until that is durable: what others read is the old log, and what we would accept is of the new one

  constructor({ engine, life, failStop, acceptance }: AdoptingOptions) {
    this.#engine = engine;
    this.#life = life;
    this.#failStop = failStop;
    this.#acceptance = acceptance;
    this.#sync = this.#read();
  }

  /** Null where the store is whole. */
  get sync(): Sync | null {
    return this.#sync;
  }

  /** Throws while the store is between two states. */
  assertWhole(): void {
    if (this.#damage !== null) throw this.#damage;
    if (this.#sync !== null || this.#ending) throw failures.storeHalfAdopted();
  }

  /** Somebody else writes the storage. True when what was half taken over there is whole now. */
  reread(): boolean {
    const before = this.#sync;
    this.#sync = this.#read();
    return before !== null && this.#sync === null && this.#damage === null;
  }

  /** A store whose mark is damaged can still be opened. */
  #read(): Sync | null {
    this.#damage = null;
    try {
      return readSync(this.#engine);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#damage = error;
      return null;
    }
  }

  /** What was half taken over before is let go: its rows stay until others take their places. */
  begin({ head: sent, timeline }: Anchor): number {
    const { treeKey } = this.#held();
    const head = concat(sent);
    const position = authentic(head, treeKey);
    if (timelineOf(heads.encodeTimeline(timeline), position) === null) {
      throw failures.anchorRefused("its timeline is that of another log");
    }
    return this.#mark({ kind: "adopt", head, timeline, cursor: "" });
  }

  /** The rows of one chunk; `cursor` is kept with them. */
  take(rows: readonly AdoptedRow[], cursor: string): number {
    this.#held();
    const sync = this.#begun();
    return this.#write(changesOf(rows), { ...sync, cursor });
  }

  /** Throws unless what was begun can end. `expected` are the totals that the trees must have here now. */
  assertEnds(expected: Totals | null): { position: heads.Head; timeline: heads.Timeline } {
    const { treeKey, tip } = this.#held();
    const { head, timeline } = this.#begun();
    const position = authentic(head, treeKey);
    const ends = expected === null || sameTotals(expected, tip.head);
    if (!ends) throw failures.treesDiffer(position.index);
    return { position, timeline };
  }

  finish(expected: Totals | null): number {
    const { position, timeline } = this.assertEnds(expected);
    const { index, chain, logBytes } = position;
    const tail = { first: index + 1n, chainBefore: chain, logBytesBefore: logBytes };
    return this.#write(new Map(), { position, timeline, tail, cutLogAbove: 0n });
  }

  /**
   * The rows of the next of the surplus keys, in order. With the last of them the log is cut back to the fork.
   * Where they are all there, that is one transaction.
   */
  rewind(surplus: Surplus, rows: readonly AdoptedRow[]): number {
    const { treeKey, tip } = this.#held();
    const { fork, before, position, timeline } = surplus;
    if (tip.head.index !== before.index || !equalBytes(tip.head.chain, before.chain)) {
      throw failures.rewindRefused(`the log has gone on since entry ${before.index}`);
    }
    const { first } = heads.decodeTail(this.#acceptance.meta(heads.TAIL_ROW)!);
    if (fork < first - 1n) throw failures.rewindRefused(`it begins with entry ${first} by now`);
    const left = this.#left(surplus);
    if (rows.length > left.length || !rows.every(({ key }, i) => key === left[i])) {
      throw failures.adoptedRowRefused(
        "it is not one of the keys that were changed since the fork",
      );
    }
    const changes = changesOf(rows);
    if (rows.length === left.length) {
      return this.#write(changes, { position, timeline, tail: null, cutLogAbove: fork });
    }
    if (rows.length === 0) return this.#acceptance.waiters.last;
    const head = heads.encodeHead(position, treeKey);
    return this.#write(changes, { kind: "rewind", head, timeline, cursor: rows.at(-1)!.key });
  }

  #left({ fork, keys }: Surplus): readonly string[] {
    const sync = this.#sync;
    if (this.#damage !== null) throw this.#damage;
    if (sync === null) return keys;
    const { index } = heads.decodeHead(sync.head);
    if (sync.kind !== "rewind" || index !== fork) throw failures.storeHalfAdopted();
    const next = keys.findIndex((key) => compareKeys(key, sync.cursor) > 0);
    return next < 0 ? [] : keys.slice(next);
  }

  /** Rows, and with them either the mark or what ends it. Nothing is changed where this throws. */
  #write(changes: Map<string, StoredChange>, next: Sync | End): number {
    const { tip } = this.#held();
    const { limits, space, pendingBytes, state } = this.#acceptance;
    let bytes = ENTRY_BYTES;
    for (const [key, change] of changes) bytes += sizeOf(key, change);
    if (changes.size > limits.operations || bytes > limits.bytes) {
      throw failures.groupTooLarge(limits.operations, limits.bytes);
    }
    space.check(changes.values(), { bytes, pendingBytes, deletion: false });
    const ends = "cutLogAbove" in next;
    if (ends) for (const key of unreadAbove(state, next.position.index)) changes.set(key, GONE);
    const rows = this.#failStop.orFail(() =>
      tip.adopt(
        changes,
        (slot, key) => this.#acceptance.leaf(slot, key),
        ends ? next.position : null,
      ),
    );
    if (!ends) {
      this.#sync = next;
      return this.#push(changes, { ...rows, meta: markOf(next), bytes });
    }
    this.#ending = true;
    const onDurable = () => {
      this.#ending = false;
      this.#sync = null;
    };
    const { cutLogAbove } = next;
    return this.#push(changes, { ...rows, meta: endOf(next), cutLogAbove, bytes, onDurable });
  }

  /** Each row comes once: nobody needs its leaf soon. */
  #push(changes: Map<string, StoredChange>, rows: Partial<Accepted>): number {
    return this.#acceptance.pushForeign(changes, rows, { recent: false });
  }

  #mark(sync: Sync): number {
    this.#sync = sync;
    this.#damage = null;
    return this.#acceptance.pushForeign(new Map(), { meta: markOf(sync), bytes: ENTRY_BYTES });
  }

  #begun(): Sync {
    if (this.#sync?.kind !== "adopt") throw failures.adoptionNotBegun();
    return this.#sync;
  }

  #held(): { readonly tip: Tip; readonly treeKey: KeyObject } {
    const { state, following } = this.#life;
    if (!following) throw failures.storeLeading();
    if (!isInitialised(state)) throw failures.storeUninitialised();
    if (state.at !== "unlocked") throw failures.storeLocked();
    if (this.#ending) throw failures.storeHalfAdopted();
    return { tip: state.held.tip, treeKey: this.#acceptance.keyOfTrees() };
  }
}

const GONE: StoredChange = { value: null, scope: CORE_SCOPE, plain: null, fresh: false };

function markOf(sync: Sync): Map<string, Uint8Array | null> {
  return new Map([[SYNC_ROW, encodeSync(sync)]]);
}

function endOf({ timeline, tail }: End): Map<string, Uint8Array | null> {
  const meta = new Map<string, Uint8Array | null>([...timelineRow(timeline), [SYNC_ROW, null]]);
  if (tail !== null) meta.set(heads.TAIL_ROW, heads.encodeTail(tail));
  return meta;
}

function changesOf(rows: readonly AdoptedRow[]): Map<string, StoredChange> {
  const changes = new Map<string, StoredChange>();
  for (const { key, scope, value } of rows) {
    if (!isLegalKey(key) || classOf(key) === "ignored") {
      throw failures.adoptedRowRefused("its key is none that leaves a cluster");
    }
    if (scope.length !== SCOPE_BYTES)
      throw failures.adoptedRowRefused("its scope has another length");
    changes.delete(key); // so that it moves to the end
    changes.set(key, { value, scope, plain: null, fresh: false });
  }
  return changes;
}

function sameTotals(a: Totals, b: Totals): boolean {
  return heads.sameTotal(a.shared, b.shared) && heads.sameTotal(a.local, b.local);
}

/** A head that was made with the key of the trees, by whomever. */
function authentic(bytes: Uint8Array, treeKey: KeyObject): heads.Head {
  try {
    if (heads.headIsAuthentic(bytes, treeKey)) return heads.decodeHead(bytes);
  } catch (error) {
    if (!(error instanceof MalformedBytes)) throw error;
  }
  throw failures.anchorRefused("its MAC does not match");
}
