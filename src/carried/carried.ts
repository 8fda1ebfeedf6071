// What goes along when a snapshot of other keys takes the place of the data: nobody has the keys that would seal rows there.
// Evidence and the ends of audit chains are no secrets, and lie there in clear; leases and write-ahead records lie there sealed
// under a key that is in memory of this process alone. One letter, signed, says what all of it was. Who unseals first has it
// taken in: what is in clear is copied, compared with the letter and only then used; what is sealed is taken over or counted.
//
// Whoever can write to the disk can change, add and remove such rows. So the process that made the exchange goes by what it
// holds, and by nothing that lies there. After a restart nobody vouches for any of it: numbers go on from the letter, reports
// are kept to be read, and nothing else is taken in. No row, whatever its name or length, keeps anybody from unsealing.

import type { KeyObject } from "node:crypto";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Tx, View, ViewReads } from "../barrier/view.ts";
import { freshKey, sealEntry } from "../crypto/aead.ts";
import type { CarriedEvidence } from "../evidence/carried-evidence.ts";
import { compareKeys } from "../storage/key.ts";
import { CHAINS, ClearRows, LETTER, ROWS, SEALED } from "./clear-rows.ts";
import {
  type Counts,
  discardCounts,
  type EvidenceFate,
  type Left,
  putCounts,
  readCounts,
} from "./counts.ts";
import type { Held } from "./held.ts";
import { letterBytes, readLetter, ROWS_INPUT } from "./letter.ts";
import { ESSENTIAL, isEmpty, removeAll } from "./open-place.ts";
import type { OutsideRow } from "./outside-rows.ts";
import { RowsDigest } from "./rows-digest.ts";

/** Below core/. */
const PLACE = "carried/";
const TERM = 1;
const NONCE_BYTES = 12;

export interface CarriedRow {
  readonly key: string;
  readonly value: Uint8Array;
}

/** What data takes the place of what is here. */
export interface NextData {
  readonly id: string;
  readonly clusterId: string;
  /** As it was stored there. */
  readonly head: Uint8Array;
}

/** What exists outside. */
export interface CarriedOutside {
  /** Taken over into the data there is now; `taken` belongs into the transactions that do it. */
  readonly adopt: (from: View, taken: (tx: Tx, keys: readonly string[]) => void) => Promise<void>;
  /** Leases that had ended and are in the data there is now. */
  readonly hastenEnded: () => Promise<void>;
}

/** How it went with what exists outside. */
export interface OutsideCounts {
  readonly adopted: number;
  readonly left: Left;
  /** Of those that are left: how many had gone along. */
  readonly lost: number;
}

export interface CarriedOptions {
  readonly barrier: Barrier;
  /** core/ */
  readonly node: View;
  readonly held: Held;
  /** Of the data there is now. */
  readonly lineage: () => string;
  /** Whether the data there is now has taken the place of other data. */
  readonly isReplacement: () => boolean;
  /** Whether a head was written under the keys of the data there is now. */
  readonly isOwnHead: (head: Uint8Array) => boolean;
  readonly evidence: () => CarriedEvidence;
  readonly chains: {
    /** As rows. */
    readonly rows: () => Iterable<CarriedRow>;
    /** Where they go. */
    readonly to: View;
    /** Where it is kept how far chains have come: data that has just come knows of none. */
    readonly own: readonly View[];
  };
  readonly outside: CarriedOutside;
  /** In a transaction. */
  readonly noteLeft: (tx: Tx, left: Left) => void;
  readonly tell: (counts: OutsideCounts) => void;
  /** Longer values are not stored. */
  readonly maxRowBytes: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

export class Carried {
  readonly #options: CarriedOptions;
  /** As it lies there. */
  readonly #place: View;
  readonly #clear: ClearRows;
  /** What is held was signed here, for data that is to take the place of this. */
  #isLeaving = false;

  constructor(options: CarriedOptions) {
    this.#options = options;
    this.#place = options.barrier.clearView(options.node.prefix + PLACE);
    this.#clear = new ClearRows(this.#place, options);
  }

  get #evidence(): CarriedEvidence {
    return this.#options.evidence();
  }

  // --- leaving ---

  /** Everything that goes along, as it is to be stored. The house rests: nothing changes any more. */
  async *rows(
    next: NextData,
    unknown: Iterable<readonly OutsideRow[]>,
  ): AsyncGenerator<CarriedRow> {
    const { held, random, timers } = this.#options;
    const rowsKey = freshKey(random);
    let [waiting, left] = [0, 0];
    for (const page of unknown) {
      for (const { key, value } of page) {
        if (value === null) left++;
        else yield this.#sealed(rowsKey, key, value);
        if (value !== null) waiting++;
      }
      await timers.turn();
    }
    const digest = new RowsDigest();
    for (const { key, value } of this.#clearRows()) {
      digest.add(key, value);
      yield { key: this.#place.prefix + ROWS + key, value };
    }
    // Last: what fails before has signed nothing.
    const { envelope, ring, secret } = this.#evidence.handOver({
      subject: { snapshot: next.id, snapshot_cluster: next.clusterId },
      result: { waiting, left },
      inputs: [{ name: ROWS_INPUT, digest: digest.end() }],
    });
    const value = letterBytes(envelope);
    const letter = readLetter(value);
    invariant(letter !== null, "what was signed here can be read here");
    held.hold({ head: next.head, letter, ring, secret, rowsKey });
    this.#isLeaving = true;
    yield { key: this.#place.prefix + LETTER, value };
  }

