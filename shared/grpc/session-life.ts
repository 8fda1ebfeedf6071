// What both ends of a session have: its limits, and whether the peer is still there.

import type { Http2Session } from "node:http2";
import type { Duplex } from "node:stream";
import { SECOND } from "../text/duration.ts";
import type { Clock, Nanos, Timers } from "../world.ts";
import type { Sweep } from "../sweep.ts";
import { LARGEST_MESSAGE } from "./method.ts";

export interface SessionLimits {
  /** At a time; handlers that have lost their stream count until they are over. */
  readonly streams: number;
  /** Of large messages that are being received or worked on. */
  readonly heldBytes: number;
  /** That a peer may send on a stream before somebody reads it. */
  readonly window: number;
  /** That may be on its way on all streams. It is no bound on memory: the runtime gives back what has arrived, whether it is
   *  read or not. Over a hundred milliseconds a megabyte makes ten in a second. */
  readonly allWindows: number;
  /** That a peer may keep us waiting for what it has begun to send, or does not take; beyond its lowest rate. */
  readonly stall: Nanos;
  readonly headerBytes: number;
  /** Streams that end by a reset, whoever resets them. */
  readonly resetBurst: number;
  readonly resetsPerSecond: number;
  readonly pingEvery: Nanos;
  /** After so long without a byte the peer is gone. */
  readonly silence: Nanos;
}

export const SESSION_LIMITS: SessionLimits = {
  streams: 64,
  heldBytes: LARGEST_MESSAGE + 4 * 1024 * 1024,
  window: 256 * 1024,
  allWindows: 1024 * 1024,
  stall: 30n * SECOND,
  headerBytes: 8 * 1024,
  resetBurst: 100,
  resetsPerSecond: 10,
  pingEvery: 10n * SECOND,
  silence: 15n * SECOND,
};

/** Of whoever calls: the log and the rows of a primary come this way, from far away as well. */
export const CALLER_LIMITS: SessionLimits = {
  ...SESSION_LIMITS,
  window: 4 * 1024 * 1024,
  allWindows: 8 * 1024 * 1024,
};

/** The sweep is that of all sessions together. */
export interface SessionWorld {
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Pick<Timers, "after">;
  readonly sweep: Sweep;
}

/**
 * For the runtime. Its own bound on memory counts what waits to be sent, and refuses streams where a large answer is
 * slow: it is set beyond what our bounds allow.
 */
export function sessionOptions(limits: SessionLimits) {
  return {
    maxSessionMemory: 1024, // MB
    maxOutstandingPings: 4,
    maxSettings: 16,
    maxSessionInvalidFrames: 16,
    maxSessionRejectedStreams: 64,
    maxHeaderListPairs: 64,
    settings: {
      enablePush: false,
      initialWindowSize: limits.window,
      maxConcurrentStreams: limits.streams,
      maxHeaderListSize: limits.headerBytes,
    },
  };
}

/** Asks the peer now and then, and counts whatever comes from it: behind a slow line the answer to a ping is late. */
export class Liveness {
  readonly #session: Http2Session;
  readonly #socket: Duplex & { readonly bytesRead?: number };
  readonly #limits: SessionLimits;
  #bytes = 0;
  #heard: Nanos;
  #pinged: Nanos;

  constructor(session: Http2Session, socket: Duplex, limits: SessionLimits, now: Nanos) {
    this.#session = session;
    this.#socket = socket;
    this.#limits = limits;
    this.#heard = now;
    this.#pinged = now;
  }

  /** False when the peer is gone. */
  check(now: Nanos): boolean {
    const { bytesRead = 0 } = this.#socket;
    if (bytesRead !== this.#bytes) {
      this.#bytes = bytesRead;
      this.#heard = now;
    }
    if (now - this.#pinged >= this.#limits.pingEvery && !this.#session.destroyed) {
      this.#pinged = now;
      this.#session.ping(() => {}); // its answer is bytes as well
    }
    return now - this.#heard <= this.#limits.silence;
  }
}

/** Streams that were reset, as a bucket that empties with time. */
export class Resets {
  readonly #limits: SessionLimits;
  #level = 0;
  #at: Nanos;

  constructor(limits: SessionLimits, now: Nanos) {
    this.#limits = limits;
    this.#at = now;
  }

  /** False when there are too many. */
  count(now: Nanos): boolean {
    const passed = Number(now - this.#at) / Number(SECOND);
    this.#at = now;
    this.#level = Math.max(0, this.#level - passed * this.#limits.resetsPerSecond) + 1;
    return this.#level <= this.#limits.resetBurst;
  }
}
