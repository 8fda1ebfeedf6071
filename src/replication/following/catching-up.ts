// What lies between a hello and the log, and between one stream of the log and the next: rows are copied or compared, entries given
// up, damage mended, until the log of the primary goes on from where this one ends.

import { decodeTimeline, replacedLog, type Timeline } from "../../storage/rows/head.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import type { Store } from "../../storage/store.ts";
import { type Decision, forkOf } from "../stream/decision.ts";
import { divergent, protocolBroken, refusedByPrimary } from "../stream/failures.ts";
import {
  type Connection,
  EVENT,
  hasCode,
  type Progress,
  type ReceiverParts,
  type StreamEnd,
} from "../stream/receiving.ts";
import { assertGoesOn, inRounds } from "../stream/rounds.ts";
import { RowTaker } from "./taking-rows.ts";

const ANY_INDEX = 2n ** 63n;

export class CatchingUp {
  readonly #parts: ReceiverParts;
  readonly #progress: Progress;
  readonly #taker: RowTaker;

  constructor(parts: ReceiverParts, progress: Progress, connection: Connection) {
    this.#parts = parts;
    this.#progress = progress;
    this.#taker = new RowTaker(parts, progress, connection);
  }

  /** Until the log of the primary goes on from where this one ends. */
  async begin(decision: Decision, timeline: Uint8Array): Promise<void> {
    const { store } = this.#parts;
    switch (decision.kind) {
      case "resume": {
        const { epochs } = timelineOf(timeline);
        return this.#hasRowsFromBefore(epochs) ? await this.#diff() : undefined;
      }
      case "refuse":
        throw refusedByPrimary(decision.reason);
      case "copy":
      case "diff": {
        // The primary may not know any more where the two parted; its epochs tell. Who has no rows may have entries of its own.
        const theirs = timelineOf(timeline);
        const fork = forkFrom(store, theirs);
        if (fork !== null) return await this.#goBack(fork, () => this.#compareAll(fork));
        await this.#giveUpOwn(theirs);
        if (decision.kind === "copy" && (await this.#addsUp(this.#taker.copy()))) return;
        return await this.#diff();
      }
      case "rewind": {
        const { fork, chain } = decision;
        const isKept = store.tail!.first <= fork + 1n;
        // The entries here do not name all rows that the primary before has changed.
        const isMixed = store.adopting?.kind !== "rewind" && this.#mark !== null;
        return await this.#goBack(fork, () =>
          isKept && !isMixed ? this.#taker.rewind(fork, chain) : this.#compareAll(fork),
        );
      }
    }
  }

  /** Up to which index rows may be newer than the log; null where none are. */
  get #mark(): bigint | null {
    return this.#parts.ports.marks.read();
  }