  *#clearRows(): Generator<CarriedRow> {
    const { chains } = this.#options;
    const ends = Array.from(chains.rows(), ({ key, value }) => ({ key: CHAINS + key, value }));
    yield* ends.toSorted((a, b) => compareKeys(a.key, b.key));
    yield* this.#evidence.rows();
  }

  #sealed(rowsKey: KeyObject, name: string, value: Uint8Array): CarriedRow {
    const key = this.#place.prefix + SEALED + name;
    const nonce = this.#options.random.bytes(NONCE_BYTES);
    return { key, value: sealEntry(rowsKey, TERM, key, value, nonce) };
  }

  /** The data was exchanged: how many nobody ends, as far as it is known now. Null where everything was taken in already. */
  exchanged(): number | null {
    const { held, log } = this.#options;
    if (held.handed === null) return null;
    const { waiting, left } = held.handed.letter;
    const event = "restore.waiting";
    if (waiting > 0) {
      const what = "leases and write-ahead records are taken over when this process is unsealed";
      log.info(what, { event, waiting });
    }
    return left;
  }

  // --- coming ---

  /** What was carried here becomes part of the data there is now. It can be stopped anywhere, and goes on the next time. */
  async takeIn(): Promise<void> {
    const { node, held, lineage } = this.#options;
    if (this.#isLeaving) held.drop(); // the exchange has failed, and this data stays
    this.#isLeaving = false;
    this.#dropIfForeign();
    const counts = held.handed === null ? readCounts(node, lineage()) : held.begun;
    const isTaken = counts !== null || (await this.#takeClear());
    if (isTaken) {
      await this.#takeSealed();
      await removeAll(this.#place);
    }
    await node.write(discardCounts, ESSENTIAL);
    held.drop(); // not before: what failed above is tried again at the next unseal
  }

  /** Whoever has the disk can put other data there, and unseal it. What is held is for that of the restore alone. */
  #dropIfForeign(): void {
    const { held, isOwnHead, log } = this.#options;
    if (held.handed === null || isOwnHead(held.handed.head)) return;
    log.error("the data that was unsealed is not that of the restore: nothing goes along to it", {
      event: "evidence.refused",
    });
    held.drop();
  }

  /** False where nothing was carried. */
  async #takeClear(): Promise<boolean> {
    const { node, held, lineage, isReplacement } = this.#options;
    const { handed } = held;
    if (handed === null) {
      const isThere = !isEmpty(this.#place);
      if (this.#evidence.isThere || !isReplacement()) {
        this.#evidence.check(); // what is damaged is told as such, and nothing is removed
        if (isThere) await this.#refuse();
        return false;
      }
    }
    await this.#clear.removeCopies(); // of an attempt that was stopped, or put there by somebody else
    const decided = await (handed === null ? this.#clear.unproven() : this.#clear.proven(handed));
    const { goOn, ...found } = decided;
    const counts = { ...found, lineage: lineage(), adopted: 0, noted: false };
    await node.write((tx) => {
      goOn(tx);
      putCounts(tx, counts);
    }, ESSENTIAL);
    held.begin(counts);
    this.#tellEvidence(found.evidence);
    return true;
  }

  #tellEvidence(evidence: EvidenceFate): void {
    const { log } = this.#options;
    if (evidence === "whole") {
      return log.info("evidence has gone along with a restore", { event: "evidence.taken" });
    }
    const what =
      evidence === "lost"
        ? "evidence was changed while it went along with a restore, and is left out"
        : "the server was restarted between a restore and its unsealing: nobody vouches for evidence from before; reports are kept to be read, and nothing else";
    log.error(what, { event: `evidence.${evidence}` });
  }

  /** Nobody brings anything to a store that has evidence of its own, or has taken the place of no other. */
  async #refuse(): Promise<void> {
    const { log } = this.#options;
    log.error(
      "rows that look as if they had come with a restore were put into the store, and are removed",
      {
        event: "evidence.refused",
      },
    );
    await removeAll(this.#place);
  }

  // --- what exists outside ---

  async #takeSealed(): Promise<void> {
    const { node, held, outside, barrier, noteLeft, tell } = this.#options;
    if (this.#counts(node).noted) return;
    await outside.hastenEnded();
    if (held.handed !== null) {
      const from = barrier.viewUnder(held.handed.rowsKey, this.#place.prefix + SEALED);
      await outside.adopt(from, (tx, keys) => {
        for (const key of keys) tx.on(from).delete(key);
        const core = tx.on(node);
        const before = this.#counts(core);
        const counts = { ...before, adopted: before.adopted + keys.length };
        putCounts(core, counts);
        held.begin(counts); // nothing can fail any more but the storage, and with it the process
      });
    }
    const { before, left, lost } = await node.write((tx) => {
      const before = this.#counts(tx);
      const { waiting, adopted, isKnown, evidence } = before;
      const lost = Math.max(0, waiting - adopted);
      const left = { count: before.left + lost, isKnown, evidence };
      noteLeft(tx, left);
      putCounts(tx, { ...before, noted: true });
      return { before, left, lost };
    }, ESSENTIAL);
    held.begin({ ...before, noted: true });
    tell({ adopted: before.adopted, left, lost });
  }

  #counts(core: ViewReads): Counts {
    const { held, lineage } = this.#options;
    const counts = held.begun ?? readCounts(core, lineage());
    invariant(counts !== null, "they are there until everything is removed");
    return counts;
  }
}
