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
  readonly number: number; // the lower the older
  holder: Seated | null = null;

  constructor(place: string | null, number: number) {
    this.place = place;
    this.number = number;
  }
}

const SPARED: readonly Busy[] = ["beginning", "idle", "sending"];
// For one that comes: with all 12,000 it took two milliseconds, and many come at once when there are so many. An
// address has no more, but for this machine itself.
const LOOKED_AT = 200;

export class ConnectionBook {
  readonly #byPlace = new Map<string, Seats>();
  readonly #seats = new Seats();
  #placed = 0; // how many of them count for an address
  #numbers = 0;

  get all(): number {
    return this.#seats.size;
  }

  /**
   * Counts a connection, or says that it must not be. Where there are too many, one of those that are missed least has to
   * go, the oldest that is seen: so 200 that never ask anything do not keep out the one that does. Whoever has
   * more than others gives way first, and does not take the place of those who have few.
   */
  enter(place: string | null, loopback: boolean, limits: ConnectionLimits): Seat | null {
    const max = loopback ? limits.connectionsPerLocalAddress : limits.connectionsPerAddress;
    const near = place === null ? null : (this.#byPlace.get(place) ?? null);
    if (near !== null && near.size >= max && !this.#makeRoom(near, true)) return null;
    const full = this.#seats.size >= limits.connections;
    if (full && !this.#makeRoom(this.#seats, !this.#hasMany(place))) return null;
    const seat = new Seat(place, this.#numbers++);
    this.#seats.add(seat);
    if (place !== null) {
      const seats = this.#byPlace.get(place) ?? new Seats();
      this.#byPlace.set(place, seats.add(seat));
      this.#placed++;
    }
    return seat;
  }

  /** May be called again: a connection that made room is gone before its socket is. */
  leave(seat: Seat): void {
    if (!this.#seats.delete(seat) || seat.place === null) return;
    const near = this.#byPlace.get(seat.place);
    near?.delete(seat);
    this.#placed--;
    if (near?.size === 0) this.#byPlace.delete(seat.place);
  }

  /** More than addresses have on average. Those that speak for many have not. */
  #hasMany(place: string | null): boolean {
    const own = place === null ? 0 : (this.#byPlace.get(place)?.size ?? 0);
    return own * this.#byPlace.size > this.#placed;
  }

  #makeRoom(seats: Seats, ofFewToo: boolean): boolean {
    let found: Seat | null = null;
    let best = Infinity;
    for (const seat of seats.look(LOOKED_AT)) {
      const busy = seat.holder === null ? -1 : SPARED.indexOf(seat.holder.busy);
      if (busy < 0) continue;
      const many = this.#hasMany(seat.place);
      if (!many && !ofFewToo) continue;
      const rank = busy + (many ? 0 : SPARED.length);
      if (found !== null && (rank > best || (rank === best && seat.number > found.number)))
        continue;
      found = seat;
      best = rank;
    }
    if (found === null) return false;
    this.leave(found);
    found.holder?.drop();
    return true;
  }
}

/** Some of them at a time, each time the next ones. The hand is a number: an iterator that stands still would keep all
 *  who come and go behind it. */
class Seats {
  readonly #seats: Seat[] = [];
  readonly #places = new Map<Seat, number>();
  #hand = 0;

  get size(): number {
    return this.#seats.length;
  }

  add(seat: Seat): this {
    this.#places.set(seat, this.#seats.push(seat) - 1);
    return this;
  }

  /** The last one takes its place. */
  delete(seat: Seat): boolean {
    const place = this.#places.get(seat);
    if (place === undefined) return false;
    this.#places.delete(seat);
    const last = this.#seats.pop();
    if (last !== undefined && last !== seat) {
      this.#seats[place] = last;
      this.#places.set(last, place);
    }
    return true;
  }

  *look(max: number): Generator<Seat> {
    for (let left = Math.min(max, this.#seats.length); left > 0; left--) {
      if (this.#hand >= this.#seats.length) this.#hand = 0;
      const seat = this.#seats[this.#hand++];
      if (seat !== undefined) yield seat;
    }
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
