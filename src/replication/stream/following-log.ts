// The log as a secondary takes it: entries are applied in the order in which they come, what is durable is
// acknowledged and nothing else, and heads are compared. What comes while the disk is busy or full waits here, up to the credit.

import { equalBytes } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import { StatusError } from "../../grpc/status.ts";
import { decodeHead } from "../../storage/rows/head.ts";
import { decodeEntryHeader } from "../../storage/rows/log-entry.ts";
import { HASH_BYTES } from "../../storage/rows/merkle.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import type { CommittedEntry } from "../../storage/store.ts";
import { answer } from "./answering.ts";
import { protocolBroken, waitsForKeys } from "./failures.ts";
import {
  type Batch,
  BATCH_ENTRIES,
  CHUNK_BYTES,
  CREDIT,
  type Heal,
  type Place,
  streamLog,
  type ToReceiver,
  type ToSender,
} from "./messages.ts";
import { Outbox } from "./outbox.ts";
import {
  type Connection,
  cursorOf,
  hasCode,
  patiently,
  type Progress,
  type ReceiverParts,
} from "./receiving.ts";

/** How a stream of the log ends. */
export type StreamEnd =
  | { readonly kind: "trimmed" | "diverged" | "again" | "closed" | "suspect" }
  | { readonly kind: "differs"; readonly head: Uint8Array }
  | { readonly kind: "goodbye"; readonly reason: string };

const AGAIN: StreamEnd = { kind: "again" };
/** What one who is sealed may hold until a head comes with it. */
const HELD_BYTES = 16 * 1024 * 1024;
/** Questions that wait to be answered. */
const MAX_QUESTIONS = 8;

export class LogFollower {
  readonly #parts: ReceiverParts;
  readonly #progress: Progress;
  readonly #connection: Connection;
  readonly #outbox = new Outbox<ToSender>();
  readonly #isSealed: boolean; // when it began
  readonly #queue: ToReceiver[] = [];
  #queuedBytes = 0;
  #wake: (() => void) | null = null;
  #over: { readonly error: unknown } | null = null; // how the stream ended; without an error: by itself
  #held: CommittedEntry[] = []; // without a head yet
  #heldBytes = 0;
  #isSuspect = false;

  constructor(parts: ReceiverParts, progress: Progress, connection: Connection) {
    this.#parts = parts;
    this.#progress = progress;
    this.#connection = connection;
    this.#isSealed = parts.store.locked;
  }

  async run(): Promise<StreamEnd> {
    const { link, epoch, signal } = this.#connection;
    const { store } = this.#parts;
    const stop = new AbortController();
    this.#progress.final = null; // whoever sends has not ended
    await this.#pastMark(); // nothing may come where nothing is written
    const cursor = cursorOf(store);
    this.#outbox.push({ start: { epoch, cursor, isSealed: this.#isSealed }, ack: null });
    const both = AbortSignal.any([signal, stop.signal]);
    const reading = this.#read(link.stream(streamLog, this.#outbox, { signal: both }));
    try {
      return await this.#work();
    } finally {
      this.#outbox.end();
      stop.abort();
      await reading;
    }
  }

  /** Looks whether it was unsealed since it began, also where nothing comes: then it begins anew, as one that is not. */
  look(): void {
    if (this.#isUnsealed) this.#wake?.();
  }

  /** Somebody has found that what is here is not what it should be: the stream ends, so that it is looked at. */
  suspect(): void {
    this.#isSuspect = true;
    this.#wake?.();
  }

  get #isUnsealed(): boolean {
    return this.#isSealed && !this.#parts.store.locked;
  }

