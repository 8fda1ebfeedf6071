// How many streams of HTTP/2 are open, of all connections together. One that only waits for a byte costs more than
// ten kilobytes, a connection has a hundred of them and an address many connections. Counted by address and in all;
// apart for those whose caller nobody knows, who could otherwise keep out those who have a token; and apart for those
// of whom it is not known yet, since in a busy turn of the event loop nobody has looked at their tokens.

import type { IncomingHttpHeaders } from "node:http2";
import { FairShare, type ShareLimits, UNKNOWN_PART } from "../fair-share.ts";
import type { ListenerLimits } from "../listener-settings.ts";

/** What there is in all of places to wait, of which most addresses get none of the last third. */
const BEYOND = 1.5;

/** Of all listeners together. */
export class OpenStreams {
  readonly known = new FairShare();
  readonly unknown = new FairShare();
  /** Of those that nobody has looked at yet, nearly all with something that they say is a token. */
  readonly waiting = new FairShare();

  get all(): number {
    return this.known.all + this.unknown.all + this.waiting.all;
  }
}

interface Counted {
  readonly share: FairShare;
  readonly limits: ShareLimits;
}

interface Settled {
  readonly known: Counted;
  readonly unknown: Counted;
}

/** The room that one connection has. */
export class StreamRoom {
  readonly #client: string | null;
  readonly #settled: Settled;
  readonly #waiting: Counted;
  readonly #waitingHalf: Counted;
  readonly #waitingFew: Counted;

  /** `client` is null for one that speaks for many. */
  constructor(open: OpenStreams, client: string | null, limits: ListenerLimits) {
    const { streams, streamsWithoutToken, streamsWaiting } = limits;
    const counted = (share: FairShare, all: number, part: number): Counted => ({
      share,
      limits: { all, perAddress: all, part },
    });
    this.#client = client;
    this.#settled = {
      known: counted(open.known, streams, 1),
      unknown: counted(open.unknown, streamsWithoutToken, UNKNOWN_PART),
    };
    this.#waiting = counted(open.waiting, streamsWaiting, UNKNOWN_PART);
    // Half of it is left to those of the same address whose token can be looked at.
    this.#waitingHalf = counted(open.waiting, streamsWaiting, UNKNOWN_PART / 2);
    // Many addresses that come one after another leave nothing of that. Beyond it one with few still gets in.
    const beyond = counted(open.waiting, streamsWaiting * BEYOND, UNKNOWN_PART);
    const perAddress = limits.streamsPerConnection;
    this.#waitingFew = { ...beyond, limits: { ...beyond.limits, perAddress } };
  }

  /** A place for one with this head, or null where there is none. What it says of a token is believed until it is
   *  looked at. `saysLater` what it wants: it has ten seconds for that. One without a token waits to be looked at only
   *  where others do, `inLine`; otherwise that is now. */
  enter(headers: IncomingHttpHeaders, saysLater: boolean, inLine: boolean): StreamPlace | null {
    const { unknown } = this.#settled;
    if (!bearsToken(headers)) {
      return this.#take(unknown) ?? (inLine && !saysLater ? this.#take(this.#waitingHalf) : null);
    }
    const waiting = saysLater ? this.#waitingHalf : this.#waiting;
    return this.#take(waiting) ?? this.#take(this.#waitingFew) ?? this.#take(unknown);
  }

  #take({ share, limits }: Counted): StreamPlace | null {
    if (!share.take(this.#client, 1, limits)) return null;
    return new StreamPlace(this.#client, share, this.#settled);
  }
}

/** What one stream takes of it. */
export class StreamPlace {
  readonly #client: string | null;
  readonly #settled: Settled;
  #share: FairShare | null;
  #answer: boolean | null = null; // whether there was room, once that was asked for

  constructor(client: string | null, share: FairShare, settled: Settled) {
    this.#client = client;
    this.#share = share;
    this.#settled = settled;
  }

  /** It is known now whether somebody's token was sent. False where there is no room among those, then and ever after:
   *  nothing is to be done for it. Whoever was let in stays, whatever else is found out. */
  settle(known: boolean): boolean {
    const before = this.#share;
    if (before === null || this.#answer === false || (this.#answer === true && !known)) {
      return this.#answer ?? true;
    }
    const { share, limits } = known ? this.#settled.known : this.#settled.unknown;
    const hasRoom = share === before || share.take(this.#client, 1, limits);
    this.#answer ??= hasRoom;
    if (!hasRoom || share === before) return this.#answer;
    before.giveBack(this.#client, 1);
    this.#share = share;
    return true;
  }

  /** May be called again. */
  leave(): void {
    this.#share?.giveBack(this.#client, 1);
    this.#share = null;
  }
}

function bearsToken(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => /^authorization$|token$/.test(name));
}
