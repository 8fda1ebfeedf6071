// What those answer that are known from before this cluster led, when they are told that it does. One that has heard it once is
// asked again: whoever led before may have taken it back since.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { type Epoch, isOlder } from "../roles/role.ts";

/** What is known of one of them. */
export interface Standing {
  /** Whether it takes this cluster for the one that leads. */
  readonly hasHeard: boolean;
  /** The cluster that it takes for that instead; empty where it says none. */
  readonly follows: string;
  /** It answers, and this cluster is nobody there: it was revoked by whoever it follows. */
  readonly refuses: boolean;
}

export const UNHEARD: Standing = { hasHeard: false, follows: "", refuses: false };

/** Who has heard it is asked again after so long. */
const AGAIN: Nanos = MINUTE;

export class Informed {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #all = new Map<string, Standing & { readonly at: Nanos | null }>();

  constructor(clock: Pick<Clock, "elapsed">) {
    this.#clock = clock;
  }

  /** As it was stored: these had heard it when they were last asked. */
  load(names: readonly string[]): void {
    for (const name of names) {
      if (!this.#all.has(name)) this.#all.set(name, { ...UNHEARD, hasHeard: true, at: null });
    }
  }

  /** Those that have heard it, without the primary of before. */
  get heard(): readonly string[] {
    return [...this.#all].flatMap(([name, { hasHeard }]) =>
      hasHeard && name !== "" ? [name] : [],
    );
  }

  of(name: string): Standing {
    return this.#all.get(name) ?? UNHEARD;
  }

  isDue(name: string): boolean {
    const { hasHeard, at } = this.#all.get(name) ?? { ...UNHEARD, at: null };
    return !hasHeard || at === null || this.#clock.elapsed() - at >= AGAIN;
  }

  /** It was told of `own`. `known`: who leads as far as it knows; null where it has not said. Whether it had heard it, and has
   *  not any more. One that does not answer knows what it knew. */
  note(
    name: string,
    own: Epoch,
    known: Epoch | null,
    refuses: boolean,
  ): { readonly isLost: boolean } {
    if (known === null && !refuses) return { isLost: false };
    const hasHeard = known !== null && !isOlder(known, own);
    const follows = known === null || hasHeard ? "" : known.cluster;
    const isLost = this.of(name).hasHeard && !hasHeard;
    const at = this.#clock.elapsed();
    this.#all.set(name, { hasHeard, follows, refuses: known === null, at });
    return { isLost };
  }

  clear(): void {
    this.#all.clear();
  }
}
