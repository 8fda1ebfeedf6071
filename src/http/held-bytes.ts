// How much of requests and answers lies in memory: bodies that are being read, answers that wait for their
// record or for a client to take them. Counted by address and in all, for a connection of HTTP/2 has a hundred
// streams and an address has many connections. What is small is not counted: the numbers of connections and
// streams bound it, and it passes when nothing else does.

import { clientOf } from "@holdfast/shared/text/client-address";
import type { ListenerLimits } from "./listener-settings.ts";

/** Up to here nothing is counted. */
export const SMALL = 8 * 1024; // bytes

type HeldLimits = Pick<ListenerLimits, "heldBytes" | "heldBytesPerAddress">;

export class HeldBytes {
  readonly #byClient = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  /** False where there is no room. One that holds nothing yet has room for anything that is allowed at all. */
  take(address: string, bytes: number, limits: HeldLimits): boolean {
    const client = clientOf(address);
    const own = this.#byClient.get(client) ?? 0;
    if (own > 0 && own + bytes > limits.heldBytesPerAddress) return false;
    if (this.#all > 0 && this.#all + bytes > limits.heldBytes) return false;
    this.#byClient.set(client, own + bytes);
    this.#all += bytes;
    return true;
  }

  giveBack(address: string, bytes: number): void {
    const client = clientOf(address);
    const left = (this.#byClient.get(client) ?? 0) - bytes;
    if (left > 0) this.#byClient.set(client, left);
    else this.#byClient.delete(client);
    this.#all -= bytes;
  }
}
