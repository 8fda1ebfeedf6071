// What four times of two clocks say: how long the way took, and how far the clocks are apart.

import type { Nanos } from "@holdfast/shared/world";
import type { EchoTimes } from "./messages.ts";

export interface Measured {
  /** Both ways together, without the time that the other side took. */
  readonly duration: Nanos;
  /** How far the clock of whoever answers is ahead of the one who asks. */
  readonly skew: Nanos;
}

export function measure({ t0, t1, t2, t3 }: EchoTimes): Measured {
  return { duration: t3 - t0 - (t2 - t1), skew: (t1 - t0 + (t2 - t3)) / 2n };
}
