// All processes of one program: one that its users share, or one for each of them. Which of both is known when the first has
// started.

import type { Clock } from "@holdfast/shared/world";
import type { HeldProcess, Program } from "../ports.ts";
import { Held } from "./held.ts";
import { Seat } from "./seat.ts";
import type { StartedProcess } from "./started-process.ts";

export interface FamilyParts {
  readonly clock: Pick<Clock, "elapsed">;
  readonly program: Program;
  /** Throws a Failure. */
  readonly start: () => Promise<StartedProcess>;
  /** By which a shared process knows one of its users. */
  readonly newId: () => string;
}

export class Family {
  readonly #parts: FamilyParts;
  readonly #first: Seat;
  #isShared: boolean | null = null;
  /** Of processes that are not shared, by user. */
  readonly #own = new Map<string, Seat>();
  readonly #held = new Map<string, Held>();

  constructor(parts: FamilyParts) {
    this.#parts = parts;
    this.#first = new Seat(this.#seatParts);
  }

  get program(): Program {
    return this.#parts.program;
  }

  get seats(): readonly Seat[] {
    return [...new Set([this.#first, ...this.#own.values()])];
  }

  get isIdle(): boolean {
    return this.seats.every((seat) => seat.isIdle);
  }

  usersOf({ started }: Seat): number {
    return [...this.#held.values()].filter((held) => held.started === started).length;
  }

  async hold(user: string, signal: AbortSignal): Promise<HeldProcess> {
    for (;;) {
      const seat = this.#seatOf(user);
      const started = await seat.take(signal);
      this.#isShared ??= started.isShared;
      if (this.#seatOf(user) === seat) return this.#hold(user, seat, started);
      await seat.leave(started); // it is another one's alone
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.seats.map((seat) => seat.stop()));
  }

  /** Until it is known whether it can be shared, all wait for the first; then that belongs to who comes first. */
  #seatOf(user: string): Seat {
    if (this.#isShared !== false) return this.#first;
    const own = this.#own.get(user);
    if (own !== undefined) return own;
    this.#forgetIdle();
    const seat = this.#own.size === 0 ? this.#first : new Seat(this.#seatParts);
    this.#own.set(user, seat);
    return seat;
  }

  #forgetIdle(): void {
    for (const [user, seat] of this.#own) {
      if (seat !== this.#first && seat.isIdle) this.#own.delete(user);
    }
  }

  #hold(user: string, seat: Seat, started: StartedProcess): HeldProcess {
    const before = this.#held.get(user);
    if (before?.started === started) {
      void seat.leave(started); // claimed already
      return before;
    }
    const gone = () => {
      if (this.#held.get(user) === held) this.#held.delete(user);
    };
    const held = new Held(seat, started, this.#parts.newId(), gone);
    this.#held.set(user, held);
    void started.ended.then(gone);
    return held;
  }

  get #seatParts() {
    const { clock, program, start } = this.#parts;
    return { clock, name: program.name, start };
  }
}
