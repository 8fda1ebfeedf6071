// Blocking queries: questions that wait for an answer newer than the one their caller
// has. A parked query is a few entries in sets: it is woken by a change to what it asks about, by one
// to its own credential, by its time, by its client's leaving and by the seal, and by nothing else.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import { type RequestContext, type Caller, CLIENT_ENDED } from "@holdfast/shared/endpoint/request";
import type { FairTurns } from "../../base/fair-turns.ts";
import { whoseOf } from "@holdfast/shared/sliced";
import { TimerWheel } from "../../base/timer-wheel.ts";
import * as failures from "./query-failures.ts";

const LONGEST: Nanos = 5n * MINUTE; // the default as well
const JITTER_PART = 16n; // so that queries which began together do not end together
const MAX_PER_CREDENTIAL = 64;
const MAX_WAITING = 10_000;
/** What the answer itself may take when the wait is over: as long as any other. */
const ANSWERING: Nanos = 90n * SECOND;

export interface BlockingQuery {
  /** 0: answer now. */
  readonly index: bigint;
  /** Null: as long as may be. */
  readonly wait: Nanos | null;
}

/** The tokens of a namespace, or one of them. */
export interface Watched {
  readonly namespaceId: string;
  readonly accessor: string | null;
}

/** What there is to answer now, and what would change it. */
export interface Seen {
  readonly index: bigint;
  readonly watched: Watched;
}

export interface TokenChanges {
  /** Calls after each commit that changes what is watched. */
  watch(watched: Watched, call: () => void): () => void;
}

export interface ParkedOptions {
  readonly changes: TokenChanges;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly turns: FairTurns;
  /** Default 64. */
  readonly maxPerCredential?: number;
  /** Default 10,000. */
  readonly maxWaiting?: number;
}

type Cause = "changed" | "due" | "gone" | "ended" | "sealing";

interface Sleeper {
  readonly wake: (cause: Cause) => void;
  readonly expires: boolean;
}

interface Topic {
  readonly sleepers: Set<Sleeper>;
  readonly unwatch: () => void;
}

export class BlockingQueries {
  readonly #options: ParkedOptions;
  readonly #wheel: TimerWheel<Sleeper>;
  readonly #topics = new Map<string, Topic>();
  readonly #sleepers = new Set<Sleeper>();
  readonly #byCredential = new Map<string, number>();
  #count = 0;
  #open = false;
  #offset: Nanos = 0n; // of the wall clock from the steady one