  /** Whether rows that are newer than the log may be such as this primary never had: they were read at one whose place somebody has
   *  taken before the log came to there. */
  #hasRowsFromBefore(epochs: Timeline["epochs"]): boolean {
    const { index } = this.#parts.store;
    const mark = this.#mark;
    if (mark === null) return false;
    return epochs.some(({ first }) => BigInt(first) > index && BigInt(first) <= mark);
  }

  /** Before a log of another lineage takes the place of this one: what was written here since this cluster led last is handed over, as
   *  far as it is kept and the primary had not the same before its restore. */
  async #giveUpOwn(theirs: Timeline): Promise<void> {
    const { store, ports, log } = this.#parts;
    if (!ports.mayRewind() || store.adopting !== null) return;
    const isOtherLog = theirs.lineage !== store.timeline?.lineage;
    const led = isOtherLog ? ledSince(store, ports.self().clusterId) : null;
    if (led !== null) {
      const parted = forkBeforeRestore(store, theirs);
      const fork = parted !== null && parted > led ? parted : led;
      this.#progress.state = "merkle-diff"; // it may take its time
      if (fork < store.index) {
        this.#tellDivergent(fork);
        if (parted === null) {
          log.warn(
            "it is not known what of these the primary had before its data was restored: all are kept",
            {
              fork: String(fork),
              head: String(store.index),
            },
          );
        }
        await ports.giveUp(await store.surplus(fork));
      }
    }
    await ports.giveUpAll?.();
  }

  /** Only where somebody has allowed it. */
  async #goBack(fork: bigint, run: () => Promise<void>): Promise<void> {
    const { store, ports } = this.#parts;
    this.#tellDivergent(fork);
    if (!ports.mayRewind()) throw divergent(fork, store.index);
    await run();
  }

  #tellDivergent(fork: bigint): void {
    const { store, log } = this.#parts;
    log.warn("entries here are not those of the primary", {
      event: `${EVENT}.divergence-detected`,
      fork: String(fork),
      head: String(store.index),
    });
  }

  /** Where it cannot be done entry by entry all is compared. What is left of the own entries is handed over before. */
  async #compareAll(fork: bigint): Promise<void> {
    const { store, ports } = this.#parts;
    const before = store.tail!.first - 1n;
    const from = fork > before ? fork : before;
    if (from < store.index) await ports.giveUp(await store.surplus(from));
    if (store.adopting === null) await ports.giveUpAll?.();
    await this.#diff();
    await ports.rewound(fork);
  }

  /** How the log goes on after a stream of it has ended. Throws where the session is over. */
  async after(end: StreamEnd): Promise<void> {
    const { store, log, figures } = this.#parts;
    assertGoesOn(end);
    switch (end.kind) {
      case "trimmed":
        figures?.resumed("trimmed");
        return await this.#diff();
      case "suspect": // the next stream begins with a comparison of heads
        this.#progress.state = "merkle-diff";
        return await this.#taker.mendOwn();
      case "filtered": // who stands in for the primary has everything
        throw protocolBroken("a filter");
      case "differs": {
        this.#progress.state = "merkle-diff";
        figures?.damaged();
        log.warn("the data here differs from the primary's", {
          event: `${EVENT}.corruption-detected`,
          index: String(store.index),
        });
        await this.#taker.mendOwn();
        if (store.differsFrom(end.head).length > 0) await this.#diff();
      }
    }
  }

  #diff(): Promise<void> {
    return inRounds(this.#parts, this.#progress, {
      mendOwn: () => this.#taker.mendOwn(),
      compare: () => this.#addsUp(this.#taker.diff()),
    });
  }

  /** False where the rows that were taken over are not those that they should be: then something is wrong here or there. */
  async #addsUp(taking: Promise<void>): Promise<boolean> {
    try {
      await taking;
      return true;
    } catch (error) {
      if (!hasCode(error, "log-trees-differ")) throw error;
      const { log, store } = this.#parts;
      log.warn("rows that were taken over do not add up", { index: String(store.index) });
      return false;
    }
  }
}

/** The last index in common with a log of these epochs; null where there is nothing above it here. */
function forkFrom({ timeline: own, index }: Store, timeline: Timeline): bigint | null {
  if (own === null || timeline.lineage !== own.lineage) return null;
  const fork = forkOf({ timeline: own, index }, { timeline, index: ANY_INDEX });
  return fork !== null && fork < index ? fork : null;
}

/** The last index in common with the log that a restore there has replaced; null where nobody can tell. */
function forkBeforeRestore({ timeline: own, index }: Store, theirs: Timeline): bigint | null {
  const replaced = replacedLog(theirs);
  if (own === null || replaced === null || replaced.timeline.lineage !== own.lineage) return null;
  return forkOf({ timeline: own, index }, replaced);
}

/** Before the first entry that is kept of those that this cluster has written since nobody else did; null where there are none. */
function ledSince({ timeline, tail, index }: Store, cluster: string): bigint | null {
  const epochs = timeline?.epochs ?? [];
  const own = epochs.slice(epochs.findLastIndex((one) => one.cluster !== cluster) + 1);
  const [first] = own;
  if (first === undefined) return null;
  const [begun, kept] = [BigInt(first.first), tail!.first];
  const before = (begun > kept ? begun : kept) - 1n;
  return before < index ? before : null;
}

function timelineOf(sent: Uint8Array): Timeline {
  try {
    return decodeTimeline(sent);
  } catch (error) {
    if (error instanceof MalformedBytes) throw protocolBroken("what is no timeline");
    throw error;
  }
}
