// Who is next for work of which little can be done at a time. Each address waits in a line of its own, a short
// one, the lines take turns, and no address has all the places: whoever sends a thousand requests waits behind
// itself, and whoever sends one finds a place free or is next.

import { clientOf } from "./text/client-address.ts";
import type { Waiting } from "./waiting.ts";

export interface LineLimits {
  readonly atOnce: number;
  readonly atOncePerAddress: number;
  readonly waiting: number; // in all
  readonly waitingPerAddress: number;
}

interface Place {
  readonly go: () => void;
  readonly refuse: () => void;
}

export class FairLine {
  readonly #limits: LineLimits;
  readonly #full: () => Error;
  /** The first of the map is next; who had a turn goes to its end. */
  readonly #lines = new Map<string, Place[]>();
  readonly #running = new Map<string, number>();
  #waiting = 0;
  #busy = 0;

  /** `full`: what those are told for whom there is no place. */
  constructor(limits: LineLimits, full: () => Error) {
    this.#limits = limits;
    this.#full = full;
  }

  /** Refuses whoever has nothing to wait for, before anything is done for it. */
  check(address: string): void {
    const client = ` ${clientOf(address)}`;
    if (!this.#mayRun(client) && !this.#mayWait(client)) throw this.#full();
  }

  /** What is done on behalf of somebody (`within`) waits behind what else is, and from this address. */
  async run<T>(request: Waiting, address: string, work: () => Promise<T>, within = ""): Promise<T> {
    const client = `${within} ${clientOf(address)}`;
    if (this.#mayRun(client)) this.#begin(client);
    else await this.#wait(request, client);
    try {
      return await work();
    } finally {
      this.#end(client);
    }
  }

  #mayRun(client: string): boolean {
    const { atOnce, atOncePerAddress } = this.#limits;
    return this.#busy < atOnce && (this.#running.get(client) ?? 0) < atOncePerAddress;
  }

  #begin(client: string): void {
    this.#busy += 1;
    this.#running.set(client, (this.#running.get(client) ?? 0) + 1);
  }

  #mayWait(client: string): boolean {
    return (this.#lines.get(client)?.length ?? 0) < this.#limits.waitingPerAddress;
  }

  async #wait(request: Waiting, client: string): Promise<void> {
    if (!this.#mayWait(client)) throw this.#full();
    const line = this.#lines.get(client) ?? [];
    const isFull = this.#waiting >= this.#limits.waiting;
    if (isFull && !this.#makeRoom(line.length)) throw this.#full();
    const { promise: turn, resolve, reject } = Promise.withResolvers<void>();
    let came = false;
    const go = () => {
      came = true;
      resolve();
    };
    const place = { go, refuse: () => reject(this.#full()) };
    line.push(place);
    this.#lines.set(client, line);
    this.#waiting += 1;
    try {
      await request.waitFor(turn);
    } catch (error) {
      if (came) this.#end(client);
      else this.#leave(client, place);
      throw error;
    }
  }

  /** Where it still stands there. */
  #leave(client: string, place: Place): void {
    const line = this.#lines.get(client) ?? [];
    const at = line.indexOf(place);
    if (at < 0) return;
    line.splice(at, 1);
    this.#waiting -= 1;
    if (line.length === 0) this.#lines.delete(client);
  }

  /** The last of the longest line gives way to an address that has fewer there. */
  #makeRoom(own: number): boolean {
    let longest: Place[] = [];
    for (const line of this.#lines.values()) if (line.length > longest.length) longest = line;
    if (longest.length <= own + 1) return false;
    longest.pop()?.refuse();
    this.#waiting -= 1;
    return true;
  }

  #end(client: string): void {
    const left = (this.#running.get(client) ?? 1) - 1;
    if (left === 0) this.#running.delete(client);
    else this.#running.set(client, left);
    this.#busy -= 1;
    for (const [next, line] of this.#lines) {
      if (!this.#mayRun(next)) continue;
      this.#lines.delete(next);
      const waiter = line.shift();
      if (line.length > 0) this.#lines.set(next, line);
      this.#waiting -= 1;
      this.#begin(next);
      waiter?.go();
      return;
    }
  }
}
