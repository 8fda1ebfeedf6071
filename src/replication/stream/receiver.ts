// The side of a secondary: connects to its primary, says where its log is, and does what it is told: goes on with the
// log, takes over rows, or stays as it is. It begins anew for as long as it is open, whatever happens.

import { hex } from "@holdfast/shared/bytes";
import { explain } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import { type HelloAnswer, isRevokedThere } from "../../cluster/hello.ts";
import type { PeerLink, Self } from "../../cluster/peer-link.ts";
import { Status, StatusError } from "../../grpc/status.ts";
import { encodeTimeline } from "../../storage/rows/head.ts";
import { type Decision, readDecision, STORAGE_FORMAT } from "./decision.ts";
import { measure } from "./echo-times.ts";
import {
  endedByPrimary,
  revokedByPrimary,
  noAddress,
  protocolBroken,
  refusedByPrimary,
  waitsForKeys,
} from "./failures.ts";
import { LogFollower } from "./following-log.ts";
import { REVOKED } from "./goodbyes.ts";
import { echo, type EchoAnswer, type EchoTimes, type Place } from "./messages.ts";
import {
  type CallOutcome,
  type Connection,
  type ConnectionState,
  cursorOf,
  EVENT,
  hasCode,
  Progress,
  type ReceiverParts,
  type ReceiverState,
} from "./receiving.ts";
import { isCopied } from "./taking-rows.ts";
import { CatchingUp } from "./catching-up.ts";

const FIRST_PAUSE: Nanos = SECOND;
const LONGEST_PAUSE: Nanos = 60n * SECOND;
const UNMENDED_PAUSE: Nanos = 600n * SECOND;
const ECHO_EVERY: Nanos = 5n * SECOND;
const ECHO_WITHIN: Nanos = 10n * SECOND;
const LOOK_WITHIN: Nanos = SECOND;

/** A secondary as it sees itself. */
export interface ReceiverStatus {
  readonly state: ReceiverState;
  readonly connectionState: ConnectionState;
  readonly lastSyncError: string | null;
  readonly lastRemoteIndex: bigint;
  readonly highestAnnounced: bigint;
  readonly final: Place | null;
  readonly syncProgress: { readonly total: number | null; readonly done: number } | null;
  /** Whether the rows here are those of one index. */
  readonly isConsistent: boolean;
  /** After three comparisons it still differed. */
  readonly isUnmended: boolean;
  readonly startedAt: Instant | null;
  readonly lastHeartbeat: Instant | null;
  readonly echoDuration: Nanos | null;
  /** How far the primary's clock is ahead. */
  readonly clockSkew: Nanos | null;
  /** For how long something is missing that the primary has told of; null where nothing is. */
  readonly behindFor: Nanos | null;
}

export class Receiver {
  readonly #parts: ReceiverParts;
  readonly #random: Random;
  readonly #instance: string;
  readonly #progress = new Progress();
  #open: AbortController | null = null;
  #running: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #startedAt: Instant | null = null;
  #follower: LogFollower | null = null;
  #news: (() => void) | null = null; // something has changed that the primary should hear
  #isEchoDue = false; // or the primary has something to tell

