// Fail-stop: on the first storage error of any kind the store is not trusted any more. Nothing is
// acknowledged, whatever waits is refused, and `failed` resolves so that the process can seal and
// exit. An orderly close refuses in the same places, with another text. The life knows which it is.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { EngineError } from "../engines/engine.ts";
import { storageFailed } from "../failures.ts";
import { assertUp, type Life } from "../life.ts";

export class FailStop {
  /** Resolves with the cause when the storage has failed. */
  readonly failed: Promise<unknown>;

  readonly #life: Life<unknown>;
  readonly #log: Log;
  readonly #announce: (cause: unknown) => void;
  readonly #whenLost: ((refusal: Error) => void)[] = [];

  constructor(life: Life<unknown>, log: Log) {
    this.#life = life;
    this.#log = log;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.failed = promise;
    this.#announce = resolve;
  }

  /** Neither failed nor closed. */
  get holds(): boolean {
    const { at } = this.#life.state;
    return at !== "lost" && at !== "closed";
  }

  /** Called once when the storage fails, before that is announced, with what to tell who waits. */
  onLost(call: (refusal: Error) => void): void {
    this.#whenLost.push(call);
  }

  assert(): void {
    assertUp(this.#life.state);
  }

  assertNotFailed(): void {
    const { state } = this.#life;
    if (state.at === "lost") throw storageFailed(state.cause);
  }

  fail(cause: unknown): void {
    if (this.#life.state.at === "lost") return;
    this.#life.step({ do: "lose", cause });
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
