// What is shared of the primary's log, applied beside a log of this store's own. Every entry is one transaction here, with the rows that
// follow from it and the place after it; own writes go on between them. The primary's chain cannot be made from what is sent: the one
// that an entry or a skipped place comes with is kept, and shown to the primary when the log is gone on with.

import { EMPTY, equalBytes } from "@holdfast/shared/bytes";
import type { Followers } from "../../barrier/followers.ts";
import type { Cursor, Standing } from "../../cluster/hello.ts";
import { decodeSharedPart, type LogEntry } from "../../storage/rows/log-entry.ts";
import { isLegalKey } from "../../storage/key.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import type { AppliedPlace, AppliedPlaces } from "./applied-place.ts";
import { AppliedWrites } from "./applied-writes.ts";
import type { Decision } from "../stream/decision.ts";
import { protocolBroken, refusedByPrimary } from "../stream/failures.ts";
import { answer } from "../following/answering.ts";
import { BATCH_ENTRIES, type Heal, type ToReceiver } from "../stream/messages.ts";
import {
  type Connection,
  EVENT,
  type LinkParts,
  type Progress,
  type ReceivedLog,
  type ReceivedSession,
  type StreamEnd,
} from "../stream/receiving.ts";
import { assertGoesOn, inRounds } from "../stream/rounds.ts";
import { SharedTaker } from "./taking-shared.ts";

export interface AppliedParts extends LinkParts {
  readonly followers: Pick<Followers, "apply">;
  readonly places: AppliedPlaces;
  /** How much of a comparison is kept until all of it is here. Default 64 MiB. */
  readonly stagedBytes?: number;
}

export class AppliedLog implements ReceivedLog {
  readonly #parts: AppliedParts;
  readonly #writes: AppliedWrites;

  constructor(parts: AppliedParts) {
    this.#parts = parts;
    this.#writes = new AppliedWrites(parts);
  }

  get cursor(): Cursor {
    const { place } = this.#writes;
    if (place === null) return { lineage: EMPTY, epoch: 0, index: 0n, chain: EMPTY };
    const { lineage, epoch, index, chain } = place;
    return { lineage, epoch, index, chain };
  }

  get isConsistent(): boolean {
    const { place } = this.#writes;
    return place !== null && place.half === null && place.until === null;
  }

  get isTorn(): boolean {
    const { place } = this.#writes;
    return place !== null && (place.half !== null || place.until !== null);
  }

  standing(): Pick<Standing, "timeline" | "half" | "isEmpty" | "limits"> {
    const { head, limits } = this.#parts.store;
    const half = this.#writes.place?.half ?? null;
    const isTaking = half !== null && half.kind !== "entry";
    // What follows from the rows of an entry is written with them: there must be room for both.
    const bytes = BigInt(Math.floor((limits.bytes * 3) / 4));
    return {
      timeline: EMPTY, // of its own log, which is not the primary's business
      limits: { operations: Math.floor((limits.operations * 3) / 4), bytes },
      half: isTaking ? { isCopy: half.kind === "copy", head: EMPTY } : null,
      isEmpty: head!.shared.count === 0,
    };
  }

  session(progress: Progress, connection: Connection): ReceivedSession {
    return new AppliedSession(this.#parts, this.#writes, progress, connection);
  }
}

class AppliedSession implements ReceivedSession {
  readonly #parts: AppliedParts;
  readonly #writes: AppliedWrites;
  readonly #progress: Progress;
  readonly #connection: Connection;
  readonly #taker: SharedTaker;

  constructor(
    parts: AppliedParts,
    writes: AppliedWrites,
    progress: Progress,
    connection: Connection,
  ) {
    this.#parts = parts;
    this.#writes = writes;
    this.#progress = progress;
    this.#connection = connection;
    this.#taker = new SharedTaker(parts, writes, progress, connection);
  }

