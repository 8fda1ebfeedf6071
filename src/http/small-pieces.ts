// Bytes that come in tiny pieces. A record of TLS or a frame of HTTP/2 may hold a single byte, and costs what one of
// thousands costs; the runtime hands over as many as have come, in one turn of its event loop, and asks nobody in between.
// A few of them are a client that writes as it thinks. Hundreds in one turn are nobody's way to send a request: that
// connection ends, or all others would wait.

import { clientOf } from "@holdfast/shared/text/client-address";
import type { Timers } from "@holdfast/shared/world";

/** In bytes. */
const SMALL = 64;
/** Of one connection in one turn, as often as anybody may need: the end of a head, the end of a body. */
const USUAL = 2;
/** More than that, of one connection and of all of an address. */
const MAX_OF_CONNECTION = 64;
const MAX_OF_CLIENT = 128;

export interface PieceWatch {
  /** Whether this is one too many: then its connection must end at once. */
  isTooMuch(piece: Uint8Array): boolean;
}

export class SmallPieces {
  readonly #timers: Pick<Timers, "turn">;
  /** In this turn. */
  readonly #byClient = new Map<string, number>();
  #turn = 0;
  #counting = false;

  constructor(timers: Pick<Timers, "turn">) {
    this.#timers = timers;
  }

  /** For one connection. */
  of(address: string): PieceWatch {
    const client = clientOf(address);
    let [turn, count] = [-1, 0];
    return {
      isTooMuch: ({ length }) => {
        if (length >= SMALL) return false;
        this.#count();
        if (turn !== this.#turn) [turn, count] = [this.#turn, 0];
        if (++count <= USUAL) return false;
        const all = (this.#byClient.get(client) ?? 0) + 1;
        this.#byClient.set(client, all);
        return count > USUAL + MAX_OF_CONNECTION || all > MAX_OF_CLIENT;
      },
    };
  }

  /** Turns have numbers while anything is counted in them. */
  #count(): void {
    if (this.#counting) return;
    this.#counting = true;
    void this.#timers.turn().then(() => {
      this.#turn++;
      this.#counting = false;
      this.#byClient.clear();
    });
  }
}
