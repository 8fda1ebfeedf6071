// The log as a secondary takes it: entries are applied in the order in which they come, what is durable is
// acknowledged and nothing else, and heads are compared. What comes while the disk is busy or full waits here, up to the credit.

import { describe } from "@holdfast/shared/failure";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Nanos, Timer } from "@holdfast/shared/world";
import { plainText, StatusError } from "@holdfast/shared/grpc/status";
import { isLegalKey } from "../../storage/key.ts";
import { protocolBroken } from "./failures.ts";
import {
  type Batch,
  BATCH_ENTRIES,
  CHUNK_BYTES,
  CREDIT,
  creditOf,
  countedLeases,
  type LeasesWanted,
  NO_WORDS,
  type Place,
  streamLog,
  type ToReceiver,
  type ToSender,
} from "./messages.ts";
import { Outbox } from "./outbox.ts";
import { indexOf } from "../following/own-log.ts";
import type {
  Connection,
  LinkParts,
  Progress,
  ReceivedLog,
  ReceivedSession,
  StreamEnd,
} from "./receiving.ts";

/** Questions that wait to be answered. */
const MAX_QUESTIONS = 8;
const MAX_PLACE = 2048;
const COUNTED_WITHIN: Nanos = 10n * SECOND;
/** Of all that waits, besides the bytes of entries, which have their credit. */
const MAX_BESIDE = 16 * 1024 * 1024;
/** What a message, an entry or a key takes besides its bytes. */
const EACH = 64;
/** Between two answers, while little is owed. */
const REST: Nanos = 100n * MILLISECOND;
const SOON_OWED = CREDIT / 8;

export class LogFollower {
  readonly #parts: LinkParts;
  readonly #progress: Progress;
  readonly #connection: Connection;
  readonly #received: ReceivedLog;
  readonly #session: ReceivedSession;
  readonly #outbox = new Outbox<ToSender>();
  readonly #queue: ToReceiver[] = [];
  #queuedBytes = 0; // of entries, until they are durable
  #besideBytes = 0;
  #questions = 0; // that wait
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal; // of the connection, or of this stream alone
  #wake: (() => void) | null = null;
  #owed = 0; // bytes of entries that are durable and not acknowledged yet
  #resting: Timer | null = null; // since the last answer
  #over: { readonly error: unknown } | null = null; // how the stream ended; without an error: by itself
  #isSuspect = false;

  constructor(
    parts: LinkParts,
    progress: Progress,
    connection: Connection,
    { received, session }: { readonly received: ReceivedLog; readonly session: ReceivedSession },
  ) {
    this.#parts = parts;
    this.#progress = progress;
    this.#connection = connection;
    this.#received = received;
    this.#session = session;
    this.#signal = AbortSignal.any([connection.signal, this.#stop.signal]);
  }

  async run(): Promise<StreamEnd> {
    const { link, epoch } = this.#connection;
    this.#progress.final = null; // whoever sends has not ended
    await this.#session.settle(); // nothing may come where nothing is written
    const { cursor, filter } = this.#received;
    this.#outbox.push({ start: { epoch, cursor, filter }, ack: null });
    const signal = this.#signal;
    const reading = this.#read(link.stream(streamLog, this.#outbox, { signal }));
    try {
      return await this.#work();
    } finally {
      this.#resting?.cancel();
      this.#outbox.end();
      this.#stop.abort();
      await reading;
    }
  }

  /** Somebody has found that what is here is not what it should be: the stream ends, so that it is looked at. */
  suspect(): void {
    this.#isSuspect = true;
    this.#wake?.();
  }

  /** Takes what comes, so that the sender is never kept waiting for what it may send. */
  async #read(messages: AsyncIterable<ToReceiver>): Promise<void> {
    try {
      for await (const message of messages) {
        const bytes = creditOf(message);
        // An entry may be larger than all the credit: one such at a time.
        const isTooMuch = this.#queuedBytes > CREDIT || this.#besideBytes > MAX_BESIDE;
        if (isTooMuch || this.#questions > MAX_QUESTIONS) {
          const error = protocolBroken("more than may wait for an answer; the stream was ended");
          this.#queue.length = 0;
          this.#stop.abort(error); // also of whatever waits for the disk
          throw error;
        }
        this.#queuedBytes += bytes;
        this.#besideBytes += besideOf(message);
        if (isQuestion(message)) this.#questions++;
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
      const message = this.#next();
      if (message === undefined) {
        if (this.#over !== null) {
          if (this.#over.error !== null) throw this.#over.error;
          return { kind: "closed" };
        }
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const end = await this.#take(this.#withNext(message));
      if (end !== null) return end;
    }
  }

  #next(): ToReceiver | undefined {
    const message = this.#queue.shift();
    if (message === undefined) return undefined;
    this.#besideBytes -= besideOf(message);
    if (isQuestion(message)) this.#questions--;
    return message;
  }

  /** What has come behind it meanwhile is one write to the disk with it, and one answer. */
  #withNext(message: ToReceiver): ToReceiver {
    const batch = entriesOf(message);
    if (batch === null) return message;
    const entries = [...batch.entries];
    let bytes = sizeOf(batch);
    for (let next = entriesOf(this.#queue[0]); next !== null; next = entriesOf(this.#queue[0])) {
      bytes += sizeOf(next);
      if (entries.length + next.entries.length > BATCH_ENTRIES || bytes > CHUNK_BYTES) break;
      if (!isBehind(entries.at(-1), next.entries[0])) break; // judged by itself
      entries.push(...next.entries);
      this.#progress.announce(this.#next()!.head);
    }
    return entries.length === batch.entries.length ? message : { ...message, batch: { entries } };
  }

  async #take(message: ToReceiver): Promise<StreamEnd | null> {
    const { batch, skip, checkpoint, shared, final, heal, leases } = message;
    if (message.goodbye !== "")
      return { kind: "goodbye", reason: plainText(message.goodbye.slice(0, 256)) };
    if (message.trimmed > 0n) return { kind: "trimmed" };
    if (message.isDiverged) return { kind: "diverged" };
    if (message.isFiltered) return { kind: "filtered" };
    if (message.hasNews) this.#progress.onNews();
    this.#progress.announce(message.head);
    if (batch !== null || skip !== null) {
      await this.#batch(message);
      if (shared === null) return null;
    }
    if (checkpoint.length > 0 || shared !== null) return this.#session.compare(message);
    if (final !== null) await this.#end(final);
    if (heal !== null) await this.#answered("what it lost", () => this.#session.answer(heal));
    if (leases !== null) await this.#answered("leases", () => this.#count(leases));
    return null;
  }

