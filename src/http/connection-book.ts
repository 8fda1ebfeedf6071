// How many connections there are, and from where. A single address must not be able to take all that
// the process can hold.

import { isIPv6 } from "node:net";
import type { ListenerLimits } from "./listener-settings.ts";

export class ConnectionBook {
  readonly #byPlace = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  /** Counts a connection, or says that it must not be. Null: a place that is not limited by itself. */
  enter(place: string | null, limits: ListenerLimits): boolean {
    if (this.#all >= limits.connections) return false;
    if (place !== null) {
      const count = this.#byPlace.get(place) ?? 0;
      if (count >= limits.connectionsPerAddress) return false;
      this.#byPlace.set(place, count + 1);
    }
    this.#all++;
    return true;
  }

  leave(place: string | null): void {
    this.#all--;
    if (place === null) return;
    const count = this.#byPlace.get(place) ?? 0;
    if (count > 1) this.#byPlace.set(place, count - 1);
    else this.#byPlace.delete(place);
  }
}

/** What counts as one place: an IPv4 address, or the 64-bit network that one IPv6 customer is given. */
export function placeOf(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [front = "", back] = plain.split("::");
  const groups = front === "" ? [] : front.split(":");
  if (back !== undefined) {
    const after = back === "" ? [] : back.split(":");
    while (groups.length + after.length < 8) groups.push("0");
    groups.push(...after);
  }
  return `${groups.slice(0, 4).join(":")}::/64`;
}

/** An IPv4 address that came in over an IPv6 socket, as IPv4. */
export function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}