  constructor(options: ParkedOptions) {
    const { clock, timers } = options;
    this.#options = options;
    this.#wheel = new TimerWheel({
      clock,
      timers,
      due: (sleeper) => sleeper.wake("due"),
      tick: () => this.#followClock(),
    });
  }

  /** Queries that wait, or have waited and are being answered. */
  get count(): number {
    return this.#count;
  }

  open(): void {
    this.#open = true;
    this.#offset = this.#clockOffset();
  }

  /** Whoever waits is told that the node seals; nobody waits from here on. */
  close(): void {
    this.#open = false;
    for (const sleeper of this.#sleepers) sleeper.wake("sealing");
  }

  /**
   * What `look` sees, as soon as that is newer than the query's index or its time is over. `look` is
   * called with the caller as it is at that moment, and refuses whoever may not look any more.
   */
  async answer<S extends Seen>(
    context: RequestContext,
    query: BlockingQuery,
    look: (caller: Caller) => S,
  ): Promise<S> {
    invariant(context.caller !== null, "only callers with a credential look at tokens");
    let caller = context.caller;
    let seen = look(caller);
    if (query.index === 0n || seen.index > query.index) return seen;

    const { clock } = this.#options;
    const bound = this.#bound(query.wait);
    const deadline = clock.elapsed() + bound;
    const leave = this.#enter(caller);
    try {
      context.allow(bound + ANSWERING);
      while (seen.index <= query.index && clock.elapsed() < deadline) {
        const ended = await this.#sleep(
          context.ended ?? context.signal,
          caller,
          seen.watched,
          deadline,
        );
        if (!this.#open) throw failures.sealing();
        const found = context.recheck();
        const now = found instanceof Promise ? await found : found; // thousands need not wait
        if (now === null) throw failures.credentialGone();
        caller = now;
        seen = look(caller);
        if (ended) break;
      }
      return seen;
    } finally {
      leave();
    }
  }

  #bound(wait: Nanos | null): Nanos {
    const limit = wait === null || wait > LONGEST ? LONGEST : wait;
    const share = BigInt(this.#options.random.bytes(4).readUInt32BE());
    return limit + ((limit / JITTER_PART) * share) / 2n ** 32n;
  }

  #enter(caller: Caller): () => void {
    const { maxPerCredential = MAX_PER_CREDENTIAL, maxWaiting = MAX_WAITING } = this.#options;
    if (!this.#open) throw failures.sealing();
    const credential = nameOf(credentialOf(caller));
    const own = this.#byCredential.get(credential) ?? 0;
    if (own >= maxPerCredential) throw failures.tooManyParked("with this token");
    if (this.#count >= maxWaiting) throw failures.tooManyParked("on this server");
    this.#byCredential.set(credential, own + 1);
    this.#count++;
    return () => {
      this.#count--;
      const left = (this.#byCredential.get(credential) ?? 1) - 1;
      if (left === 0) this.#byCredential.delete(credential);
      else this.#byCredential.set(credential, left);
    };
  }

  /** True when the client has ended its side: whether it still reads nobody can say, so it has what there
   *  is, and waits no longer. */
  async #sleep(
    signal: AbortSignal,
    caller: Caller,
    watched: Watched,
    deadline: Nanos,
  ): Promise<boolean> {
    if (!this.#open) throw failures.sealing();
    if (hasEnded(signal)) return true;
    if (signal.aborted) throw failures.callerGone();
    const { promise, resolve } = Promise.withResolvers<Cause>();
    let woken = false;
    const wake = (cause: Cause) => {
      if (woken) return;
      woken = true;
      // Thousands may be woken with this one: even to take their leave they come one by one.
      this.#options.turns.soon(whoseOf(caller), () => resolve(cause));
    };
    const sleeper: Sleeper = { wake, expires: caller.expires !== null };
    const topics = [watched, credentialOf(caller)];
    const gone = () => resolve(hasEnded(signal) ? "ended" : "gone");
    this.#sleepers.add(sleeper);
    for (const topic of topics) this.#subscribe(topic, sleeper);
    const removeTimer = this.#wheel.add(this.#earliest(caller, deadline), sleeper);
    signal.addEventListener("abort", gone, { once: true });
    try {
      const cause = await promise;
      if (cause === "gone") throw failures.callerGone();
      if (cause === "sealing") throw failures.sealing();
      return cause === "ended";
    } finally {
      signal.removeEventListener("abort", gone);
      removeTimer();
      for (const topic of topics) this.#unsubscribe(topic, sleeper);
      this.#sleepers.delete(sleeper);
    }
  }

  /** A credential that expires is looked at again when it does. */
  #earliest({ expires }: Caller, deadline: Nanos): Nanos {
    if (expires === null) return deadline;
    const { clock } = this.#options;
    const left = expires - clock.now() + 1n;
    const end = clock.elapsed() + (left > 0n ? left : 0n);
    return end < deadline ? end : deadline;
  }

  #subscribe(watched: Watched, sleeper: Sleeper): void {
    const name = nameOf(watched);
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      const sleepers = new Set<Sleeper>();
      const unwatch = this.#options.changes.watch(watched, () => {
        for (const one of sleepers) one.wake("changed");
      });
      this.#topics.set(name, (topic = { sleepers, unwatch }));
    }
    topic.sleepers.add(sleeper);
  }

  #unsubscribe(watched: Watched, sleeper: Sleeper): void {
    const name = nameOf(watched);
    const topic = this.#topics.get(name);
    if (topic === undefined || !topic.sleepers.delete(sleeper) || topic.sleepers.size > 0) return;
    topic.unwatch();
    this.#topics.delete(name);
  }

  /** Expiry goes by the wall clock, the wheel by the steady one: when the first was set, everybody
   *  whose credential expires looks again. */
  #followClock(): void {
    const offset = this.#clockOffset();
    const moved = offset - this.#offset;
    if (moved < SECOND / 4n && moved > -SECOND / 4n) return;
    this.#offset = offset;
    for (const sleeper of this.#sleepers) if (sleeper.expires) sleeper.wake("due");
  }

  #clockOffset(): Nanos {
    const { clock } = this.#options;
    return clock.now() - clock.elapsed();
  }
}

function hasEnded({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Failure && reason.code === CLIENT_ENDED;
}

function credentialOf({ namespace, accessor }: Caller): Watched {
  return { namespaceId: namespace.id, accessor };
}

function nameOf({ namespaceId, accessor }: Watched): string {
  return `${namespaceId}/${accessor ?? ""}`;
}
