// What the process that made an exchange keeps until somebody unseals: what it has signed, and the two keys that lie on no
// disk. It outlives the house that made it, and is believed before anything that lies there.

import type { KeyObject } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import type { Ring } from "../evidence/evidence-rows.ts";
import type { Counts } from "./counts.ts";
import type { Letter } from "./letter.ts";

export interface Handed {
  /** Of the data that it is for: only who has its keys could have written it. */
  readonly head: Uint8Array;
  readonly letter: Letter;
  /** Public keys of evidence before the one that goes on. */
  readonly ring: Ring;
  /** The private half of the key that goes on. */
  readonly secret: Buffer;
  /** Of the rows that are sealed. */
  readonly rowsKey: KeyObject;
}

export class Held {
  #handed: Handed | null = null;
  #begun: Counts | null = null;

  get handed(): Handed | null {
    return this.#handed;
  }

  /** What was counted when this process had taken in what was in clear; null before that. */
  get begun(): Counts | null {
    return this.#begun;
  }

  hold(handed: Handed): void {
    this.drop();
    this.#handed = handed;
  }

  /** It is durable: from here on the rows of the store are its own. */
  begin(counts: Counts): void {
    if (this.#handed !== null) this.#begun = counts;
  }

  /** It is stored, or of no use any more. */
  drop(): void {
    wipe(this.#handed?.secret);
    this.#handed = null;
    this.#begun = null;
  }
}
