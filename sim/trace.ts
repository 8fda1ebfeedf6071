// What happened, line by line, and the hash over it: the same seed must give the same one.

import { createHash, type Hash } from "node:crypto";
import { SECOND, type SimWorld } from "./world.ts";

export class Trace {
  readonly #world: SimWorld;
  readonly #print: ((line: string) => void) | null;
  readonly #hash: Hash = createHash("sha256");

  constructor(world: SimWorld, print: ((line: string) => void) | null) {
    this.#world = world;
    this.#print = print;
  }

  add(line: string): void {
    const whole = `${(this.#world.now / SECOND).toFixed(9)} ${line}\n`;
    this.#hash.update(whole);
    this.#print?.(whole);
  }

  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
