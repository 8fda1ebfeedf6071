// Times as records show them: nanoseconds, always nine digits. Two thousand records share a second,
// so the text before the fraction is kept.

import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";

export class TimeText {
  #second = -1n;
  #text = "";

  show(instant: Instant): string {
    const second = instant / SECOND;
    if (second !== this.#second) {
      this.#second = second;
      this.#text = showTime(second * SECOND).slice(0, -1);
    }
    const fraction = Number(instant - second * SECOND) + 1_000_000_000;
    return `${this.#text}.${String(fraction).slice(1)}Z`;
  }
}
