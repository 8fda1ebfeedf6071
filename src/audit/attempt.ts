// One record on its way to all devices at once: taken as soon as one has it, lost when none is left.

import { auditBusy, auditFailed } from "./failures.ts";

export class Attempt {
  readonly #settled = Promise.withResolvers<void>();
  readonly #lost: (full: boolean) => void;
  #left: number;
  #taken = false;
  #full = false; // a device that works has no room for it
  #onTaken: (() => void)[] | null = null;

  /** `lost` is called before the refusal. */
  constructor(devices: number, lost: (full: boolean) => void = () => {}) {
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

  /** A device has too much to do: whoever comes again may find room. */
  refused(): void {
    this.#full = true;
    this.failed();
  }

  failed(): void {
    if (--this.#left === 0 && !this.#taken) this.#refuse();
  }

  #refuse(): void {
    this.#lost(this.#full);
    this.#settled.reject(this.#full ? auditBusy() : auditFailed());
  }
}