  async begin(decision: Decision): Promise<void> {
    if (decision.kind === "refuse") throw refusedByPrimary(decision.reason);
    if (decision.kind === "resume") return;
    if (decision.kind === "copy" && (await this.#taker.copy())) return;
    await this.#diff();
  }

  async after(end: StreamEnd): Promise<void> {
    const { log, figures } = this.#parts;
    assertGoesOn(end);
    if (end.kind === "trimmed") figures?.resumed("trimmed");
    else {
      figures?.damaged();
      log.warn("the shared data here differs from the primary's", {
        event: `${EVENT}.corruption-detected`,
        index: String(this.#place.index),
      });
      await this.#taker.mendOwn();
    }
    await this.#diff();
  }

  #diff(): Promise<void> {
    return inRounds(this.#parts, this.#progress, {
      mendOwn: () => this.#taker.mendOwn(),
      compare: () => this.#taker.diff(),
    });
  }

  async settle(): Promise<void> {
    // What is to be written is written with the entries.
  }

  async apply(message: ToReceiver, signal: AbortSignal): Promise<void> {
    const { batch, skip } = message;
    const steps = batch === null ? [] : this.#entries(message);
    const last = steps.at(-1)?.place ?? this.#place;
    if (skip !== null && skip.index > last.index) {
      this.#progress.announce(skip.index);
      steps.push({ operations: [], place: at(last, { ...skip, epoch: last.epoch }) });
    }
    if (steps.length === 0) return;
    await this.#writes.write(steps, {
      progress: this.#progress,
      signal,
      link: this.#connection.link,
    });
    this.#progress.well();
  }

  /** Those that are not applied yet. None is left out between them: the primary says how many have nothing for us. */
  #entries({
    batch,
    skipped,
  }: ToReceiver): { operations: LogEntry["operations"]; place: AppliedPlace }[] {
    const { entries } = batch!;
    const isRight = entries.length > 0 && entries.length <= BATCH_ENTRIES;
    if (!isRight || skipped.length !== entries.length * 4) throw protocolBroken("no entries");
    const counts = Buffer.from(skipped.buffer, skipped.byteOffset, skipped.byteLength);
    const steps = [];
    let place = this.#place;
    for (const [i, bytes] of entries.entries()) {
      const entry = readEntry(bytes);
      this.#progress.announce(entry.index);
      if (entry.index <= place.index) continue;
      if (entry.index !== place.index + 1n + BigInt(counts.readUInt32BE(i * 4))) {
        throw protocolBroken(`entry ${entry.index} after ${place.index}`);
      }
      place = at(place, entry);
      steps.push({ operations: entry.operations, place });
    }
    return steps;
  }

  compare({ shared: theirs }: ToReceiver): StreamEnd | null {
    if (theirs === null) throw protocolBroken("what is not shared");
    const { store, ports } = this.#parts;
    const { index, lineage, chain, half, until } = this.#place;
    this.#progress.announce(theirs.index);
    if (index !== theirs.index || half !== null || until !== null) return null;
    if (!equalBytes(lineage, theirs.lineage) || !equalBytes(chain, theirs.chain)) {
      return { kind: "diverged" };
    }
    const own = store.head!.shared;
    if (BigInt(own.count) !== theirs.count || !equalBytes(own.sum, theirs.sum)) {
      return { kind: "suspect" };
    }
    this.#progress.rounds = 0;
    this.#progress.isUnmended = false;
    ports.compared?.(true);
    this.#progress.well();
    return null;
  }

  answer(heal: Heal): Promise<void> {
    const { store } = this.#parts;
    const { half, until } = this.#place;
    const isWhole = half === null && until === null;
    return answer(heal, { store, isWhole, kind: "performance" }, this.#connection);
  }

  get #place(): AppliedPlace {
    const { place } = this.#writes;
    if (place === null) throw protocolBroken("entries before any rows");
    return place;
  }
}

function at(
  before: AppliedPlace,
  { epoch, index, chain }: Pick<Cursor, "epoch" | "index" | "chain">,
) {
  const isPast = before.until === null || index >= before.until;
  const until = isPast ? null : before.until;
  return { ...before, epoch, index, chain, half: null, part: 0, until };
}

function readEntry(bytes: Uint8Array): LogEntry {
  try {
    const entry = decodeSharedPart(bytes);
    if (!entry.operations.every(({ key }) => isLegalKey(key))) throw protocolBroken("no such key");
    return entry;
  } catch (error) {
    if (error instanceof MalformedBytes) throw protocolBroken("what is no shared entry");
    throw error;
  }
}
