// How much of requests and answers lies in memory: bodies that are being read, answers that wait for their
// record or for a client to take them. Counted by address and in all, for a connection of HTTP/2 has a hundred
// streams and an address has many connections; and apart for those without a token, who could otherwise take the
// room of those who have one. What is small is not counted: the numbers of connections and streams bound it,
// and it passes when nothing else does.

import { clientOf } from "@holdfast/shared/text/client-address";
import { FairShare, type ShareLimits, UNKNOWN_PART } from "./fair-share.ts";
import type { ListenerLimits } from "./listener-settings.ts";

/** Up to here nothing is counted. */
export const SMALL = 8 * 1024; // bytes

/** What one request holds, until it is given back. */
export interface Holder {
  readonly address: string;
  readonly authenticated: boolean;
}

export class HeldBytes {
  readonly #known = new FairShare();
  readonly #unknown = new FairShare();

  get all(): number {
    return this.#known.all + this.#unknown.all;
  }

  /** False where there is no room. */
  take({ address, authenticated }: Holder, bytes: number, limits: ListenerLimits): boolean {
    const share = authenticated ? this.#known : this.#unknown;
    return share.take(clientOf(address), bytes, limitsFor(authenticated, limits));
  }

  giveBack({ address, authenticated }: Holder, bytes: number): void {
    const share = authenticated ? this.#known : this.#unknown;
    share.giveBack(clientOf(address), bytes);
  }
}

function limitsFor(authenticated: boolean, limits: ListenerLimits): ShareLimits {
  const { heldBytes, heldBytesWithoutToken, heldBytesPerAddress: perAddress } = limits;
  return authenticated
    ? { all: heldBytes, perAddress, part: 1 }
    : { all: heldBytesWithoutToken, perAddress, part: UNKNOWN_PART };
}
