// The log as one secondary is sent it: what is durable, in order, as fast as it takes it; now and then the head for
// comparison; and what it has made durable comes back. It reads behind the commits and never holds one up.

import { equalBytes } from "@holdfast/shared/bytes";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timer, Timers } from "@holdfast/shared/world";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { Store } from "../../storage/store.ts";
import { chainAt } from "./decision.ts";
import type { Follower, LogTail } from "./log-tail.ts";
import type { Ended, Member } from "./members.ts";
import {
  BATCH_ENTRIES,
  CHUNK_BYTES,
  CREDIT,
  creditOf,
  NO_WORDS,
  type Place,
  type Start,
  type ToReceiver,
  type ToSender,
} from "./messages.ts";
import type { MemberFilter } from "../filters/filters.ts";
import type { SharedView } from "../filters/shared-view.ts";
import { SharedLog } from "../sending/shared-log.ts";

const CHECKPOINT_EVERY: Nanos = 10n * SECOND;
const CHECKPOINT_ENTRIES = 10_000;
/** What comes so soon after a message goes together: each costs both sides, and the disk there, more than what is in it. */
export const GATHERED: Nanos = 8n * MILLISECOND;
/** After so long what is committed goes with the commit that has waited least: nobody is woken for it. */
export const GATHERED_ENOUGH: Nanos = 4n * MILLISECOND;
/** More comes together where the process works for more than this share of its time: with half as many messages a secondary costs it a
 *  third less. */
const MUCH_TO_DO = 0.3;
export const GATHERED_MORE: Nanos = 4n * MILLISECOND;
const ENOUGH = { entries: 64, bytes: 64 * 1024 };
/** How far the log is where it has nothing for the other side is told so often: each time costs a commit there. */
export const SKIPPED_EVERY: Nanos = 250n * MILLISECOND;
/** How long somebody has to leave who was told to. */
export const LEAVING: Nanos = SECOND / 2n;

export interface LogSessionParts {
  readonly store: Store;
  readonly tail: LogTail;
  readonly member: Member;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Throws where the epoch is not that of the set. */
  readonly admit: (epoch: number) => void;
  /** Which share of its time this process has worked of late. Default: it has plenty. */
  readonly utilization?: () => number;
  /** Called after each acknowledgement. */
  readonly acknowledged: () => void;
  /** The last entry of all, where there is one. */
  readonly final: () => Place | null;
  /** Only what is shared is sent. Default: everything is. */
  readonly sharedOnly?: boolean;
  /** What of it is withheld, as it is now. Default: nothing is. */
  readonly filter?: () => MemberFilter | null;
}

/** By what a session goes. */
interface Filtered {
  readonly filter: MemberFilter;
  readonly version: string;
  readonly view: SharedView;
}

export class LogSession implements Ended {
  readonly #parts: LogSessionParts;
  #next = 0n;
  #credit = CREDIT;
  #goodbye: string | null = null;
  #isOver = false;
  #isFinal = false; // that it was told
  #isFinalHeard = false;
  readonly #over = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #wake: (() => void) | null = null;
  #isDueSoon: Timer | null = null; // a checkpoint
  #sentAt: Nanos | null = null; // the last entries
  #gathering: Timer | null = null; // while some wait
  #follower: Follower | null = null;
  #shared: SharedLog | null = null; // where nothing else is sent
  #filtered: Filtered | null = null; // null: nothing is withheld
  #skipping: Timer | "over" | null = null; // until it is told what has nothing for the other side
  #hasNews = false;
  readonly #questions: { readonly words: ToReceiver; readonly after: bigint }[] = [];
  #sinceCheckpoint = 0;
  #checkedAt: Nanos | null = null;

  constructor(parts: LogSessionParts) {
    this.#parts = parts;
  }

  /** Says goodbye as soon as it can be heard, and then nothing more. Resolves when the other side has left, or had the
   *  time to. */
  end(reason: string): Promise<void> {
    this.#goodbye ??= reason;
    this.wake();
    return this.#ended.promise;
  }

  /** Whether the other side has answered that this was the last entry of all. */
  get isFinalHeard(): boolean {
    return this.#isFinalHeard;
  }

  /** Resolves when nothing is sent any more. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The other side asks what there is. */
  tellNews(): void {
    this.#hasNews = true;
    this.wake();
  }

  /** Asks, once the entries up to `after` were sent: they are applied there before it is answered. */
  ask(question: Partial<Pick<ToReceiver, "heal" | "leases">>, after: bigint): void {
    this.#questions.push({ words: { ...NO_WORDS, ...question }, after });
    this.wake();
  }

  wake(): void {
    this.#wake?.();
  }