  constructor(parts: ReceiverParts & { readonly random: Random }) {
    this.#parts = parts;
    this.#random = parts.random;
    this.#instance = hex(parts.random.bytes(8));
    this.#progress.announce(parts.announced ?? 0n);
    this.#progress.onNews = () => {
      this.#isEchoDue = true;
      this.#news?.();
    };
    this.#progress.onState = (now, before) => {
      this.#tellState(now, before);
      this.#news?.();
    };
  }

  open(): void {
    if (this.#open !== null) return;
    const open = new AbortController();
    this.#open = open;
    this.#startedAt = this.#parts.clock.now();
    this.#running = this.#run(open.signal);
  }

  /** Nothing is written after this resolves. */
  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    open?.abort(new StatusError(Status.cancelled, "replication is closed"));
    await this.#running;
    this.#progress.state = "idle";
    this.#progress.connection = "shutdown";
  }

  /** Something has changed that it waited for: an address, a key, a permission. It tries again at once. */
  retry(): void {
    this.#wake?.();
  }

  /** Calls the primary at all its addresses, and keeps nothing of it. Where it takes this cluster, that connects. */
  async look(): Promise<void> {
    const { ports, timers } = this.#parts;
    const open = this.#open?.signal;
    if (open === undefined) return;
    const late = new AbortController();
    const timer = timers.after(LOOK_WITHIN, () =>
      late.abort(new StatusError(Status.deadlineExceeded, "the primary does not answer in time")),
    );
    const signal = AbortSignal.any([open, late.signal]);
    const all = await Promise.all(ports.addresses().map((one) => this.#call(one, signal)));
    timer.cancel();
    if (open.aborted) return;
    const takes = all.find(({ kind }) => kind === "takes");
    ports.called?.(takes ?? all.find(({ kind }) => kind === "refuses") ?? NOBODY);
    if (takes !== undefined) this.retry();
  }

  async #call(address: string, signal: AbortSignal): Promise<CallOutcome> {
    let link: PeerLink | null = null;
    try {
      link = this.#parts.ports.open(address);
      const { decision } = await link.open({ ...this.#self(), isTrial: true }, signal);
      return outcomeOf(readDecision(decision));
    } catch (error) {
      return link?.hasMet === true ? refusal(this.#reasonOf(error)) : NOBODY;
    } finally {
      await link?.close();
    }
  }

  /** Something here was found to be damaged: leaves and sums are made from the rows again, and what differs from the
   *  primary's after that is fetched. False where it is not connected; then the first comparison finds it. */
  mend(): boolean {
    if (this.#progress.state !== "stream-wals" || this.#follower === null) return false;
    this.#follower.suspect();
    return true;
  }

  get status(): ReceiverStatus {
    const { store, ports } = this.#parts;
    const progress = this.#progress;
    return {
      state: progress.state,
      connectionState: progress.connection,
      lastSyncError: progress.error,
      lastRemoteIndex: progress.lastRemote,
      highestAnnounced: progress.announced,
      final: progress.final,
      syncProgress: progress.state === "merkle-sync" ? { ...progress.rows } : null,
      isConsistent: store.adopting === null && ports.marks.read() === null,
      isUnmended: progress.isUnmended,
      startedAt: this.#startedAt,
      lastHeartbeat: progress.heard,
      echoDuration: progress.measured?.duration ?? null,
      clockSkew: progress.measured?.skew ?? null,
      behindFor: this.#behindFor(),
    };
  }

  #behindFor(): Nanos | null {
    const { clock, store } = this.#parts;
    const { announced, completeAt } = this.#progress;
    if (announced <= store.index) return null;
    return completeAt === null ? 0n : clock.elapsed() - completeAt;
  }

  /** As those outside see it: to connect is to be idle. */
  #tellState(now: ReceiverState, before: ReceiverState): void {
    const { log } = this.#parts;
    const [state, was] = [wireState(now), wireState(before)];
    if (state === was) return;
    log.info("replication changed", { event: `${EVENT}.state-changed`, state, was });
    if (isSync(state) === isSync(was)) return;
    const { error, rows } = this.#progress;
    const fields = { rows: rows.done, index: String(this.#parts.store.index) };
    if (isSync(state)) log.info("rows are compared or copied", { event: `${EVENT}.sync-started` });
    else if (state === "stream-wals") {
      log.info("rows are those of the primary", { event: `${EVENT}.sync-finished`, ...fields });
    } else {
      const cause = error ?? "it was stopped";
      log.warn("rows are not all there", { event: `${EVENT}.sync-failed`, ...fields, cause });
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const progress = this.#progress;
    for (let pause = FIRST_PAUSE; !signal.aborted;) {
      let wait: Nanos | null = null;
      progress.isGetting = false;
      try {
        await this.#session(signal);
      } catch (error) {
        if (signal.aborted) return;
        progress.fail(error);
        progress.connection = "transient_failure";
        if (hasCode(error, "replication-unmended")) wait = UNMENDED_PAUSE;
        if (error === this.#revoked) wait = -1n;
        const isOver = hasCode(error, "replication-ended-there");
        if (isOver || error === this.#revoked) {
          this.#parts.ports.called?.({ ...refusal(error), forGood: true, isOver });
        }
      }
      progress.state = "idle";
      if (progress.isGetting) pause = FIRST_PAUSE;
      await this.#pause(wait ?? this.#jittered(pause), signal);
      pause = pause * 2n < LONGEST_PAUSE ? pause * 2n : LONGEST_PAUSE;
    }
  }

  readonly #revoked = revokedByPrimary();

  /** From the hello to the end of the link. */
  async #session(outer: AbortSignal): Promise<void> {
    const { ports, store } = this.#parts;
    if (store.locked) throw waitsForKeys();
    const progress = this.#progress;
    progress.state = "connecting";
    progress.connection = "connecting";
    const { link, answer } = await this.#dial(outer);
    const lost = new AbortController();
    const signal = AbortSignal.any([outer, lost.signal]);
    void link.closed?.then(() =>
      lost.abort(new StatusError(Status.unavailable, "the connection was lost")),
    );
    try {
      await this.#accept(answer);
      // Before it counts as connected: it may be gone again before its first echo.
      const refuses = readDecision(answer.decision)?.kind === "refuse";
      if (!refuses && answer.time > 0n) this.#hear(answer.head, answer.time);
      progress.connection = "ready";
      const connection: Connection = { link, epoch: answer.epoch, signal };
      if (answer.keysVersion !== ports.keysVersion()) await ports.keys(link);
      ports.met?.(connection);
      const echoing = this.#echoes(connection).catch((error: unknown) => lost.abort(error));
      try {
        await this.#follow(connection, readDecision(answer.decision), answer.timeline);
      } finally {
        lost.abort(new StatusError(Status.cancelled, "the session is over"));
        await echoing;
      }
    } catch (error) {
      // What was in the middle of something only knows that it was stopped.
      throw !outer.aborted && lost.signal.aborted && isCancelled(error)
        ? lost.signal.reason
        : error;
    } finally {
      ports.met?.(null);
      await link.close();
    }
  }

  async #accept(answer: HelloAnswer): Promise<void> {
    const { ports } = this.#parts;
    try {
      await ports.accept(answer);
      ports.called?.(outcomeOf(readDecision(answer.decision)));
    } catch (error) {
      ports.called?.(refusal(error));
      throw error;
    }
  }

  async #dial(signal: AbortSignal): Promise<{ link: PeerLink; answer: HelloAnswer }> {
    const { ports } = this.#parts;
    let failed: unknown = noAddress();
    let outcome: CallOutcome = NOBODY;
    for (const address of ports.addresses()) {
      signal.throwIfAborted();
      let link: PeerLink | null = null;
      try {
        link = ports.open(address); // one that cannot be dialled keeps nobody from the next
        return { link, answer: await link.open(this.#self(), signal) };
      } catch (error) {
        const isAnswer = link?.hasMet === true;
        // What one address has answered says more than that nobody is at the next.
        if (isAnswer || outcome.kind === "nobody") failed = this.#reasonOf(error);
        if (isAnswer) outcome = refusal(failed);
        await link?.close();
      }
    }
    if (!signal.aborted) ports.called?.(outcome);
    throw failed;
  }

  #reasonOf(error: unknown): unknown {
    return isRevokedThere(error) ? this.#revoked : error;
  }

  #self(): Self {
    const { store, ports } = this.#parts;
    const { head, timeline, adopting, limits } = store;
    const { shared, local } = head!;
    return {
      ...ports.self(),
      epoch: ports.epoch(),
      timeline: encodeTimeline(timeline!),
      cursor: cursorOf(store),
      storageFormat: STORAGE_FORMAT,
      limits: { operations: limits.operations, bytes: BigInt(limits.bytes) },
      // A rewind goes on by its log, which is whole until it ends.
      half: adopting?.kind === "adopt" ? { isCopy: isCopied(store), head: adopting.head } : null,
      isEmpty: shared.count + local.count === 0,
    };
  }

  async #follow(
    connection: Connection,
    decision: Decision | null,
    timeline: Uint8Array,
  ): Promise<void> {
    if (decision === null) throw protocolBroken("no decision");
    this.#parts.figures?.met(decision);
    const catchingUp = new CatchingUp(this.#parts, this.#progress, connection);
    await catchingUp.begin(decision, timeline);
    const { store, ports } = this.#parts;
    // It is on the primary's log now: what comes later is given up by another permission.
    if (ports.mayRewind()) await ports.rewound(store.index);
    for (;;) {
      this.#progress.state = "stream-wals";
      this.#progress.lastRemote = this.#parts.store.index;
      this.#follower = new LogFollower(this.#parts, this.#progress, connection);
      const end = await this.#follower.run();
      connection.signal.throwIfAborted();
      if (end.kind === "goodbye" && end.reason === REVOKED) throw this.#revoked;
      await catchingUp.after(end);
    }
  }

  /** Tells how we are, hears how the primary is, and notices when nobody answers. */
  async #echoes({ link, epoch, signal }: Connection): Promise<void> {
    const { clock, store, ports } = this.#parts;
    const progress = this.#progress;
    let sent = progress.state;
    for (let before: EchoTimes | null = null; ; await this.#untilEcho(sent, signal)) {
      sent = progress.state;
      const { version, apiAddress = "", clusterAddresses = [] } = ports.self();
      const t0 = clock.now();
      const answer: EchoAnswer = await link.call(
        echo,
        {
          epoch,
          t0,
          before,
          state: sent,
          applied: store.index,
          durable: store.index,
          apiAddress,
          clusterAddresses,
          version,
          keysVersion: ports.keysVersion(),
          encryptions: ports.encryptions(),
          instance: this.#instance,
        },
        { timeout: ECHO_WITHIN, signal },
      );
      const t3 = clock.now();
      before = { t0, t1: answer.t1, t2: answer.t2, t3 };
      progress.measured = measure(before);
      progress.heard = t3;
      this.#hear(answer.head, answer.t2);
      if (answer.epoch !== epoch) throw endedByPrimary("another epoch has begun");
      ports.learned(answer.apiAddress, answer.clusterAddresses, answer);
      if (answer.keysVersion !== ports.keysVersion()) await ports.keys(link);
    }
  }

  /** How far the primary is, and how late it is there. */
  #hear(head: bigint, time: Instant): void {
    const { clock, store, ports } = this.#parts;
    const progress = this.#progress;
    progress.announce(head);
    ports.heard?.(time);
    if (store.index >= progress.announced) progress.completeAt = clock.elapsed();
  }

  /** Until the next is due, or the state is another than was told: then others need not wait to see it. */
  async #untilEcho(sent: ReceiverState, signal: AbortSignal): Promise<void> {
    await this.#waited(ECHO_EVERY, signal, (wake) => {
      this.#news = wake;
      if (this.#progress.state !== sent || this.#isEchoDue) wake?.();
    });
    this.#isEchoDue = false;
    signal.throwIfAborted();
  }

  /** A fifth more or less, so that not all come at once. */
  #jittered(pause: Nanos): Nanos {
    const share = BigInt(this.#random.bytes(2).readUInt16BE()); // of 65,536
    return (pause * 4n) / 5n + (pause * 2n * share) / (5n * 65_536n);
  }

  async #pause(length: Nanos, signal: AbortSignal): Promise<void> {
    await this.#waited(length, signal, (wake) => {
      this.#wake = wake;
    });
  }

  /** Until then, or until somebody calls what is handed to `keep`; below zero only that. */
  async #waited(
    length: Nanos,
    signal: AbortSignal,
    keep: (wake: (() => void) | null) => void,
  ): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    keep(wake);
    const timer = length < 0n ? null : this.#parts.timers.after(length, wake);
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    timer?.cancel();
    signal.removeEventListener("abort", wake);
    keep(null);
  }
}

const NOBODY: CallOutcome = { kind: "nobody" };

function outcomeOf(decision: Decision | null): CallOutcome {
  return decision?.kind === "refuse"
    ? refusal(refusedByPrimary(decision.reason))
    : { kind: "takes" };
}

function refusal(error: unknown) {
  return { kind: "refuses", reason: explain(error), forGood: false } as const;
}

function wireState(state: ReceiverState): ReceiverState {
  return state === "connecting" ? "idle" : state;
}

function isSync(state: ReceiverState): boolean {
  return state === "merkle-diff" || state === "merkle-sync";
}

function isCancelled(error: unknown): boolean {
  return error instanceof StatusError && error.status === Status.cancelled;
}
