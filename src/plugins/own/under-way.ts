// Requests that a plugin works on, by the numbers that came with them: what only the server knows of one is asked by it, and of
// no other.

import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import { transactionRefused } from "./failures.ts";

export class UnderWay {
  readonly #requests = new Map<bigint, EngineRequest>();
  /** Those that may make a secret, though their endpoints do not say so. */
  readonly #issuing = new Set<bigint>();
  #last = 0n;

  async during<T>(request: EngineRequest, work: (number: bigint) => Promise<T>): Promise<T> {
    const number = ++this.#last;
    this.#requests.set(number, request);
    try {
      return await work(number);
    } finally {
      this.#requests.delete(number);
      this.#issuing.delete(number);
    }
  }

  /** Throws where it may not. */
  async issues(number: bigint): Promise<void> {
    await this.of(number).issues();
    this.#issuing.add(number);
  }

  mayIssue(number: bigint): boolean {
    return this.#issuing.has(number);
  }

  of(number: bigint): EngineRequest {
    const found = this.#requests.get(number);
    if (found === undefined) throw transactionRefused("the request that it asks about is over");
    return found;
  }
}
