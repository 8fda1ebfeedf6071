// What secondaries say that they have sealed under the data key that all clusters of a set share: the primary counts it in, and
// makes a new key when the sum says so.

import type { Barrier } from "../../barrier/barrier.ts";

export interface SealedCount {
  /** Of the data key that it was sealed with. */
  readonly term: number;
  /** All that the secondary has sealed with it so far. */
  readonly encryptions: number;
}

/** Each time it says so, which is every five seconds: what is more is counted the next times. One that says what is not true
 *  cannot have keys changed all the time. */
const MAX_MORE = 10_000_000;

export class CountedElsewhere {
  readonly #barrier: Barrier;
  /** By id. After a restart all of it is counted anew: rather too much than too little. */
  readonly #last = new Map<string, SealedCount>();

  constructor(barrier: Barrier) {
    this.#barrier = barrier;
  }

  /** As often as it says so. */
  note(id: string, said: SealedCount): void {
    const before = this.#last.get(id);
    const counted = before?.term === said.term ? before.encryptions : 0;
    if (said.encryptions <= counted) return; // an old message, or a store that has begun anew
    const more = Math.min(said.encryptions - counted, MAX_MORE);
    this.#last.set(id, { term: said.term, encryptions: counted + more });
    this.#barrier.countElsewhere(said.term, more);
  }

  /** It is not known any more. What it has sealed stays counted. */
  forget(id: string): void {
    this.#last.delete(id);
  }
}
