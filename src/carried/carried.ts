// What goes along when a snapshot of other keys takes the place of the data: nobody has the keys that would seal rows there.
// Evidence and the ends of audit chains are no secrets, and lie there in clear; leases and write-ahead records lie there sealed
// under a key that is in memory of this process alone. One letter, signed, says what all of it was. Who unseals first has it
// taken in: what is in clear is copied, compared with the letter and only then used; what is sealed is taken over or counted.
//
// Whoever can write to the disk can change, add and remove such rows. So the process that made the exchange believes what it
// holds; after a restart the letter is believed as far as its signatures lead; nothing is taken in where evidence of its own
// is; and no row, whatever its name or length, keeps anybody from unsealing.

import type { KeyObject } from "node:crypto";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Tx, View } from "../barrier/view.ts";
import { freshKey, sealEntry } from "../crypto/aead.ts";
import type { CarriedEvidence } from "../evidence/carried-evidence.ts";
import type { EvidenceHead, Ring } from "../evidence/evidence-rows.ts";
import { compareKeys } from "../storage/key.ts";
import type { Held } from "./held.ts";
import { type Letter, letterBytes, readLetter, ROWS_INPUT } from "./letter.ts";
import { countBelow, ESSENTIAL, isEmpty, removeAll, rowsBelow } from "./open-place.ts";
import type { OutsideRow } from "./outside-rows.ts";
import { RowsDigest } from "./rows-digest.ts";

/** Below core/. */
const PLACE = "carried/";
const LETTER = "letter";
/** In clear. */
const ROWS = "rows/";
/** Among them, before all of evidence: where chains of audit files have ended. */
const CHAINS = "audit/";
const SEALED = "sealed/";
/** Below core/, sealed as everything is: there from when the letter was believed or not, until nothing is left to do. */
const COUNTS = "carried-counts";
const TERM = 1;
const NONCE_BYTES = 12;
const MAX_COUNTED = 1_000_000;

export interface CarriedRow {
  readonly key: string;
  readonly value: Uint8Array;
}

/** What data takes the place of what is here. */
export interface NextData {
  readonly id: string;
  readonly clusterId: string;
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
  /** Those that nobody ends any more, and how many of them had gone along. */
  readonly left: number;
  readonly lost: number;
}

export interface CarriedOptions {
  readonly barrier: Barrier;
  /** core/ */
  readonly node: View;
  readonly held: Held;
  /** Whether the data there is now has taken the place of other data. */
  readonly isReplacement: () => boolean;
  readonly evidence: () => CarriedEvidence;
  readonly chains: {
    /** As rows. */
    readonly rows: () => Iterable<CarriedRow>;
    /** Where they go. */
    readonly to: View;
    /** Whether audit devices could go on from it. */
    readonly isChain: (value: Uint8Array) => boolean;
  };
  readonly outside: CarriedOutside;
  /** In a transaction: how many nobody ends. */
  readonly noteLeft: (tx: Tx, left: number) => void;
  readonly tell: (counts: OutsideCounts) => void;
  /** Longer values are not stored. */
  readonly maxRowBytes: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

interface Counts {
  readonly waiting: number;
  readonly left: number;
  readonly adopted: number;
  /** What is left was noted: the rest is to be removed. */
  readonly noted: boolean;
}

/** What was copied, and how it compares with the letter. */
interface Copied {
  readonly isWhole: boolean;
  /** Of the keys before: all of them where it is whole, else those that lead to the letter. Null where none does. */
  readonly ring: Ring | null;
  readonly head: EvidenceHead | null;
}

const countsCodec = jsonCodec<Counts>();

export class Carried {
  readonly #options: CarriedOptions;
  /** As it lies there. */
  readonly #place: View;

