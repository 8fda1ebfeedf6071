// What is to be said on a stream, in order, as whoever sends it wants it: one at a time, when the one before has gone.

export class Outbox<T> implements AsyncIterable<T> {
  readonly #waiting: T[] = [];
  #wake: (() => void) | null = null;
  #ended = false;

  push(message: T): void {
    this.#waiting.push(message);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
