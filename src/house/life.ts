// The life of the rooms together. They open and lead in the order of their list, rest and close in the
// opposite one; when one cannot, those before it go back. Background work begins when every room leads, and
// has ended before the first of them rests.

import type { Job, Room } from "./room.ts";

export interface Role {
  /** Whether its cluster is the primary of the data that several share. */
  readonly primary: boolean;
}

export interface RestOptions {
  /** Waits for the requests that are being answered. */
  readonly drained: () => Promise<unknown>;
}

export class HouseLife {
  readonly #rooms: readonly Room[];
  #leading = false;

  constructor(rooms: readonly Room[]) {
    this.#rooms = rooms;
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Background work of all of them, in their order. */
  get jobs(): readonly Job[] {
    return this.#rooms.flatMap(({ jobs = [] }) => jobs);
  }

  async open(): Promise<void> {
    const opened: Room[] = [];
    try {
      for (const room of this.#rooms) {
        await room.open?.();
        opened.push(room);
      }
      this.#start((job) => job.when === "always");
    } catch (error) {
      await closeAll(opened).catch(() => {}); // the first cause is the one to tell
      throw error;
    }
  }

  async lead(role: Role): Promise<void> {
    const led: Room[] = [];
    try {
      for (const room of this.#rooms) {
        await room.lead?.();
        led.push(room);
      }
      this.#leading = true;
      this.#start((job) => isFor(job, role));
    } catch (error) {
      this.#leading = false;
      await inTurn([
        () => this.#stop((job) => job.when !== "always"),
        () => each(led.toReversed(), (room) => room.rest?.()),
      ]).catch(() => {}); // as above
      throw error;
    }
  }

  /** Requests that wait for something are answered. */
  async interrupt(): Promise<void> {
    await Promise.all(this.#rooms.map(async (room) => room.interrupt?.()));
  }

  /** When it resolves, nothing of any room writes or calls outside. */
  async rest({ drained }: RestOptions): Promise<void> {
    const interrupted = this.interrupt();
    await drained();
    await inTurn([() => interrupted, () => this.#rest()]);
  }

  async #rest(): Promise<void> {
    if (!this.#leading) return;
    this.#leading = false;
    await inTurn([
      () => this.#stop((job) => job.when !== "always"),
      () => each(this.#rooms.toReversed(), (room) => room.rest?.()),
    ]);
  }

  async close(): Promise<void> {
    await inTurn([() => this.#stop((job) => job.when === "always"), () => closeAll(this.#rooms)]);
  }

  #start(isMeant: (job: Job) => boolean): void {
    for (const job of this.jobs) if (isMeant(job)) job.work.open();
  }

  #stop(isMeant: (job: Job) => boolean): Promise<void> {
    const jobs = this.jobs.filter(isMeant);
    return each(jobs.toReversed(), ({ work }) => work.close());
  }
}

function isFor({ when }: Job, { primary }: Role): boolean {
  return when === "while-active" || (when === "while-primary" && primary);
}

function closeAll(rooms: readonly Room[]): Promise<void> {
  return each(rooms.toReversed(), (room) => room.close?.());
}

/** Every one of them, whatever the others say; the first trouble is told. */
async function each<T>(all: readonly T[], call: (one: T) => void | Promise<void>): Promise<void> {
  await inTurn(all.map((one) => async () => call(one)));
}

async function inTurn(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const troubles: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      troubles.push(error);
    }
  }
  if (troubles.length > 0) throw troubles[0];
}
