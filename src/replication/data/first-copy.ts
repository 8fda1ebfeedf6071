// The end of the first copy of a performance secondary: from there on the rooms are open, with what has come and data of its own.

import { SECOND } from "@holdfast/shared/text/duration";
import { Recurring } from "../../base/recurring.ts";
import { isWhole, onApplied } from "../applied/how-far.ts";
import type { DataParts } from "./data-steps.ts";
import { isCopying } from "./shared-data.ts";

export class FirstCopy {
  readonly #parts: Omit<DataParts, "following">;
  readonly #opening: Recurring;
  #unwatch = () => {};

  constructor(parts: Omit<DataParts, "following">) {
    this.#parts = parts;
    const { timers, log } = parts.options;
    this.#opening = new Recurring({
      trouble: "could not open what the primary has sent",
      run: () => this.#look(),
      pause: { first: SECOND, max: 10n * SECOND },
      timers,
      log,
    });
  }

  /** Where one is under way. */
  open(): void {
    if (!isCopying(this.#parts.role.now)) return;
    this.#opening.open();
    this.#unwatch = onApplied(this.#parts.options, () => this.#opening.wake());
  }

  async close(): Promise<void> {
    this.#unwatch();
    await this.#opening.close();
  }

  async #look(): Promise<void> {
    const { options, role, changes } = this.#parts;
    if (!isCopying(role.now) || !isWhole(options)) return;
    const work = async () => {
      // Tokens are known from here on: what stood in for them ends.
      await role.step({ do: "copied" }, (tx) => options.endOperationTokens?.(tx));
      await changes.orSeal(() => options.house.takeOver());
      changes.tell("first-copy", {});
    };
    await changes.own(work, { isShut: true });
    this.#unwatch();
  }
}
