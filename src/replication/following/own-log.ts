// The log of the primary as the log of the store here: every entry as it was written there, with its index and its chain.

import { equalBytes } from "@holdfast/shared/bytes";
import type { Cursor, Standing } from "../../cluster/hello.ts";
import { decodeHead, encodeTimeline } from "../../storage/rows/head.ts";
import { decodeEntryHeader } from "../../storage/rows/log-entry.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import { answer } from "./answering.ts";
import { CatchingUp } from "./catching-up.ts";
import type { Decision } from "../stream/decision.ts";
import { protocolBroken } from "../stream/failures.ts";
import { BATCH_ENTRIES, type Heal, type ToReceiver } from "../stream/messages.ts";
import {
  type Connection,
  cursorOf,
  hasCode,
  patiently,
  type Progress,
  type ReceivedLog,
  type ReceivedSession,
  type ReceiverParts,
  type StreamEnd,
} from "../stream/receiving.ts";
import { isCopied } from "./taking-rows.ts";

export class OwnLog implements ReceivedLog {
  readonly #parts: ReceiverParts;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  get cursor(): Cursor {
    return cursorOf(this.#parts.store);
  }

  /** Nothing is withheld from who stands in for the primary. */
  readonly filter = "";

  get isConsistent(): boolean {
    const { store, ports } = this.#parts;
    return store.adopting === null && ports.marks.read() === null;
  }

  standing(): Pick<Standing, "timeline" | "half" | "isEmpty" | "limits"> {
    const { store } = this.#parts;
    const { head, timeline, adopting, limits } = store;
    const { shared, local } = head!;
    return {
      timeline: encodeTimeline(timeline!),
      limits: { operations: limits.operations, bytes: BigInt(limits.bytes) },
      // A rewind goes on by its log, which is whole until it ends.
      half: adopting?.kind === "adopt" ? { isCopy: isCopied(store), head: adopting.head } : null,
      isEmpty: shared.count + local.count === 0,
    };
  }

  session(progress: Progress, connection: Connection): ReceivedSession {
    return new OwnSession(this.#parts, progress, connection);
  }
}

class OwnSession implements ReceivedSession {
  readonly #parts: ReceiverParts;
  readonly #progress: Progress;
  readonly #connection: Connection;
  readonly #catchingUp: CatchingUp;

  constructor(parts: ReceiverParts, progress: Progress, connection: Connection) {
    this.#parts = parts;
    this.#progress = progress;
    this.#connection = connection;
    this.#catchingUp = new CatchingUp(parts, progress, connection);
  }

  async begin(decision: Decision, timeline: Uint8Array): Promise<void> {
    const { store, ports } = this.#parts;
    await this.#catchingUp.begin(decision, timeline);
    // It is on the primary's log now: what comes later is given up by another permission.
    if (ports.mayRewind()) await ports.rewound(store.index);
  }

  after(end: StreamEnd): Promise<void> {
    return this.#catchingUp.after(end);
  }

  answer(heal: Heal): Promise<void> {
    const { store, ports } = this.#parts;
    const isWhole = store.adopting === null && ports.marks.read() === null;
    return answer(heal, { store, isWhole, kind: "dr" }, this.#connection);
  }

  async apply({ batch }: ToReceiver, signal: AbortSignal): Promise<void> {
    const entries = this.#unknown(batch?.entries ?? []);
    if (entries.length > 0) await this.#apply(entries, signal);
  }

  /** Those that are not here yet. What is here already must be the same. */
  #unknown(entries: readonly Uint8Array[]): Uint8Array[] {
    const { store } = this.#parts;
    if (entries.length === 0 || entries.length > BATCH_ENTRIES) throw protocolBroken("no entries");
    const found: Uint8Array[] = [];
    for (const entry of entries) {
      const index = indexOf(entry);
      this.#progress.announce(index);
      if (index > store.index) found.push(entry);
      else if (!this.#isKnown(index, entry)) {
        throw protocolBroken(`another entry ${index} than the one that is here`);
      }
    }
    return found;
  }

  #isKnown(index: bigint, entry: Uint8Array): boolean {
    const [row] = this.#parts.store.logs(index, 1);
    return row?.index !== index || equalBytes(row.entry, entry); // trimmed: nobody can say
  }

  async #apply(entries: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const { store, timers, ports } = this.#parts;
    const { link } = this.#connection;
    const apply = () => store.apply(entries.map((entry) => ({ entry })));
    try {
      await patiently({ timers, progress: this.#progress }, signal, apply);
    } catch (error) {
      if (hasCode(error, "log-group-too-large") && entries.length > 1) {
        const half = Math.ceil(entries.length / 2);
        await this.#apply(entries.slice(0, half), signal);
        return await this.#apply(entries.slice(half), signal);
      }
      if (!hasCode(error, "log-control-unreadable")) throw error;
      await ports.keys(link);
      await patiently({ timers, progress: this.#progress }, signal, apply);
    }
    this.#progress.well();
  }

  /** All that was read later than it should be has come: the rows are of one index. */
  async settle(): Promise<void> {
    const { store, ports } = this.#parts;
    const mark = ports.marks.read();
    if (mark !== null && store.index >= mark) await ports.marks.write(null);
  }

  compare({ checkpoint: head }: ToReceiver): StreamEnd | null {
    const { store, ports } = this.#parts;
    const { index } = readHead(head);
    this.#progress.announce(index);
    if (store.index !== index || ports.marks.read() !== null) return null;
    const parts = store.differsFrom(head);
    if (parts.some((part) => part !== "shared" && part !== "local")) return { kind: "diverged" };
    if (parts.length > 0) return { kind: "differs", head };
    this.#progress.rounds = 0;
    this.#progress.isUnmended = false;
    ports.compared?.(true);
    this.#progress.well();
    return null;
  }
}

export function indexOf(entry: Uint8Array): bigint {
  try {
    return decodeEntryHeader(entry).index;
  } catch (error) {
    if (error instanceof MalformedBytes) throw protocolBroken("what is no entry");
    throw error;
  }
}

function readHead(bytes: Uint8Array) {
  try {
    return decodeHead(bytes);
  } catch (error) {
    if (error instanceof MalformedBytes) throw protocolBroken("what is no head");
    throw error;
  }
}
