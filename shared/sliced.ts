// Long work that can be put down: it yields wherever it may wait, which is every few microseconds, and
// whoever runs it says how long a stretch is. What is pure stays so: the time is the runner's.

import { clientOf } from "./text/client-address.ts";
import { MILLISECOND } from "./text/duration.ts";
import type { Clock, Nanos, Timers } from "./world.ts";

export type Sliced<T> = Generator<void, T, void>;

/** On whose behalf it is done: tenants take turns, and then the clients of each. */
export interface Whose {
  /** The first name of the namespace; "" for the root, and where that plays no part. */
  readonly tenant: string;
  /** Any name of who asks, within it. */
  readonly client: string;
}

interface Namespaced {
  readonly namespace: { readonly path: string };
}

/** The whole of a tenant is one, however many namespaces it has made below its own. */
export function tenantOf({ namespace }: Namespaced): string {
  return namespace.path.split("/", 1)[0] ?? "";
}

/** A caller, where nobody knows from where it asks. */
export function whoseOf(caller: Namespaced & { readonly accessor: string }): Whose {
  return { tenant: tenantOf(caller), client: caller.accessor };
}

/** Who sends a request: by its address, since tokens are made by whoever has one. */
export function whoSends(
  request: Namespaced & {
    readonly caller: Namespaced | null;
    readonly remote: { readonly address: string };
  },
): Whose {
  return { tenant: tenantOf(request.caller ?? request), client: clientOf(request.remote.address) };
}

/** Gives way to others. */
export interface Turns {
  next(whose: Whose): Promise<void>;
  /** Does a little when it is its turn. */
  step<T>(whose: Whose, work: () => T): Promise<T>;
}

export interface Pace {
  readonly clock: Pick<Clock, "elapsed">;
  readonly turns: Turns;
  readonly whose: Whose;
}

/** Of one who is alone: every turn is its own. */
export function ownPace(world: {
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Pick<Timers, "turn">;
}): Pace {
  const turns: Turns = {
    next: () => world.timers.turn(),
    step: (_, work) => world.timers.turn().then(work),
  };
  return { clock: world.clock, turns, whose: { tenant: "", client: "" } };
}

const STRETCH: Nanos = 3n * MILLISECOND;

/** To its end, for those whom nobody waits for. */
export function atOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** One stretch of it. */
export function stretch<T>(
  work: Sliced<T>,
  clock: Pick<Clock, "elapsed">,
  length: Nanos = STRETCH,
): IteratorResult<void, T> {
  const began = clock.elapsed();
  for (;;) {
    const step = work.next();
    if (step.done === true || clock.elapsed() - began >= length) return step;
  }
}

/** In stretches of a few milliseconds, the first of them at once. */
export async function inSlices<T>(work: Sliced<T>, { clock, turns, whose }: Pace): Promise<T> {
  let step = stretch(work, clock);
  while (step.done !== true) step = await turns.step(whose, () => stretch(work, clock));
  return step.value;
}

/** Tells when to yield: now and then, since each time costs more than the piece before it. */
export class Pieces {
  #count = 0;

  get due(): boolean {
    this.#count = (this.#count + 1) & 63;
    return this.#count === 0;
  }
}

/** The same for work that waits itself: between two pieces it asks whether a stretch is over. */
export class Stretches {
  readonly #pace: Pace;
  #began: Nanos;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#began = pace.clock.elapsed();
  }

  get over(): boolean {
    return this.#pace.clock.elapsed() - this.#began >= STRETCH;
  }

  /** Gives way to others; the next stretch begins after that. */
  async next(): Promise<void> {
    await this.#pace.turns.next(this.#pace.whose);
    this.#began = this.#pace.clock.elapsed();
  }
}
