// Who waits for which accepted transaction to become durable. Transactions are numbered in the order
// in which they are accepted; that number is not the index, which only some of them take.

import { RenewedMap } from "@holdfast/shared/renewed-map";

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class DurabilityWaiters {
  readonly #waiting = new RenewedMap<number, Waiting[]>();
  #accepted = 0;
  #durable = 0;

  /** The number of the last accepted transaction: what whoever reads now may have seen. */
  get last(): number {
    return this.#accepted;
  }

  get pending(): number {
    return this.#accepted - this.#durable;
  }

  /** The number of a transaction that is being accepted. */
  next(): number {
    return ++this.#accepted;
  }

  when(sequence: number): Promise<void> {
    if (sequence <= this.#durable) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(sequence);
      if (waiting === undefined) this.#waiting.set(sequence, [{ resolve, reject }]);
      else waiting.push({ resolve, reject });
    });
  }

  /** Everything up to `sequence` counts as settled; whoever waits is told by tell() or refuse(). */
  reach(sequence: number): void {
    this.#durable = sequence;
  }

  tell(sequence: number): void {
    for (const { resolve } of this.#take(sequence)) resolve();
  }

  refuse(sequence: number, error: unknown): void {
    for (const { reject } of this.#take(sequence)) reject(error);
  }

  refuseAll(error: unknown): void {
    for (const sequence of this.#waiting.keys()) this.refuse(sequence, error);
  }

  #take(sequence: number): readonly Waiting[] {
    const waiting = this.#waiting.get(sequence) ?? [];
    this.#waiting.delete(sequence);
    return waiting;
  }
}
