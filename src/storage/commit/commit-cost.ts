// What a commit costs by itself, and what by what is in it, learned from commits of different sizes: a
// straight line through those of late. Storage with a slow sync costs by itself; a large store, whose
// pages lie far apart, by what is in it.

/** How much of what was learned is left after each commit: about the last thirty count. */
const KEPT = 0.97;
/** Sizes that differ less than this, relative to their mean, say nothing about a slope. */
const MIN_SPREAD = 0.1;

export class CommitCost {
  #weight = 0;
  #sizes = 0;
  #times = 0;
  #squares = 0;
  #products = 0;

  learn(size: number, nanos: number): void {
    this.#weight = this.#weight * KEPT + 1;
    this.#sizes = this.#sizes * KEPT + size;
    this.#times = this.#times * KEPT + nanos;
    this.#squares = this.#squares * KEPT + size * size;
    this.#products = this.#products * KEPT + size * nanos;
  }

  /** The part of a commit of this size that does not depend on it, from 0 to 1; null while unknown. */
  fixedShare(size: number): number | null {
    if (this.#weight < 4) return null;
    const mean = this.#sizes / this.#weight;
    const variance = this.#squares / this.#weight - mean * mean;
    if (variance < (MIN_SPREAD * mean) ** 2) return null;
    const time = this.#times / this.#weight;
    const each = (this.#products / this.#weight - mean * time) / variance;
    const fixed = time - each * mean;
    const whole = fixed + each * size;
    if (whole <= 0) return null;
    return Math.min(1, Math.max(0, fixed / whole));
  }
}