  constructor(options: CarriedOptions) {
    this.#options = options;
    this.#place = options.barrier.clearView(options.node.prefix + PLACE);
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
    held.hold({ letter, ring, secret, rowsKey });
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
    const { node, held } = this.#options;
    if (this.#readCounts() === null) {
      await node.write((tx) => tx.discard(COUNTS), ESSENTIAL); // somebody else's, if there is one
      if (!(await this.#takeClear())) return held.drop();
    }
    await this.#takeSealed();
    await removeAll(this.#place);
    await node.write((tx) => tx.delete(COUNTS), ESSENTIAL);
    held.drop(); // not before: what failed above is tried again at the next unseal
  }

  /** False where nothing was carried. */
  async #takeClear(): Promise<boolean> {
    const { node, held, isReplacement, log } = this.#options;
    const isThere = !isEmpty(this.#place);
    if (this.#evidence.isThere) {
      if (isThere) await this.#refuse();
      return false;
    }
    await this.#removeCopies(); // of an attempt that was stopped: nobody has used them
    if (!isThere && held.handed === null && !isReplacement()) return false;
    const letter = held.handed?.letter ?? this.#readLetter();
    const copied = letter === null ? null : await this.#copy(letter);
    const isWhole = copied?.isWhole ?? false;
    if (!isWhole) await this.#removeCopies();
    const counts = await this.#countsOf(letter);
    await node.write((tx) => {
      if (letter !== null) {
        const head = isWhole ? (copied?.head ?? null) : null;
        const ring = held.handed?.ring ?? copied?.ring ?? null;
        this.#evidence.goOn(tx, letter, { head, ring, secret: held.handed?.secret ?? null });
      }
      tx.put(COUNTS, counts, countsCodec);
    }, ESSENTIAL);
    if (isWhole) log.info("evidence has gone along with a restore", { event: "evidence.taken" });
    else {
      const lost = "evidence was changed while it went along with a restore, and is left out";
      log.error(lost, { event: "evidence.lost" });
    }
    return true;
  }

  async #removeCopies(): Promise<void> {
    await removeAll(this.#evidence.view);
    await removeAll(this.#options.chains.to);
  }

  /** Nobody brings anything to a store that has evidence of its own. */
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

  #readLetter(): Letter | null {
    const bytes = this.#place.get(LETTER, bytesCodec);
    return bytes === null ? null : readLetter(bytes);
  }

  /** Without a letter, what lies there is all that is known. */
  async #countsOf(letter: Letter | null): Promise<Counts> {
    const { timers, log } = this.#options;
    const open = { adopted: 0, noted: false };
    if (letter !== null) return { waiting: letter.waiting, left: letter.left, ...open };
    log.error(
      "it is not known how many leases and write-ahead records of the data that was replaced there were",
      {
        event: "restore.left",
      },
    );
    const waiting = await countBelow(this.#place, SEALED, { max: MAX_COUNTED, timers });
    return { waiting, left: 0, ...open };
  }

  /** Each row to its place, sealed; and the very bytes that are there now are what is compared. */
  async #copy(letter: Letter): Promise<Copied> {
    const { node, held, chains, maxRowBytes, timers } = this.#options;
    const digest = new RowsDigest();
    const check = this.#evidence.check(letter);
    let areChains = true;
    let isStrange = false;
    const parts = rowsBelow(this.#place, ROWS, { maxBytes: maxRowBytes, timers });
    for await (const part of parts) {
      const copies: ((tx: Tx) => void)[] = [];
      for (const { key: path, value } of part) {
        const key = path.slice(ROWS.length);
        if (value === null) {
          isStrange = true;
          continue;
        }
        digest.add(key, value);
        if (key.startsWith(CHAINS)) {
          areChains &&= chains.isChain(value);
          const name = key.slice(CHAINS.length);
          copies.push((tx) => tx.on(chains.to).put(name, value, bytesCodec));
        } else if (check.add(key, value)) {
          copies.push((tx) => this.#evidence.copy(tx, key, value));
        }
      }
      if (isStrange || copies.length === 0) continue; // the rest is read for the keys that are in it
      await node.write((tx) => copies.forEach((copy) => copy(tx)), ESSENTIAL);
    }
    // What this process has signed itself needs no look at its form.
    const isGood = held.handed !== null || (areChains && check.isGood);
    const { head } = check;
    const isSigned = !isStrange && digest.end() === letter.rows;
    const isWhole = isSigned && isGood && head !== null;
    return { isWhole, ring: check.ring(isWhole), head };
  }

  // --- what exists outside ---

  async #takeSealed(): Promise<void> {
    const { node, held, outside, barrier, noteLeft, tell } = this.#options;
    if (this.#readCounts()?.noted === true) return;
    await outside.hastenEnded();
    if (held.handed !== null) {
      const from = barrier.viewUnder(held.handed.rowsKey, this.#place.prefix + SEALED);
      await outside.adopt(from, (tx, keys) => {
        for (const key of keys) tx.on(from).delete(key);
        const before = this.#countsIn(tx);
        const adopted = before.adopted + keys.length;
        tx.on(node).put(COUNTS, { ...before, adopted }, countsCodec);
      });
    }
    const counts = await node.write((tx) => {
      const before = this.#countsIn(tx);
      const lost = Math.max(0, before.waiting - before.adopted);
      const left = before.left + lost;
      noteLeft(tx, left);
      tx.put(COUNTS, { ...before, noted: true }, countsCodec);
      return { adopted: before.adopted, left, lost };
    }, ESSENTIAL);
    tell(counts);
  }

  /** Null also for what does not open: nobody here has written it. */
  #readCounts(): Counts | null {
    const { node } = this.#options;
    try {
      return node.get(COUNTS, countsCodec);
    } catch (error) {
      if (error instanceof Failure && error.kind === "damaged") return null;
      throw error;
    }
  }

  #countsIn(tx: Tx): Counts {
    const counts = tx.on(this.#options.node).get(COUNTS, countsCodec);
    invariant(counts !== null, "they are there until everything is removed");
    return counts;
  }
}
