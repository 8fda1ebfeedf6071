// What a test can turn on the fake: its clock, how late things become visible, how small its pages are.

/** Seconds. */
export interface Visibility {
  /** Until a new user is known to anything but the check of its name. */
  readonly newUsers: number;
  /** Until a new key is listed and can be changed or deleted. */
  readonly newKeys: number;
  /** Until a new key is accepted in a signature. */
  readonly authentication: number;
  /** For so long after that, every second signature of a new key is refused. */
  readonly flapping: number;
  /** For so long a deleted user is still read and a deleted key still accepted. */
  readonly deletions: number;
  /** Instead of the first two, by the name of the action. */
  readonly actions: Readonly<Record<string, number>>;
}

const AT_ONCE: Visibility = {
  newUsers: 0,
  newKeys: 0,
  authentication: 0,
  flapping: 0,
  deletions: 0,
  actions: {},
};

export class Settings {
  readonly #clock: () => number;
  readonly #isMachineTime: boolean;
  #offset = 0;
  visibility: Visibility = AT_ONCE;
  /** The most items on a page, whatever is asked for; null: as asked. */
  pageSize: number | null = null;

  /** `clock` in ms since 1970; null: that of the machine. */
  constructor(clock: (() => number) | null) {
    this.#clock = clock ?? Date.now;
    this.#isMachineTime = clock === null;
  }

  now(): number {
    return this.#clock() + this.#offset;
  }

  moveClock(offsetMs: number): void {
    this.#offset = offsetMs;
  }

  /** A client signs by the clock of the machine even where a test moves everybody else's. */
  signingClocks(): readonly number[] {
    const isMoved = !this.#isMachineTime || this.#offset !== 0;
    return isMoved ? [this.now(), Date.now()] : [this.now()];
  }

  setVisibility(change: Partial<Visibility>): void {
    this.visibility = { ...AT_ONCE, ...change };
  }
}
