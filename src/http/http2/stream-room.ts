// How many streams of HTTP/2 are open, of all connections together. One that only waits for a byte costs more than
// ten kilobytes, a connection has a hundred of them and an address many connections. Counted by address and in all;
// apart for those whose caller nobody knows, who could otherwise keep out those who have a token.

import type { IncomingHttpHeaders } from "node:http2";
import { FairShare, type ShareLimits, UNKNOWN_PART } from "../fair-share.ts";
import type { ListenerLimits } from "../listener-settings.ts";

/** Of all listeners together. */
export class OpenStreams {
  readonly known = new FairShare();
  readonly unknown = new FairShare();
  /** Of those that have sent something as a token, which is not looked at yet. */
  readonly claiming = new FairShare();

  get all(): number {
    return this.known.all + this.unknown.all + this.claiming.all;
  }
}

/** The room that one connection has. */
export class StreamRoom {
  readonly #open: OpenStreams;
  readonly #client: string | null;
  readonly #known: ShareLimits;
  readonly #unknown: ShareLimits;

  /** `client` is null for one that speaks for many. */
  constructor(open: OpenStreams, client: string | null, limits: ListenerLimits) {
    const { streams, streamsWithoutToken } = limits;
    this.#open = open;
    this.#client = client;
    this.#known = { all: streams, perAddress: streams, part: 1 };
    this.#unknown = {
      all: streamsWithoutToken,
      perAddress: streamsWithoutToken,
      part: UNKNOWN_PART,
    };
  }

  /** Whether one with this head may be opened. What it says of a token is believed until it is looked at. */
  admits(headers: IncomingHttpHeaders): boolean {
    if (this.#open.unknown.hasRoom(this.#client, 1, this.#unknown)) return true;
    return bearsToken(headers) && this.#open.known.hasRoom(this.#client, 1, this.#known);
  }

  /** Gives how to end it, or null where there is no room. */
  enter(known: boolean): (() => void) | null {
    const { known: ours, unknown } = this.#open;
    return known ? this.#take(ours, this.#known) : this.#take(unknown, this.#unknown);
  }

  /** Likewise for one that was admitted, and of which is not known yet what it wants. */
  wait(): (() => void) | null {
    return this.enter(false) ?? this.#take(this.#open.claiming, this.#unknown);
  }

  #take(share: FairShare, limits: ShareLimits): (() => void) | null {
    const client = this.#client;
    return share.take(client, 1, limits) ? () => share.giveBack(client, 1) : null;
  }
}

function bearsToken(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => /^authorization$|token$/.test(name));
}
