// What lies between a hello and the log, and between one stream of the log and the next: rows are copied or compared, entries given
// up, damage mended, until the log of the primary goes on from where this one ends.

import { Status, StatusError } from "../../grpc/status.ts";
import { decodeTimeline, type Timeline } from "../../storage/rows/head.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import type { Store } from "../../storage/store.ts";
import { type Decision, forkOf } from "./decision.ts";
import {
  disabledByPrimary,
  divergent,
  endedByPrimary,
  protocolBroken,
  refusedByPrimary,
  unmended,
} from "./failures.ts";
import type { StreamEnd } from "./following-log.ts";
import { DISABLED } from "./goodbyes.ts";
import { type Connection, EVENT, hasCode, type Progress, type ReceiverParts } from "./receiving.ts";
import { RowTaker } from "./taking-rows.ts";

const ROUNDS = 3;
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
      case "resume":
        return;
      case "refuse":
        throw refusedByPrimary(decision.reason);
      case "copy":
      case "diff": {
        // The primary may not know any more where the two parted; its epochs tell. Who has no rows may have entries of its own.
        const theirs = timelineOf(timeline);
        const fork = forkFrom(store, theirs);
        if (fork !== null) return await this.#goBack(fork, () => this.#compareAll(fork));
        await this.#giveUpOwn({ isOtherLog: theirs.lineage !== store.timeline?.lineage });
        if (decision.kind === "copy" && (await this.#addsUp(this.#taker.copy()))) return;
        return await this.#diff();
      }
      case "rewind": {
        const { fork, chain } = decision;
        const isKept = store.tail!.first <= fork + 1n;
        return await this.#goBack(fork, () =>
          isKept ? this.#taker.rewind(fork, chain) : this.#compareAll(fork),
        );
      }
    }
  }

  /** Before a log of another lineage takes the place of this one: nobody can tell where the two parted, so that everything is handed
   *  over that was written here since this cluster led last, as far as it is kept. */
  async #giveUpOwn({ isOtherLog }: { readonly isOtherLog: boolean }): Promise<void> {
    const { store, ports } = this.#parts;
    if (!ports.mayRewind() || store.adopting !== null) return;
    const fork = isOtherLog ? ledSince(store, ports.self().clusterId) : null;
    if (fork !== null) {
      this.#progress.state = "merkle-diff"; // it may take its time
      this.#tellDivergent(fork);
      await ports.giveUp(await store.surplus(fork));
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
    switch (end.kind) {
      case "closed":
        throw new StatusError(Status.unavailable, "the primary has ended the stream");
      case "goodbye":
        throw end.reason === DISABLED ? disabledByPrimary() : endedByPrimary(end.reason);
      case "diverged":
        throw protocolBroken("another log than it said");
      case "trimmed":
        figures?.resumed("trimmed");
        return await this.#diff();
      case "suspect": // the next stream begins with a comparison of heads
        this.#progress.state = "merkle-diff";
        return await this.#taker.mendOwn();
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

  /** Once more where what came in the end does not add up, so that no damage that cannot be mended is compared for
   *  ever. A comparison that was cut off does not count. */
  async #diff(): Promise<void> {
    const progress = this.#progress;
    const { clock, figures } = this.#parts;
    for (let isWhole = false; !isWhole; progress.rounds++) {
      if (progress.rounds >= ROUNDS) {
        progress.rounds = 0;
        progress.isUnmended = true;
        this.#parts.ports.compared?.(false);
        this.#parts.log.error("the data here differs from the primary's, and cannot be mended", {
          event: "replication.corruption-detected",
        });
        throw unmended();
      }
      // Rows may have come and gone by leaves that were damaged: then sums are wrong that no comparison mends.
      if (progress.rounds > 0) await this.#taker.mendOwn();
      const begun = clock.elapsed();
      isWhole = await this.#addsUp(this.#taker.diff());
      figures?.compared(Number(clock.elapsed() - begun) / 1e9);
    }
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

/** Before the first entry that is kept of those that this cluster has written since nobody else did; null where there are none. */
function ledSince({ timeline, tail, index }: Store, cluster: string): bigint | null {
  const epochs = timeline?.epochs ?? [];
  const own = epochs.slice(epochs.findLastIndex((one) => one.cluster !== cluster) + 1);
  const [first] = own;
  if (first === undefined || tail === null) return null;
  const [begun, kept] = [BigInt(first.first), tail.first];
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
