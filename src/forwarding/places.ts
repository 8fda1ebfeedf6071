// Who may send something to the primary now. Everything goes over the session by which the rows come as well, and that has a
// number of streams: what is sent on never has all of them, and what waits there for a change has none of those of the rest.

import { FairLine } from "@holdfast/shared/fair-line";
import { orAborted } from "../base/or-aborted.ts";
import { clientOf } from "@holdfast/shared/text/client-address";
import type { SentRequest } from "../core/seams.ts";
import { primaryBusy, tooManyThere } from "./failures.ts";
import { ask, forward } from "./messages.ts";

/** Queries that wait: of all, of an address and with a credential. */
export const WAITING = { all: 16, address: 12, credential: 8 } as const;
/** For whom there is no place at once. */
const LINE = { waiting: 1024, waitingPerAddress: 512 };

export class Places {
  readonly #forwarded = lineOf(forward.atOnce);
  readonly #named = lineOf(ask.atOnce - WAITING.all);
  /** By whom: an address or a credential, and all together. */
  readonly #waiting = new Map<string, number>();

  /** Throws a Failure where there is none: then nothing was sent. */
  async run<T>(
    { incoming, credential, isNamed, mayWait, signal = incoming.signal }: SentRequest,
    send: () => Promise<T>,
  ): Promise<T> {
    const { remote } = incoming;
    if (mayWait) return await this.#wait(remote.address, credential, send);
    const line = isNamed ? this.#named : this.#forwarded;
    return await line.run({ waitFor: (turn) => orAborted(turn, signal) }, remote.address, send);
  }

  /** At once or not at all: it would stand in line for minutes. */
  async #wait<T>(address: string, credential: string | null, send: () => Promise<T>): Promise<T> {
    const bounds: readonly (readonly [name: string, most: number])[] = [
      ["all", WAITING.all],
      [`address ${clientOf(address)}`, WAITING.address],
      [`credential ${credential ?? ""}`, WAITING.credential],
    ];
    if (bounds.some(([name, most]) => (this.#waiting.get(name) ?? 0) >= most)) throw tooManyThere();
    for (const [name] of bounds) this.#waiting.set(name, (this.#waiting.get(name) ?? 0) + 1);
    try {
      return await send();
    } finally {
      for (const [name] of bounds) {
        const left = (this.#waiting.get(name) ?? 1) - 1;
        if (left === 0) this.#waiting.delete(name);
        else this.#waiting.set(name, left);
      }
    }
  }
}

/** An address has three quarters of the places, so that others find one. */
function lineOf(atOnce: number): FairLine {
  const atOncePerAddress = Math.ceil((atOnce * 3) / 4);
  return new FairLine({ ...LINE, atOnce, atOncePerAddress }, primaryBusy);
}