  async *run(requests: AsyncIterable<ToSender>, signal: AbortSignal): AsyncGenerator<ToReceiver> {
    const { store, tail, member, acknowledged } = this.#parts;
    const said = requests[Symbol.asyncIterator]();
    const first = await said.next();
    const start = first.done === true ? null : first.value.start;
    if (start === null) throw new StatusError(Status.invalidArgument, "it begins with a start");
    const refusal = await this.#begin(start);
    if (refusal !== null) {
      yield refusal;
      return;
    }
    void member.stream?.end("another stream has begun");
    member.stream = this;
    const stop = () => {
      this.#isOver = true;
      this.#over.resolve();
      this.wake();
    };
    signal.addEventListener("abort", stop, { once: true });
    const follower = tail.follow(this.#next);
    this.#follower = follower;
    const unwatch = store.onCommit(() => {
      if (!this.#gathers()) this.wake();
    });
    void this.#listen(said).finally(stop);
    try {
      while (!this.#isOver && !signal.aborted) {
        const message = this.#message();
        if (message === null) await this.#sleep();
        else {
          yield message;
          if (message.goodbye !== "") await this.#left();
          if (message.goodbye !== "" || message.trimmed > 0n || message.isFiltered) return;
        }
      }
    } finally {
      unwatch();
      follower.end();
      this.#isDueSoon?.cancel();
      this.#gathering?.cancel();
      this.#endSkipping();
      signal.removeEventListener("abort", stop);
      if (member.stream === this) {
        member.stream = null;
        if (signal.aborted) member.leave();
      }
      this.#ended.resolve();
      acknowledged(); // nobody waits for it any more
    }
  }

  /** Null where the log goes on after the cursor; otherwise what is said instead. */
  async #begin({ epoch, cursor, filter }: Start): Promise<ToReceiver | null> {
    const { store, member, admit, sharedOnly = false } = this.#parts;
    admit(epoch);
    if (cursor === null) throw new StatusError(Status.invalidArgument, "it has no cursor");
    if (sharedOnly) this.#filtered = await this.#filteredNow();
    if (filter !== (this.#filtered?.version ?? "")) return { ...NO_WORDS, isFiltered: true };
    const { head, tail } = store;
    const isOurs = equalBytes(cursor.lineage, head!.lineage) && cursor.index <= head!.index;
    if (isOurs && cursor.index < tail!.first - 1n) return { ...NO_WORDS, trimmed: tail!.first };
    const chain = isOurs ? chainAt(store, cursor.index) : null;
    if (chain === null || !equalBytes(chain, cursor.chain)) {
      return { ...NO_WORDS, isDiverged: true };
    }
    this.#next = cursor.index + 1n;
    if (sharedOnly) this.#shared = new SharedLog(cursor.index, this.#filtered?.filter);
    member.begin(cursor.index);
    return null;
  }

  async #filteredNow(): Promise<Filtered | null> {
    const filter = this.#parts.filter?.() ?? null;
    if (filter === null) return null;
    const view = await filter.view(); // it may be another one by then
    return { filter, version: filter.version, view };
  }

  /** Whether something else is withheld than when it began. */
  get #isRefiltered(): boolean {
    const { filter, sharedOnly = false } = this.#parts;
    if (!sharedOnly) return false;
    const now = filter?.() ?? null;
    const known = this.#filtered;
    if (now === null || known === null) return (now === null) !== (known === null);
    return now !== known.filter || now.version !== known.version || known.view.isLost;
  }

  async #listen(said: AsyncIterator<ToSender>): Promise<void> {
    const { member, acknowledged, clock } = this.#parts;
    try {
      for (let next = await said.next(); next.done !== true; next = await said.next()) {
        const { ack } = next.value;
        if (ack === null || ack.durable >= this.#next) return; // what was not sent is not durable there
        if (ack.credit === 0n) this.#isFinalHeard = this.#isFinal;
        member.acknowledge(ack.durable, clock.now());
        const wasSpent = this.#credit <= 0;
        this.#credit = Math.min(CREDIT, this.#credit + Number(ack.credit));
        acknowledged();
        if (wasSpent) this.wake();
      }
    } catch {
      // The stream is over; how it ended is seen where its answers are made.
    }
  }

  /** What was said last is lost where the connection ends with it: who hears it leaves. */
  async #left(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#parts.timers.after(LEAVING, late.resolve);
    await Promise.race([this.#over.promise, late.promise]);
    timer.cancel();
  }

  #message(): ToReceiver | null {
    if (this.#goodbye !== null) return { ...NO_WORDS, goodbye: this.#goodbye };
    if (this.#hasNews) {
      this.#hasNews = false;
      return { ...NO_WORDS, hasNews: true };
    }
    // Before questions: what they are of may be withheld by now.
    if (this.#isRefiltered) return { ...NO_WORDS, isFiltered: true };
    const [question] = this.#questions;
    if (question !== undefined && this.#next > question.after) {
      this.#questions.shift();
      return question.words;
    }
    const isDue = this.#isDue();
    const head = isDue ? this.#headNow() : null;
    const total = head === null ? null : (this.#filtered?.view.totalAt(this.#next - 1n) ?? null);
    const hasSkipped = this.#shared?.hasSkipped === true;
    const isKnown = head !== null && (this.#filtered === null || total !== null);
    if (isKnown && (!hasSkipped || this.#credit > 0)) {
      this.#sinceCheckpoint = 0;
      this.#checkedAt = this.#parts.clock.elapsed();
      if (this.#shared === null) return { ...NO_WORDS, checkpoint: head };
      return this.#spend(this.#shared.compare(head, total));
    }
    return this.#entriesOrEnd(isDue);
  }

  #entriesOrEnd(isDue: boolean): ToReceiver | null {
    const final = this.#parts.final();
    const mayWait = !isDue && final === null && this.#questions.length === 0;
    if (this.#credit > 0 && !(mayWait && this.#gathers())) {
      const batch = this.#batch(isDue);
      if (batch !== null) return batch;
    }
    if (this.#shared?.hasSkipped === true) {
      return this.#credit > 0 && this.#tellsSkipped(final)
        ? this.#spend(this.#shared.tell())
        : null;
    }
    if (final !== null && !this.#isFinal && this.#next > final.index) {
      this.#isFinal = true;
      return { ...NO_WORDS, final };
    }
    return null;
  }

  /** Whether more may come before the next message goes. Where nothing waits for it there is no timer: at a steady pace
   *  the next commit comes first, and to set and clear one takes as long as to encode a message. */
  #gathers(): boolean {
    if (this.#sentAt === null) return false;
    const { clock, timers, tail, store, utilization } = this.#parts;
    const passed = clock.elapsed() - this.#sentAt;
    const more = (utilization?.() ?? 0) > MUCH_TO_DO ? GATHERED_MORE : 0n;
    if (passed >= GATHERED_ENOUGH + more || tail.has(this.#next, ENOUGH)) return false;
    if (store.index < this.#next) return true;
    this.#gathering ??= timers.after(GATHERED + more - passed, () => {
      this.#gathering = null;
      this.wake();
    });
    return true;
  }

  #gather(): void {
    this.#gathering?.cancel();
    this.#gathering = null;
    this.#sentAt = this.#parts.clock.elapsed();
  }

  /** The next entries; `toHead`: they end where a head is known, so that it can be compared. */
  #batch(toHead: boolean): ToReceiver | null {
    const { store, tail } = this.#parts;
    const found = tail.read(this.#next, { entries: BATCH_ENTRIES, bytes: CHUNK_BYTES });
    if (found === null) return { ...NO_WORDS, trimmed: store.tail!.first };
    if (found.length === 0) return null;
    this.#gather();
    const last = this.#next + BigInt(found.length) - 1n;
    const head = toHead ? tail.headWithin(this.#next, last) : null;
    const entries = head === null ? found : found.slice(0, Number(head.index - this.#next) + 1);
    this.#next += BigInt(entries.length);
    this.#follower?.sent(this.#next);
    this.#sinceCheckpoint += entries.length;
    const message =
      this.#shared === null ? { ...NO_WORDS, batch: { entries } } : this.#shared.take(entries);
    const waiting = store.index >= this.#next ? { head: store.index } : {};
    return message === null ? null : this.#spend({ ...message, ...waiting });
  }

  #spend(message: ToReceiver): ToReceiver {
    this.#credit -= creditOf(message);
    if (this.#shared?.hasSkipped === false) this.#endSkipping();
    return message;
  }

  /** At once where more waits behind it, or nothing comes after it; else now and then. */
  #tellsSkipped(final: Place | null): boolean {
    const { store, timers } = this.#parts;
    if (this.#skipping === "over" || final !== null || store.index >= this.#next) return true;
    this.#skipping ??= timers.after(SKIPPED_EVERY, () => {
      this.#skipping = "over";
      this.wake();
    });
    return false;
  }

  #endSkipping(): void {
    if (this.#skipping !== "over") this.#skipping?.cancel();
    this.#skipping = null;
  }

  #isDue(): boolean {
    if (this.#checkedAt === null) return true;
    const passed = this.#parts.clock.elapsed() - this.#checkedAt;
    return (
      this.#sinceCheckpoint >= CHECKPOINT_ENTRIES ||
      (this.#sinceCheckpoint > 0 && passed >= CHECKPOINT_EVERY)
    );
  }

  /** The head after what was sent so far, if it is known. */
  #headNow(): Uint8Array | null {
    const { store, tail } = this.#parts;
    const index = this.#next - 1n;
    if (store.index === index) return store.headBytes;
    return tail.headWithin(index, index)?.bytes ?? null;
  }

  async #sleep(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#sinceCheckpoint > 0 && this.#checkedAt !== null) this.#isDueSoon ??= this.#dueSoon();
    // What came between the look and here has been seen: nothing else runs in between.
    await promise;
    this.#wake = null;
  }

  #dueSoon(): Timer {
    const { clock, timers } = this.#parts;
    const left = this.#checkedAt! + CHECKPOINT_EVERY - clock.elapsed();
    return timers.after(left, () => {
      this.#isDueSoon = null;
      this.wake();
    });
  }
}
