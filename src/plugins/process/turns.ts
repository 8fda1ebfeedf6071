// So many at once, the others in their order.

export class Turns {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  readonly #idle: (() => void)[] = [];
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) await new Promise<void>((begin) => this.#waiting.push(begin));
    else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#end();
      else next(); // in our place
    }
  }

  /** Resolves when nobody has a turn, nor waits for one. */
  idle(): Promise<void> {
    return this.#running === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idle.push(resolve));
  }

  #end(): void {
    this.#running--;
    if (this.#running > 0) return;
    for (const call of this.#idle.splice(0)) call();
  }
}
