// How many connections there are, and from where. A single address must not be able to take all that
// the process can hold; and whoever only holds connections open makes room for those who ask something.

import type { Duplex } from "node:stream";

/** How many there may be. */
export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly connectionsPerLocalAddress: number;
}

/**
 * What a connection is in the middle of, from what is missed least: a peer that has not said what it wants
 * (a handshake, half a head), nothing at all, a body that does not end, a request that is worked on.
 */
export type Busy = "beginning" | "idle" | "sending" | "working";

export interface Seated {
  readonly busy: Busy;
  /** Ends it at once. */
  drop(): void;
}

/** The place of one connection in the book. What it is changes: first a handshake, then a protocol. */
export class Seat {
  readonly place: string | null;
  holder: Seated | null = null;

  constructor(place: string | null) {
    this.place = place;
  }
}

const SPARED: readonly Busy[] = ["beginning", "idle", "sending"];

export class ConnectionBook {
  readonly #byPlace = new Map<string, Set<Seat>>();
  readonly #seats = new Set<Seat>(); // oldest first, as those of a place

  get all(): number {
    return this.#seats.size;
  }

  /**
   * Counts a connection, or says that it must not be. Where there are too many, the oldest of those that
   * are missed least has to go: so 200 that never ask anything do not keep out the one that does.
   */
  enter(place: string | null, loopback: boolean, limits: ConnectionLimits): Seat | null {
    const max = loopback ? limits.connectionsPerLocalAddress : limits.connectionsPerAddress;
    const near = place === null ? null : (this.#byPlace.get(place) ?? null);
    if (near !== null && near.size >= max && !this.#makeRoom(near)) return null;
    if (this.#seats.size >= limits.connections && !this.#makeRoom(this.#seats)) return null;
    const seat = new Seat(place);
    this.#seats.add(seat);
    if (place !== null) {
      const seats = this.#byPlace.get(place) ?? new Set();
      this.#byPlace.set(place, seats.add(seat));
    }
    return seat;
  }

  /** May be called again: a connection that made room is gone before its socket is. */
  leave(seat: Seat): void {
    if (!this.#seats.delete(seat) || seat.place === null) return;
    const near = this.#byPlace.get(seat.place);
    near?.delete(seat);
    if (near?.size === 0) this.#byPlace.delete(seat.place);
  }

  #makeRoom(seats: ReadonlySet<Seat>): boolean {
    let found: Seat | null = null;
    let best = SPARED.length;
    for (const seat of seats) {
      const rank = seat.holder === null ? -1 : SPARED.indexOf(seat.holder.busy);
      if (rank < 0 || rank >= best) continue;
      found = seat;
      best = rank;
      if (rank === 0) break;
    }
    if (found === null) return false;
    this.leave(found);
    found.holder?.drop();
    return true;
  }
}

/** An IPv4 address that came in over an IPv6 socket, as IPv4. */
export function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/** Tells connections apart that are open at one time. One of its ends alone does not: a peer may use a port of its own for
 *  connections to several of our addresses. */
export function endsOf({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Duplex & Ends): string {
  return `${remotePort} ${remoteAddress} ${localPort} ${localAddress}`;
}
