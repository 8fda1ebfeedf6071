// What is shared of the primary's log, applied beside a log of this store's own. Every entry is one transaction here, with the rows that
// follow from it and the place after it; own writes go on between them. The primary's chain cannot be made from what is sent: the one
// that an entry or a skipped place comes with is kept, and shown to the primary when the log is gone on with.

import { EMPTY, equalBytes } from "@holdfast/shared/bytes";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { Followers } from "../../barrier/followers.ts";
import type { Cursor, Standing } from "../../cluster/hello.ts";
import { decodeSharedPart, type LogEntry } from "../../storage/rows/log-entry.ts";
import { isLegalKey } from "../../storage/key.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import { type AppliedPlace, type AppliedPlaces, isOfOneIndex } from "./applied-place.ts";
import { AppliedWrites } from "./applied-writes.ts";
import type { Decision } from "../stream/decision.ts";
import { protocolBroken, refusedByPrimary } from "../stream/failures.ts";
import { answer } from "../following/answering.ts";
import type { Heal, ToReceiver } from "../stream/messages.ts";
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
import type { WithheldHere } from "../filters/withheld-here.ts";
import { SharedTaker } from "./taking-shared.ts";

/** Of comparisons in a session for which something else was withheld before they were over. */
const TURNS = 8;

export interface AppliedParts extends LinkParts {
  readonly followers: Pick<Followers, "apply">;
  readonly places: AppliedPlaces;
  /** What this cluster has written of what is shared, while it led: kept before rows of its primary take its place. Default: nothing. */
  readonly surplus?: {
    /** False where it has nothing of its own. */
    readonly keep: () => Promise<boolean>;
    /** The rows here are those of the primary. */
    readonly over: () => Promise<void>;
  };
  /** How much of a comparison is kept until all of it is here. Default 64 MiB. */
  readonly stagedBytes?: number;
  /** What is not sent here. Default: all that is shared is. */
  readonly withheld?: WithheldHere;
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

  get filter(): string {
    return this.#parts.withheld?.version ?? "";
  }

  get isConsistent(): boolean {
    const { place } = this.#writes;
    return place !== null && isOfOneIndex(place);
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
  #of = 0; // which primary of the set this is

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
    const { surplus } = this.#parts;
    if (decision.kind === "refuse") throw refusedByPrimary(decision.reason);
    this.#of = this.#parts.ports.epoch();
    const hasLed = (await surplus?.keep()) ?? false;
    const isDue = await this.#sift({ isOtherLog: decision.kind !== "resume" || hasLed, hasLed });
    // Since it led, the rows here are not those of the place that it had reached before.
    if (decision.kind === "resume" && !hasLed && !isDue && !this.#hasRowsFromBefore) return;
    const isCopied = decision.kind === "copy" && (await this.#taker.copy());
    if (!isCopied || isDue) await this.#diff();
    if (hasLed) await surplus!.over();
    await this.#sifted();
  }

  /** Whether rows that are newer than the place may be such as this primary never had: they came from an earlier one. */
  get #hasRowsFromBefore(): boolean {
    const { place } = this.#writes;
    return place !== null && !isOfOneIndex(place) && place.of !== this.#of;
  }

  /** What is withheld, before anything else is taken: whether rows have to be compared for it. */
  async #sift({ isOtherLog = false, hasLed = false } = {}): Promise<boolean> {
    const { withheld, log } = this.#parts;
    if (withheld === undefined) return false;
    const answer = await this.#taker.withheld(withheld.version);
    if (!answer.isSame) await withheld.install(answer, isOtherLog);
    if (hasLed) await withheld.sinceItLed();
    if (answer.isSame && !withheld.isDue) return false;
    this.#progress.rounds = 0; // rows differ by what is withheld: that is no damage which comparisons have not mended
    const { mounts, namespaces } = answer;
    const count = mounts.length + namespaces.length;
    if (!answer.isSame) log.info("the primary withholds something else", { withheld: count });
    this.#progress.state = "merkle-diff"; // nothing is applied until it has gone, and what it has given may take minutes to be revoked
    const { signal } = this.#connection;
    for await (const rows of withheld.remains(signal)) await this.#taker.remove(rows);
    await withheld.purge(signal);
    return true;
  }

  async #sifted(): Promise<void> {
    const { withheld } = this.#parts;
    if (withheld?.isDue !== true) return;
    // Rows that were replaced since may have been kept with what is given up.
    await withheld.purge(this.#connection.signal);
    await withheld.settle();
  }

  async after(end: StreamEnd): Promise<void> {
    const { log, figures } = this.#parts;
    assertGoesOn(end);
    if (end.kind === "filtered") await this.#sift();
    else if (end.kind === "trimmed") figures?.resumed("trimmed");
    else {
      figures?.damaged();
      log.warn("the shared data here differs from the primary's", {
        event: `${EVENT}.corruption-detected`,
        index: String(this.#place.index),
      });
      await this.#taker.mendOwn();
    }
    await this.#diff();
    await this.#sifted();
  }

  /** While rows are compared something else may be withheld: then they are compared with that, and not in another session after a pause. */
  async #diff(): Promise<void> {
    const { withheld } = this.#parts;
    for (let turn = 1; ; turn++) {
      const version = withheld?.version;
      try {
        return await this.#compared();
      } catch (error) {
        const isOther = error instanceof StatusError && error.status === Status.aborted;
        if (!isOther || turn === TURNS) throw error;
        await this.#sift();
        if (withheld?.version === version) throw error;
      }
    }
  }

  #compared(): Promise<void> {
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
      const place = at(last, { ...skip, epoch: last.epoch }, this.#of);
      steps.push({ operations: [], place });
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
    if (entries.length === 0 || skipped.length !== entries.length * 4) {
      throw protocolBroken("no entries");
    }
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
      place = at(place, entry, this.#of);
      steps.push({ operations: entry.operations, place });
    }
    return steps;
  }

  compare({ shared: theirs }: ToReceiver): StreamEnd | null {
    if (theirs === null) throw protocolBroken("what is not shared");
    const { store, ports } = this.#parts;
    const place = this.#place;
    const { index, lineage, chain } = place;
    this.#progress.announce(theirs.index);
    if (index !== theirs.index || !isOfOneIndex(place)) return null;
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
    const isWhole = isOfOneIndex(this.#place);
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
  of: number,
): AppliedPlace {
  const isPast = before.until === null || index >= before.until;
  const until = isPast ? null : before.until;
  return { ...before, epoch, index, chain, of, half: null, part: 0, until };
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
