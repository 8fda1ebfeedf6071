// Shows that something is going on, once it has taken longer than a second, on a terminal only. Work of
// many requests tells how far it is.

import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { OutputStream } from "./output.ts";

const PATIENCE = SECOND;
const STEP = 120n * MILLISECOND;
const FRAMES = ["|", "/", "-", "\\"];
const CLEAR = "\r\u001b[K";

export class Activity {
  readonly #stderr: OutputStream;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #timer: Timer | null = null;
  #since: Nanos = 0n;
  #frame = 0;
  #line: string | null = null;

  constructor(stderr: OutputStream, clock: Clock, timers: Timers) {
    this.#stderr = stderr;
    this.#clock = clock;
    this.#timers = timers;
  }

  begin(what: string): void {
    if (this.#line !== null) return;
    this.end();
    if (this.#stderr.isTTY !== true) return;
    this.#since = this.#clock.elapsed();
    this.#timer = this.#timers.after(PATIENCE, () => this.#draw(what));
  }

  end(): void {
    if (this.#line === null) this.#clear();
  }

  /** Stands there instead of what requests show, until null takes it away. */
  tell(text: string | null): void {
    if (this.#line === null) this.#since = this.#clock.elapsed();
    this.#line = text;
    if (this.#stderr.isTTY !== true) return;
    if (text === null) this.#clear();
    else this.#timer ??= this.#timers.after(PATIENCE, () => this.#draw(text));
  }

  #clear(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#frame > 0) this.#stderr.write(CLEAR);
    this.#frame = 0;
  }

  #draw(what: string): void {
    const seconds = (this.#clock.elapsed() - this.#since) / SECOND;
    const frame = FRAMES[this.#frame++ % FRAMES.length]!;
    this.#stderr.write(`${CLEAR}${frame} ${this.#line ?? what}, ${seconds} s`);
    this.#timer = this.#timers.after(STEP, () => this.#draw(what));
  }
}

/** Shares given of shares needed: [######------] 1/2. */
export function progressBar(done: number, of: number, width = 24): string {
  const share = of <= 0 ? 1 : Math.min(1, Math.max(0, done / of));
  const filled = Math.round(share * width);
  return `[${"#".repeat(filled)}${"-".repeat(width - filled)}] ${done}/${of}`;
}
