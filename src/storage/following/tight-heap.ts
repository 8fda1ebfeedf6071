// The collector lets old objects become four times as many as were alive when it last looked through them. What a copy of rows holds while they are
// on their way to the disk lives just long enough to count as old: of a million rows that made a hundred megabytes which nobody held any more.
// What it comes to is measured by `npm run bench -- replication/first-copy`.

import { setFlagsFromString } from "node:v8";

/** By how much they may grow meanwhile. */
const PERCENT = 50;
const AS_USUAL = 0;

export class TightHeap {
  readonly #set: (flag: string) => void;
  #running = 0;

  constructor(set: (flag: string) => void) {
    this.#set = set;
  }

  /** Old objects are looked through more often as long as this runs. */
  async during<T>(run: () => Promise<T>): Promise<T> {
    if (this.#running++ === 0) this.#growBy(PERCENT);
    try {
      return await run();
    } finally {
      if (--this.#running === 0) this.#growBy(AS_USUAL);
    }
  }

  #growBy(percent: number): void {
    this.#set(`--heap-growing-percent=${percent}`);
  }
}

/** That of the process: there is one, whoever copies. */
const ours = new TightHeap(setFlagsFromString);

export function withTightHeap<T>(run: () => Promise<T>): Promise<T> {
  return ours.during(run);
}
