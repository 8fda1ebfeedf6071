// The ids by which a provider knows the calls of one piece of work: who asks there what became of it gives these.

import { isRequestId, MAX_REQUEST_IDS } from "@holdfast/plugin-sdk/request-id";
import { ProviderError } from "./provider-error.ts";

export class RequestIds {
  readonly #ids: string[] = [];

  get last(): readonly string[] {
    return this.#ids;
  }

  add(id: unknown): void {
    if (!isRequestId(id)) return;
    this.#ids.push(id);
    if (this.#ids.length > MAX_REQUEST_IDS) this.#ids.shift();
  }

  /** Also of a call that says that something is not there: that it is gone is what was to be seen. */
  async of<T>(call: Promise<T>, idIn: (answer: T) => unknown): Promise<T> {
    try {
      const answer = await call;
      this.add(idIn(answer));
      return answer;
    } catch (error) {
      if (error instanceof ProviderError && error.gone) this.add(error.requestId);
      throw error;
    }
  }
}