  /** Whoever has asked may be gone by then: that ends nothing here. */
  async #answered(what: string, answer: () => Promise<void>): Promise<void> {
    try {
      await answer();
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#parts.log.warn("the primary has asked a question, and did not take the answer", {
        what,
        cause: describe(error),
      });
    }
  }

  async #count({ id, ...question }: LeasesWanted): Promise<void> {
    const { link, epoch, signal } = this.#connection;
    const { countLeases } = this.#parts.ports;
    if (!isLegalPlace(question)) throw protocolBroken("a question for what has no leases");
    const count = BigInt((await countLeases?.(question)) ?? 0);
    await link.call(countedLeases, { epoch, id, count }, { signal, timeout: COUNTED_WITHIN });
  }

  /** Kept before it is answered: whoever gave up its place hears that it was understood. */
  async #end(final: Place): Promise<void> {
    const { ports } = this.#parts;
    const { index } = this.#received.cursor;
    this.#progress.announce(final.index);
    this.#progress.final = final;
    if (index >= final.index) await ports.ended(final);
    this.#outbox.push({ start: null, ack: { received: index, durable: index, credit: 0n } });
  }

  async #batch(message: ToReceiver): Promise<void> {
    const bytes = creditOf(message);
    await this.#session.apply(message, this.#signal);
    const { index } = this.#received.cursor;
    this.#progress.lastRemote = index;
    this.#progress.reach(index, this.#parts.clock.elapsed());
    this.#queuedBytes -= bytes; // before anybody is told that there is room
    this.#owed += bytes;
    if (this.#resting === null || this.#owed >= SOON_OWED) this.#acknowledge();
    await this.#session.settle();
  }

  /** What becomes durable soon after is acknowledged together: each answer costs both sides more than an entry does. */
  #acknowledge(): void {
    const { index } = this.#received.cursor;
    const credit = BigInt(this.#owed);
    this.#owed = 0;
    this.#outbox.push({ start: null, ack: { received: index, durable: index, credit } });
    this.#resting?.cancel();
    this.#resting = this.#parts.timers.after(REST, () => {
      this.#resting = null;
      if (this.#owed > 0) this.#acknowledge();
    });
  }
}

function isQuestion({ heal, leases }: ToReceiver): boolean {
  return heal !== null || leases !== null;
}

function isLegalPlace({ mount, place }: Pick<LeasesWanted, "mount" | "place">): boolean {
  return isUuid(mount) && place.length <= MAX_PLACE && isLegalKey(`local/${place}`);
}

/** Whatever a message may say but its entries, and `head`, which is heard of each that is joined with others. */
const OTHER_WORDS = (Object.keys(NO_WORDS) as (keyof ToReceiver)[]).filter(
  (name) => name !== "batch" && name !== "head",
);

/** Null where anything else is said, or nothing: it would be lost where entries go together. */
function entriesOf(message: ToReceiver | undefined): Batch | null {
  if (message === undefined || OTHER_WORDS.some((name) => isSaid(message[name]))) return null;
  return message.batch;
}

function isSaid(word: ToReceiver[keyof ToReceiver]): boolean {
  return word instanceof Uint8Array ? word.length > 0 : Boolean(word);
}

function isBehind(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && indexOf(other) === indexOf(one) + 1n;
}

function sizeOf({ entries }: Batch): number {
  return entries.reduce((sum, entry) => sum + entry.length, 0);
}

function besideOf(message: ToReceiver): number {
  const { batch, checkpoint, goodbye, final, heal, skipped, shared, leases } = message;
  const keys = heal?.keys ?? [];
  const parts = 1 + (batch?.entries.length ?? 0) + keys.length;
  const heads = checkpoint.length + (shared?.sum.length ?? 0);
  const place = (leases?.mount.length ?? 0) + (leases?.place.length ?? 0);
  const own = heads + goodbye.length + (final?.chain.length ?? 0) + skipped.length + place;
  const question = keys.reduce((sum, key) => sum + key.length, heal?.slots.length ?? 0);
  return EACH * parts + own + question;
}
