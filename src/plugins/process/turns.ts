// So many at once, the others in their order. Who has begun and only waits gives its place to the next.

export class Turns {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  readonly #idle: (() => void)[] = [];
  /** Places that are taken. */
  #taken = 0;
  /** Also of those that have given their place away. */
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** `give`: the place is the next one's from here on, though the work goes on. */
  async take<T>(work: (give: () => void) => Promise<T>): Promise<T> {
    this.#running++;
    if (this.#taken >= this.#max) await new Promise<void>((begin) => this.#waiting.push(begin));
    else this.#taken++;
    let hasPlace = true;
    const give = () => {
      if (hasPlace) this.#next();
      hasPlace = false;
    };
    try {
      return await work(give);
    } finally {
      give();
      this.#running--;
      if (this.#running === 0) for (const call of this.#idle.splice(0)) call();
    }
  }

  /** Resolves when nobody works, nor waits for a turn. */
  idle(): Promise<void> {
    return this.#running === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idle.push(resolve));
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken--;
    else next(); // in our place
  }
}
