// Connections that have come and are not served yet, and handshakes that have not begun. The system keeps one line for everybody, and the runtime takes one
// out of it in each turn of its event loop: whatever else is done in that turn, all in that line wait for. So while they
// keep coming they are only taken in, which is quick, and served by address: a thousand that one address opens
// at once wait behind each other here, and not in front of the next one's.

import type { Nanos } from "@holdfast/shared/world";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { FairTurnsWorld } from "./fair-turns.ts";
import { Rotation } from "./rotation.ts";

// Nobody is served so long at most, if they come without end. A thousand are taken in within a few times of it.
const TAKING_IN: Nanos = 25n * MILLISECOND;
/** And so long they are served then, over several turns. */
const SERVING: Nanos = 15n * MILLISECOND;
const TURN: Nanos = 5n * MILLISECOND;
// Of one turn. What follows is not ours to measure: a handshake may take five milliseconds.
const AT_ONCE = 32;
export const CONNECTION_COST = 1;
export const HANDSHAKE_COST = 16;

interface Arrival {
  readonly cost: number;
  readonly serve: () => void;
}

export class Arrivals {
  readonly #world: FairTurnsWorld;
  readonly #waiting = new Rotation<Arrival>();
  #looking = false;
  /** Since it was last looked at. */
  #more = false;

  constructor(world: FairTurnsWorld) {
    this.#world = world;
  }

  /** Serves it at once, unless others came just before it. */
  add(client: string, arrival: Arrival): void {
    this.#more = true;
    this.wait(client, arrival);
  }

  /** The next of one that was taken in before, in the same line: while others are taken in it waits, or they would wait
   *  for it. */
  wait(client: string, arrival: Arrival): void {
    if (this.#looking) return this.#waiting.add({ tenant: "", client }, arrival);
    this.#looking = true;
    arrival.serve();
    void this.#look();
  }

  async #look(): Promise<void> {
    const { clock, timers } = this.#world;
    let since = clock.elapsed();
    let isServing = false;
    await timers.turn(); // the end of that which it came in: the next one tells whether more wait
    this.#more = false;
    for (;;) {
      await timers.turn();
      const more = this.#more;
      this.#more = false;
      if (this.#waiting.size === 0 && !more) break;
      const now = clock.elapsed();
      if (isServing ? now - since >= SERVING : !more || now - since >= TAKING_IN) {
        isServing = !isServing;
        since = now;
      }
      if (isServing) this.#serve();
    }
    this.#looking = false;
  }

  #serve(): void {
    const { clock } = this.#world;
    const began = clock.elapsed();
    for (let spent = 0; spent < AT_ONCE;) {
      const arrival = this.#waiting.take();
      if (arrival === undefined) return;
      arrival.serve();
      spent += arrival.cost;
      if (clock.elapsed() - began >= TURN) return;
    }
  }
}
