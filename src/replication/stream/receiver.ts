// The side of a secondary: connects to its primary, says where its log is, and does what it is told: goes on with the
// log, takes over rows, or stays as it is. It begins anew for as long as it is open, whatever happens.

import { hex } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import { type HelloAnswer, REPLACED } from "../../cluster/hello.ts";
import type { PeerLink, Self } from "../../cluster/peer-link.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { AppliedLog, type AppliedParts } from "../applied/applied-log.ts";
import { outcomeOf, PrimaryCalls, refusal } from "./calling.ts";
import { deadWay } from "../silence.ts";
import { type Decision, readDecision, STORAGE_FORMAT } from "./decision.ts";
import { measure } from "./echo-times.ts";
import { endedByPrimary, protocolBroken, waitsForKeys } from "./failures.ts";
import { LogFollower } from "./following-log.ts";
import { REVOKED } from "./goodbyes.ts";
import { aroundMe, echo, type EchoAnswer, type EchoTimes, type Place } from "./messages.ts";
import { readableMembers, sentStandIns } from "../topology/set-members.ts";
import { PerMinute } from "../per-minute.ts";
import { OwnLog } from "../following/own-log.ts";
import {
  type Connection,
  type ConnectionState,
  EVENT,
  hasCode,
  type LinkParts,
  Progress,
  type ReceivedLog,
  type ReceiverParts,
  type ReceiverState,
  sleep,
} from "./receiving.ts";

const FIRST_PAUSE: Nanos = SECOND;
/** Where nobody answers, from one call to the next: a way that is whole again is found so soon that what was revoked meanwhile ends within five
 *  seconds. Where packets are dropped the call itself takes longer. */
const UNREACHED_PAUSE: Nanos = 2n * SECOND;
const SHORTEST_PAUSE: Nanos = SECOND / 2n;
/** Where the primary answers and sends nothing: it has said why. */
const LONGEST_PAUSE: Nanos = 60n * SECOND;
/** A connection that was there for so long has stood: what ends it is news. */
const STOOD: Nanos = 5n * SECOND;
/** Of the log, in a minute. */
const LINES = 6;
const UNMENDED_PAUSE: Nanos = 600n * SECOND;
const ECHO_EVERY: Nanos = 5n * SECOND;
/** Nothing depends on it: behind a slow line it comes when it comes. */
const AROUND_EVERY: Nanos = 5n * SECOND;
const AROUND_WITHIN: Nanos = 30n * SECOND;
/** Without anything from the primary: behind a slow line its answer stands behind the log. */
const ECHO_WITHIN: Nanos = 10n * SECOND;

/** A secondary as it sees itself. */
export interface ReceiverStatus {
  readonly state: ReceiverState;
  readonly connectionState: ConnectionState;
  readonly lastSyncError: string | null;
  readonly lastSyncErrorAt: Instant | null;
  readonly lastRemoteIndex: bigint;
  readonly highestAnnounced: bigint;
  readonly final: Place | null;
  readonly syncProgress: { readonly total: number | null; readonly done: number } | null;
  /** Whether the rows here are those of one index. */
  readonly isConsistent: boolean;
  /** After three comparisons it still differed. */
  readonly isUnmended: boolean;
  readonly startedAt: Instant | null;
  readonly echoDuration: Nanos | null;
  /** How far the primary's clock is ahead. */
  readonly clockSkew: Nanos | null;
  /** For how long something is missing that the primary has told of; null where nothing is. */
  readonly behindFor: Nanos | null;
}

export class Receiver {
  readonly #parts: LinkParts;
  readonly #received: ReceivedLog;
  readonly #calls: PrimaryCalls;
  readonly #random: Random;
  readonly #instance: string;
  readonly #progress = new Progress();
  #open: AbortController | null = null;
  #running: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #isFresh = false; // somebody has said that it is there
  #isThere = false; // it has just answered beside a connection that is dead
  #readySince: Nanos | null = null;
  #startedAt: Instant | null = null;
  #follower: LogFollower | null = null;
  #news: (() => void) | null = null; // something has changed that the primary should hear
  readonly #lines: PerMinute;
  /** Why nothing is followed, as the log has it last. */
  #lastCause = "";
  #isEchoDue = false; // or the primary has something to tell

