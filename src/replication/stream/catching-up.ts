// What lies between a hello and the log, and between one stream of the log and the next: rows are copied or compared, entries given
// up, damage mended, until the log of the primary goes on from where this one ends.

import { Status, StatusError } from "../../grpc/status.ts";
import { decodeTimeline } from "../../storage/rows/head.ts";
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
    const { store, ports } = this.#parts;
    switch (decision.kind) {
      case "resume":
        return;
      case "refuse":
        throw refusedByPrimary(decision.reason);
      case "copy": {
        // Who has no rows may have entries of its own all the same.
        const fork = forkFrom(store, timeline);
        if (fork !== null) return await this.#goBack(fork, () => this.#compareAll(fork));
        if (!(await this.#addsUp(this.#taker.copy()))) await this.#diff();
        return;
      }
      case "diff": {
        // The primary may not know any more where the two parted; its epochs tell.
        const fork = forkFrom(store, timeline);
        if (fork !== null) return await this.#goBack(fork, () => this.#compareAll(fork));
        if (ports.mayRewind() && store.adopting === null) await ports.giveUpAll?.();
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

  /** Only where somebody has allowed it. */
  async #goBack(fork: bigint, run: () => Promise<void>): Promise<void> {
    const { store, ports, log } = this.#parts;
    log.warn("entries here are not those of the primary", {
      event: `${EVENT}.divergence-detected`,
      fork: String(fork),
      head: String(store.index),
    });
    if (!ports.mayRewind()) throw divergent(fork, store.index);
    await run();
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
function forkFrom({ timeline: own, index }: Store, sent: Uint8Array): bigint | null {
  try {
    const timeline = decodeTimeline(sent);
    if (own === null || timeline.lineage !== own.lineage) return null;
    const fork = forkOf({ timeline: own, index }, { timeline, index: ANY_INDEX });
    return fork !== null && fork < index ? fork : null;
  } catch (error) {
    if (error instanceof MalformedBytes) throw protocolBroken("what is no timeline");
    throw error;
  }
}
