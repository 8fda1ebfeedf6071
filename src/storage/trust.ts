// Fail-stop: on the first storage error of any kind the store is not trusted any more. Nothing is
// acknowledged, whatever waits is refused, and `failed` resolves so that the process can seal and
// exit. An orderly close refuses in the same places, with another text.

import { describe } from "../base/failure.ts";
import type { Log } from "../base/log.ts";
import { EngineError } from "./engines/engine.ts";
import { storageFailed, storeClosed } from "./failures.ts";

export class Trust {
  /** Resolves with the cause when the storage has failed. */
  readonly failed: Promise<unknown>;

  readonly #log: Log;
  readonly #announce: (cause: unknown) => void;
  readonly #whenLost: ((refusal: Error) => void)[] = [];
  #failure: { readonly cause: unknown } | null = null;
  #closed = false;

  constructor(log: Log) {
    this.#log = log;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.failed = promise;
    this.#announce = resolve;
  }

  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** Neither failed nor closed. */
  get holds(): boolean {
    return this.#failure === null && !this.#closed;
  }

  /** Called once when the storage fails, before that is announced, with what to tell who waits. */
  onLost(call: (refusal: Error) => void): void {
    this.#whenLost.push(call);
  }

  close(): void {
    this.#closed = true;
  }

  assert(): void {
    this.assertNotFailed();
    if (this.#closed) throw storeClosed();
  }

  assertNotFailed(): void {
    if (this.#failure !== null) throw storageFailed(this.#failure.cause);
  }

  fail(cause: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { cause };
    this.#log.error("the storage failed; stopping", { cause: describe(cause) });
    const refusal = storageFailed(cause);
    for (const call of this.#whenLost) call(refusal);
    this.#announce(cause);
  }

  /** A read of the engine: an error of its own ends the trust. */
  read<T>(read: () => T): T {
    this.assert();
    return this.orFail(read, EngineError);
  }

  /** An error of the given kind (default: any) means that the store can no longer be trusted. */
  orFail<T>(run: () => T, kind: new (...args: never[]) => Error = Error): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof kind)) throw error;
      this.fail(error);
      throw storageFailed(error);
    }
  }
}