  constructor(parts: LinkParts & { readonly random: Random }, received: ReceivedLog) {
    this.#parts = parts;
    this.#received = received;
    this.#calls = new PrimaryCalls(parts, () => this.#self());
    this.#random = parts.random;
    this.#instance = hex(parts.random.bytes(8));
    this.#progress.announce(parts.announced ?? 0n);
    this.#progress.now = () => parts.clock.now();
    this.#progress.onNews = () => {
      this.#isEchoDue = true;
      this.#news?.();
    };
    this.#progress.onState = (now, before) => {
      this.#tellState(now, before);
      this.#news?.();
    };
    this.#lines = new PerMinute(parts.clock, LINES);
    this.#progress.onTrouble = (cause) => this.#tellTrouble(cause);
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

  /** The primary is back, or about to be: it tries again at once, and soon where that is in vain. */
  expect(): void {
    this.#isFresh = true;
    this.retry();
  }

  /** The primary is to hear soon how this cluster is. */
  tell(): void {
    this.#progress.onNews();
  }

  /** Whether something that the primary has written waits here for room on the disk. */
  get lacksRoom(): boolean {
    return this.#progress.lacksRoom;
  }

  /** Calls the primary at all its addresses, and keeps nothing of it. Where it takes this cluster, that connects. */
  async look(): Promise<void> {
    const open = this.#open?.signal;
    if (open !== undefined && (await this.#calls.look(open))) this.retry();
  }

  /** Something here was found to be damaged: leaves and sums are made from the rows again, and what differs from the
   *  primary's after that is fetched. False where it is not connected; then the first comparison finds it. */
  mend(): boolean {
    if (this.#progress.state !== "stream-wals" || this.#follower === null) return false;
    this.#follower.suspect();
    return true;
  }

  /** Another primary goes on from this index. */
  goBack(index: bigint): void {
    this.#progress.goBack(index);
  }

  get status(): ReceiverStatus {
    const progress = this.#progress;
    return {
      state: progress.state,
      connectionState: progress.connection,
      lastSyncError: progress.error,
      lastSyncErrorAt: progress.errorAt,
      lastRemoteIndex: progress.lastRemote,
      highestAnnounced: progress.announced,
      final: progress.final,
      syncProgress: progress.state === "merkle-sync" ? { ...progress.rows } : null,
      isConsistent: this.#received.isConsistent,
      isUnmended: progress.isUnmended,
      startedAt: this.#startedAt,
      echoDuration: progress.measured?.duration ?? null,
      clockSkew: progress.measured?.skew ?? null,
      behindFor: this.#behindFor(),
    };
  }

  /** Of the primary's log, as far as it is here. */
  get #index(): bigint {
    return this.#received.cursor.index;
  }

  #behindFor(): Nanos | null {
    const { announced, completeAt } = this.#progress;
    if (announced <= this.#index) return null;
    return completeAt === null ? 0n : this.#parts.clock.elapsed() - completeAt;
  }

  /** Once for as long as it stays the same, and a few times a minute where it does not. */
  #tellTrouble(cause: string): void {
    if (cause === this.#lastCause || this.#lines.take("") > 0) return;
    this.#lastCause = cause;
    this.#parts.log.warn("nothing of the primary is applied here", {
      event: `${EVENT}.idle`,
      cause,
      remedy: "holdfast replication status here says what to do",
    });
  }

  /** As those outside see it: to connect is to be idle. */
  #tellState(now: ReceiverState, before: ReceiverState): void {
    const { log } = this.#parts;
    if (now === "stream-wals") this.#lastCause = "";
    const [state, was] = [wireState(now), wireState(before)];
    if (state === was) return;
    log.info("replication changed", { event: `${EVENT}.state-changed`, state, was });
    if (isSync(state) === isSync(was)) return;
    const { error, rows } = this.#progress;
    const fields = { rows: rows.done, index: String(this.#index) };
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
      this.#isThere = false;
      const begun = this.#parts.clock.elapsed();
      progress.isGetting = false;
      this.#readySince = null;
      try {
        await this.#session(signal);
      } catch (caught) {
        if (signal.aborted) return;
        const error = this.#calls.named(caught);
        progress.fail(error);
        progress.connection = "transient_failure";
        if (hasCode(error, "replication-unmended")) wait = UNMENDED_PAUSE;
        // Not for ever: who leads in the place of the primary may have had it done, and lead no longer.
        const isForGood = this.#calls.isForGood(error);
        if (isForGood) wait = this.#jittered(LONGEST_PAUSE);
        const isOver = hasCode(error, "replication-ended-there");
        if (isOver || isForGood) {
          this.#parts.ports.called?.({ ...refusal(error), forGood: true, isOver });
        }
      }
      progress.state = "idle";
      this.#lookForRoom();
      if (progress.isGetting || this.#isFresh || this.#hasStood) pause = FIRST_PAUSE;
      this.#isFresh = false;
      const longest = this.#calls.isAnswered ? LONGEST_PAUSE : UNREACHED_PAUSE;
      if (pause > longest) pause = longest;
      const took = this.#calls.isAnswered ? 0n : this.#parts.clock.elapsed() - begun;
      wait ??= max(this.#jittered(pause) - took, SHORTEST_PAUSE);
      if (!this.#isThere) await this.#pause(wait, signal);
      pause *= 2n;
    }
  }

  /** Where what waited cannot be had any more, since the primary is away, room is all that there can be. */
  #lookForRoom(): void {
    const { room } = this.#parts.store;
    if (room === null || room.free >= room.reserve) this.#progress.lacksRoom = false;
  }

  get #hasStood(): boolean {
    const since = this.#readySince;
    return since !== null && this.#parts.clock.elapsed() - since >= STOOD;
  }

  /** From the hello to the end of the link. */
  async #session(outer: AbortSignal): Promise<void> {
    const { ports, store } = this.#parts;
    if (store.locked) throw waitsForKeys();
    const progress = this.#progress;
    progress.state = "connecting";
    progress.connection = "connecting";
    const { address, link, answer } = await this.#calls.dial(outer);
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
      this.#readySince = this.#parts.clock.elapsed();
      const connection: Connection = { link, epoch: answer.epoch, signal };
      if (answer.keysVersion !== ports.keysVersion()) await ports.keys(link);
      ports.met?.(connection);
      const echoing = this.#echoes(connection, address).catch((error: unknown) =>
        lost.abort(error),
      );
      const around = this.#tellAround(connection);
      try {
        await this.#follow(connection, readDecision(answer.decision), answer.timeline);
      } finally {
        lost.abort(new StatusError(Status.cancelled, "the session is over"));
        await echoing;
        await around;
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

  #self(): Self {
    const { ports } = this.#parts;
    return {
      ...ports.self(),
      epoch: ports.epoch(),
      cursor: this.#received.cursor,
      storageFormat: STORAGE_FORMAT,
      ...this.#received.standing(),
    };
  }

  async #follow(
    connection: Connection,
    decision: Decision | null,
    timeline: Uint8Array,
  ): Promise<void> {
    if (decision === null) throw protocolBroken("no decision");
    this.#parts.figures?.met(decision);
    const received = this.#received;
    const session = received.session(this.#progress, connection);
    await session.begin(decision, timeline);
    for (;;) {
      this.#progress.state = "stream-wals";
      this.#progress.lastRemote = this.#index;
      const ends = { received, session };
      this.#follower = new LogFollower(this.#parts, this.#progress, connection, ends);
      const end = await this.#follower.run();
      connection.signal.throwIfAborted();
      if (end.kind === "goodbye" && end.reason === REVOKED) throw this.#calls.revoked;
      if (end.kind === "goodbye" && end.reason === REPLACED) throw this.#calls.replaced;
      await session.after(end);
    }
  }

  /** Tells how we are, hears how the primary is, and notices when nobody answers. */
  async #echoes({ link, epoch, signal }: Connection, address: string): Promise<void> {
    const { clock, ports } = this.#parts;
    const progress = this.#progress;
    let sent = progress.state;
    for (let before: EchoTimes | null = null; ; await this.#untilEcho(sent, signal)) {
      sent = progress.state;
      const { version, apiAddress = "", clusterAddresses = [] } = ports.self();
      const t0 = clock.now();
      const index = this.#index;
      const evacuations = ports.evacuations === undefined ? [] : ports.evacuations();
      const answering: Promise<EchoAnswer> = link.call(
        echo,
        {
          epoch,
          t0,
          before,
          state: sent,
          applied: index,
          durable: index,
          apiAddress,
          clusterAddresses,
          version,
          keysVersion: ports.keysVersion(),
          encryptions: ports.encryptions(),
          instance: this.#instance,
          evacuations: evacuations ?? [],
          isBare: evacuations === null,
        },
        { timeout: ECHO_WITHIN, isQueued: true, signal },
      );
      const answer = await this.#unlessDead(link, address, answering, signal);
      const t3 = clock.now();
      before = { t0, t1: answer.t1, t2: answer.t2, t3 };
      progress.measured = measure(before);
      this.#hear(answer.head, answer.t2);
      if (answer.epoch !== epoch) throw endedByPrimary("another epoch has begun");
      ports.learned(answer.apiAddress, answer.clusterAddresses, answer);
      if (answer.keysVersion !== ports.keysVersion()) await ports.keys(link);
    }
  }

  /** Throws where the primary is there, and nothing comes by this link. */
  async #unlessDead<T>(
    link: PeerLink,
    address: string,
    answering: Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const beside = (within: AbortSignal) => this.#calls.takesAt(address, within);
    const dead = deadWay(this.#parts.timers, link, beside, either).then(() => {
      this.#isThere = true;
      throw new StatusError(Status.unavailable, "the connection is dead, and the primary is there");
    });
    try {
      return await Promise.race([answering, dead]);
    } finally {
      over.abort();
    }
  }

  /** Who there is, for people to be shown, as long as the session lasts. What fails here fails nothing else; a primary that does not know such a call
   *  is not asked again. */
  async #tellAround({ link, epoch, signal }: Connection): Promise<void> {
    const { ports, timers, log } = this.#parts;
    const { around } = ports;
    while (around !== undefined && !signal.aborted) {
      try {
        const standIns = sentStandIns(around.standIns());
        const within = { timeout: AROUND_WITHIN, isQueued: true, signal };
        const { members } = await link.call(aroundMe, { epoch, standIns }, within);
        around.learned(readableMembers(members));
      } catch (error) {
        if (error instanceof StatusError && error.status === Status.unimplemented) return;
        if (!signal.aborted) log.debug("is not told who there is", { cause: describe(error) });
      }
      await sleep(timers, AROUND_EVERY, signal).catch(() => {});
    }
  }

  /** How far the primary is, and how late it is there. */
  #hear(head: bigint, time: Instant): void {
    const { clock, ports } = this.#parts;
    const progress = this.#progress;
    progress.announce(head);
    ports.heard?.(time);
    progress.reach(this.#index, clock.elapsed());
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

  /** Until then, or until somebody calls what is handed to `keep`. */
  async #waited(
    length: Nanos,
    signal: AbortSignal,
    keep: (wake: (() => void) | null) => void,
  ): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    keep(wake);
    const timer = this.#parts.timers.after(length, wake);
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    timer.cancel();
    signal.removeEventListener("abort", wake);
    keep(null);
  }
}

/** One whose log is that of its primary: it can stand in for it. */
export function logReceiver(parts: ReceiverParts & { readonly random: Random }): Receiver {
  return new Receiver(parts, new OwnLog(parts));
}

/** One that has the shared rows of its primary beside a log of its own: it answers beside it. */
export function sharedReceiver(parts: AppliedParts & { readonly random: Random }): Receiver {
  return new Receiver(parts, new AppliedLog(parts));
}

function max(one: Nanos, other: Nanos): Nanos {
  return one > other ? one : other;
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