  /** Takes what comes, so that the sender is never kept waiting for what it may send. */
  async #read(messages: AsyncIterable<ToReceiver>): Promise<void> {
    try {
      for await (const message of messages) {
        const bytes = message.batch === null ? 0 : sizeOf(message.batch);
        // An entry may be larger than all the credit: one such at a time.
        const questions = this.#queue.filter(({ heal }) => heal !== null).length;
        if (this.#queuedBytes > CREDIT || questions > MAX_QUESTIONS) {
          throw protocolBroken("more than it may");
        }
        this.#queuedBytes += bytes;
        this.#queue.push(message);
        this.#wake?.();
      }
      this.#over = { error: null };
    } catch (error) {
      this.#over = { error };
    }
    this.#wake?.();
  }

  async #work(): Promise<StreamEnd> {
    for (;;) {
      if (this.#isSuspect) return { kind: "suspect" };
      const message = this.#queue.shift();
      if (message === undefined) {
        if (this.#over !== null) {
          if (this.#over.error !== null) throw this.#over.error;
          return { kind: "closed" };
        }
        if (this.#isUnsealed) return AGAIN; // what waits for a head comes once more
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const end = await this.#take(this.#withNext(message));
      if (end !== null) return end;
    }
  }

  /** What has come behind it meanwhile is one write to the disk with it, and one answer. */
  #withNext(message: ToReceiver): ToReceiver {
    const { batch } = message;
    if (batch === null || this.#isSealed) return message; // there each goes with its own leaves
    const entries = [...batch.entries];
    let bytes = sizeOf(batch);
    for (let next = entriesOf(this.#queue[0]); next !== null; next = entriesOf(this.#queue[0])) {
      bytes += sizeOf(next);
      if (entries.length + next.entries.length > BATCH_ENTRIES || bytes > CHUNK_BYTES) break;
      if (!isBehind(entries.at(-1), next.entries[0])) break; // judged by itself
      entries.push(...next.entries);
      this.#queue.shift();
    }
    return entries.length === batch.entries.length
      ? message
      : { ...message, batch: { ...batch, entries } };
  }

  async #take(message: ToReceiver): Promise<StreamEnd | null> {
    const { batch, checkpoint, final, heal } = message;
    if (message.goodbye !== "") return { kind: "goodbye", reason: message.goodbye.slice(0, 256) };
    if (message.trimmed > 0n) return { kind: "trimmed" };
    if (message.isDiverged) return { kind: "diverged" };
    if (batch !== null) return await this.#batch(batch);
    if (checkpoint.length > 0) return this.#compare(checkpoint);
    if (final !== null) await this.#end(final);
    if (heal !== null) await this.#answer(heal);
    return null;
  }

  /** Whoever has asked may be gone by then: that ends nothing here. */
  async #answer(heal: Heal): Promise<void> {
    try {
      await answer(heal, this.#parts, this.#connection);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#parts.log.warn("the primary has asked for what it lost, and did not take the answer", {
        cause: describe(error),
      });
    }
  }

  /** Kept before it is answered: whoever gave up its place hears that it was understood. */
  async #end(final: Place): Promise<void> {
    const { store, ports } = this.#parts;
    const { index } = store;
    this.#progress.announce(final.index);
    this.#progress.final = final;
    if (index >= final.index) await ports.ended(final);
    this.#outbox.push({ start: null, ack: { received: index, durable: index, credit: 0n } });
  }

  async #batch(batch: Batch): Promise<StreamEnd | null> {
    const { store, clock } = this.#parts;
    const bytes = sizeOf(batch);
    const entries = this.#unknown(batch);
    const end = store.locked
      ? await this.#takeSealed(entries, batch.head)
      : await this.#applyAll(entries);
    if (end !== null) return end;
    const { index } = store; // durable: whatever is applied is
    this.#progress.lastRemote = index;
    if (index >= this.#progress.announced) this.#progress.completeAt = clock.elapsed();
    this.#queuedBytes -= bytes; // before anybody is told that there is room
    this.#outbox.push({
      start: null,
      ack: { received: index, durable: index, credit: BigInt(bytes) },
    });
    await this.#pastMark();
    // It was unsealed meanwhile: what only a sealed one needs is not sent any more.
    return this.#isUnsealed ? AGAIN : null;
  }

  /** Those that are not here yet. What is here already must be the same. */
  #unknown(batch: Batch): CommittedEntry[] {
    const { store } = this.#parts;
    const { entries, leaves } = batch;
    if (entries.length === 0 || entries.length > BATCH_ENTRIES) throw protocolBroken("no entries");
    const found: CommittedEntry[] = [];
    const held = BigInt(this.#held.length);
    for (const [i, entry] of entries.entries()) {
      const index = indexOf(entry);
      this.#progress.announce(index);
      if (index > store.index + held) found.push({ entry, leaves: leavesIn(leaves[i]) });
      else if (index <= store.index && !this.#isKnown(index, entry)) {
        throw protocolBroken(`another entry ${index} than the one that is here`);
      }
    }
    return found;
  }

  #isKnown(index: bigint, entry: Uint8Array): boolean {
    const [row] = this.#parts.store.logs(index, 1);
    return row?.index !== index || equalBytes(row.entry, entry); // trimmed: nobody can say
  }

  /** With what waits for a head, once there is one. Before the mark heads are not those of the primary. */
  async #takeSealed(
    entries: readonly CommittedEntry[],
    head: Uint8Array,
  ): Promise<StreamEnd | null> {
    if (!this.#isSealed) return AGAIN; // it was sealed since, and needs more beside the entries
    const { store, ports } = this.#parts;
    this.#held.push(...entries);
    for (const { entry } of entries) this.#heldBytes += entry.length;
    const mark = ports.marks.read();
    const last = store.index + BigInt(this.#held.length);
    if (head.length === 0 || this.#held.length === 0 || (mark !== null && last < mark)) {
      if (this.#heldBytes > HELD_BYTES) throw waitsForKeys();
      return null;
    }
    const all = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return await this.#apply(all, head);
  }

  async #applyAll(entries: readonly CommittedEntry[]): Promise<StreamEnd | null> {
    const all = [...this.#held, ...entries]; // it was unsealed meanwhile
    this.#held = [];
    this.#heldBytes = 0;
    return all.length === 0 ? null : await this.#apply(all, null);
  }

  async #apply(
    group: readonly CommittedEntry[],
    head: Uint8Array | null,
  ): Promise<StreamEnd | null> {
    const { store, timers, ports } = this.#parts;
    const { signal, link } = this.#connection;
    const apply = () => store.apply(group, head);
    try {
      await patiently({ timers, progress: this.#progress }, signal, apply);
    } catch (error) {
      if (hasCode(error, "log-group-too-large") && group.length > 1 && head === null) {
        const half = Math.ceil(group.length / 2);
        const end = await this.#apply(group.slice(0, half), null);
        return end ?? (await this.#apply(group.slice(half), null));
      }
      if (hasCode(error, "log-proof-missing", "store-locked")) return AGAIN; // it was sealed meanwhile
      if (!hasCode(error, "log-control-unreadable")) throw error;
      await ports.keys(link);
      await patiently({ timers, progress: this.#progress }, signal, apply);
    }
    this.#progress.well();
    return null;
  }

  /** All that was read later than it should be has come: the rows are of one index. */
  async #pastMark(): Promise<void> {
    const { store, ports } = this.#parts;
    if (store.locked) return; // it can be written down later
    const mark = ports.marks.read();
    if (mark !== null && store.index >= mark) await ports.marks.write(null);
  }

  #compare(head: Uint8Array): StreamEnd | null {
    const { store, ports } = this.#parts;
    const { index } = readHead(head);
    this.#progress.announce(index);
    if (store.index !== index || ports.marks.read() !== null) return null;
    const parts = store.differsFrom(head);
    if (parts.some((part) => part !== "shared" && part !== "local")) return { kind: "diverged" };
    if (parts.length > 0) return store.locked ? null : { kind: "differs", head }; // it is mended with the keys
    this.#progress.rounds = 0;
    this.#progress.isUnmended = false;
    ports.compared?.(true);
    this.#progress.well();
    return null;
  }
}

/** Null where something else is said, or nothing. */
function entriesOf(message: ToReceiver | undefined): Batch | null {
  if (message === undefined || message.goodbye !== "") return null;
  return message.trimmed > 0n || message.isDiverged ? null : message.batch;
}

function isBehind(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && indexOf(other) === indexOf(one) + 1n;
}

function sizeOf({ entries }: Batch): number {
  return entries.reduce((sum, entry) => sum + entry.length, 0);
}

function indexOf(entry: Uint8Array): bigint {
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

function leavesIn(bytes: Uint8Array | undefined): Uint8Array[] | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length % HASH_BYTES !== 0) throw protocolBroken("leaves of another length");
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, i) =>
    bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  );
}
