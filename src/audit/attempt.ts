// One record on its way to all devices at once: taken as soon as one has it, lost when none is left.

import { auditFailed } from "./failures.ts";

export class Attempt {
  readonly #settled = Promise.withResolvers<void>();
  readonly #lost: () => void;
  #left: number;
  #taken = false;
  #onTaken: (() => void)[] | null = null;

  /** `lost` is called before the refusal. */
  constructor(devices: number, lost: () => void = () => {}) {
    this.#left = devices;
    this.#lost = lost;
    if (devices === 0) this.#refuse();
  }

  get done(): Promise<void> {
    return this.#settled.promise;
  }

  taken(): void {
    this.#taken = true;
    this.#settled.resolve();
    if (this.#onTaken !== null) for (const call of this.#onTaken.splice(0)) call();
  }

  /** For a device that has not got round to it. */
  whenTaken(call: () => void): void {
    (this.#onTaken ??= []).push(call);
  }

  failed(): void {
    if (--this.#left === 0 && !this.#taken) this.#refuse();
  }

  #refuse(): void {
    this.#lost();
    this.#settled.reject(auditFailed());
  }
}
