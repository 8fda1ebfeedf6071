// The ids by which a provider knows the calls of one piece of work: who asks there what became of it gives these.

import { ProviderError } from "./provider-error.ts";

const KEPT = 16; // the last ones: what was looked up before says less than what was done

export class RequestIds {
  readonly #ids: string[] = [];

  get last(): readonly string[] {
    return this.#ids;
  }

  /** As providers make them: an answer cannot have us keep anything else, least of all a secret. */
  add(id: unknown): void {
    if (typeof id !== "string" || !/^[0-9a-f-]{8,64}$/i.test(id)) return;
    this.#ids.push(id);
    if (this.#ids.length > KEPT) this.#ids.shift();
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
