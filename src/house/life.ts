// The life of the rooms together. They open and lead in the order of their list, rest and close in the
// opposite one; when one cannot, those before it go back. Background work begins when every room leads, and
// has ended before the first of them rests. Where the data is another cluster's, the rooms that have something to do
// there live in the same way, and the others do not.

import type { Job, Room } from "./room.ts";

export interface Role {
  /** Whether its cluster is the primary of the data that several share. */
  readonly primary: boolean;
  /** Whether its data is another cluster's, or is no longer to be changed. Default false. */
  readonly following?: boolean;
}

export interface RestOptions {
  /** Waits for the requests that are being answered. */
  readonly drained: () => Promise<unknown>;
}

export class HouseLife {
  readonly #rooms: readonly Room[];
  #open: readonly Room[] = [];
  #led: readonly Room[] = [];
  #leading = false;

  constructor(rooms: readonly Room[]) {
    this.#rooms = rooms;
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Background work of all of them, in their order. */
  get jobs(): readonly Job[] {
    return jobsOf(this.#rooms);
  }

  async open({ following = false }: Pick<Role, "following"> = {}): Promise<void> {
    const opened: Room[] = [];
    try {
      for (const room of this.#rooms) {
        if (following && room.whileFollowing === undefined) continue;
        await room.open?.();
        opened.push(room);
      }
      this.#open = opened;
      start(jobsOf(opened).filter(({ when }) => when === "always"));
    } catch (error) {
      this.#open = [];
      await closeAll(opened).catch(() => {}); // the first cause is the one to tell
      throw error;
    }
  }

  async lead(role: Role): Promise<void> {
    const led: Room[] = [];
    const { following = false } = role;
    try {
      for (const room of this.#open) {
        if (following && room.whileFollowing !== "leads") continue;
        await room.lead?.();
        led.push(room);
      }
      this.#led = led;
      this.#leading = true;
      start(jobsOf(led).filter((job) => isFor(job, role)));
    } catch (error) {
      this.#leading = false;
      this.#led = [];
      await inTurn([
        () => stop(jobsOf(led).filter(({ when }) => when !== "always")),
        () => each(led.toReversed(), (room) => room.rest?.()),
      ]).catch(() => {}); // as above
      throw error;
    }
  }

  /** The data is no longer to be changed: those rest that would. Everything that is open stays open. */
  async yield(): Promise<void> {
    if (!this.#leading) return;
    const [stays, goes] = [this.#led.filter(leadsWhileFollowing), this.#led.filter(rests)];
    this.#led = stays;
    await inTurn([
      () => stop(jobsOf(goes).filter(({ when }) => when !== "always")),
      () => stop(jobsOf(stays).filter(({ when }) => when === "while-primary")),
      () => each(goes.toReversed(), (room) => room.rest?.()),
    ]);
  }

  /** Another cluster writes the data from here on, and those have yielded that would: those close that have nothing to
   *  do with it. */
  async leave(): Promise<void> {
    const goes = this.#open.filter(({ whileFollowing }) => whileFollowing === undefined);
    this.#open = this.#open.filter((room) => !goes.includes(room));
    await inTurn([
      () => stop(jobsOf(goes).filter(({ when }) => when === "always")),
      () => closeAll(goes),
    ]);
  }

  /** The data is this cluster's from here on: the others open and lead beside those that do. What was only looked at
   *  is loaded anew. When one cannot, all of them go back. */
  async takeOver(role: Role): Promise<void> {
    const stays = this.#led;
    const looked = this.#open.filter((room) => !stays.includes(room));
    this.#open = stays;
    await inTurn([
      () => stop(jobsOf(looked).filter(({ when }) => when === "always")),
      () => closeAll(looked),
    ]);
    const comes = this.#rooms.filter((room) => !stays.includes(room));
    const opened: Room[] = [];
    const led: Room[] = [];
    try {
      for (const room of comes) {
        await room.open?.();
        opened.push(room);
      }
      start(jobsOf(opened).filter(({ when }) => when === "always"));
      for (const room of comes) {
        await room.lead?.();
        led.push(room);
      }
      this.#open = this.#rooms;
      this.#led = this.#rooms;
      start(jobsOf(comes).filter((job) => isFor(job, role)));
      if (role.primary) start(jobsOf(stays).filter(({ when }) => when === "while-primary"));
    } catch (error) {
      this.#open = stays;
      this.#led = stays;
      await inTurn([
        () => stop(jobsOf(comes)),
        () => each(led.toReversed(), (room) => room.rest?.()),
        () => closeAll(opened),
      ]).catch(() => {}); // as above
      throw error;
    }
  }

  /** Requests that wait for something are answered. */
  async interrupt(): Promise<void> {
    await Promise.all(this.#open.map(async (room) => room.interrupt?.()));
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
    const led = this.#led;
    this.#led = [];
    await inTurn([
      () => stop(jobsOf(led).filter(({ when }) => when !== "always")),
      () => each(led.toReversed(), (room) => room.rest?.()),
    ]);
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = [];
    await inTurn([
      () => stop(jobsOf(open).filter(({ when }) => when === "always")),
      () => closeAll(open),
    ]);
  }
}

function leadsWhileFollowing({ whileFollowing }: Room): boolean {
  return whileFollowing === "leads";
}

function rests(room: Room): boolean {
  return !leadsWhileFollowing(room);
}

function jobsOf(rooms: readonly Room[]): readonly Job[] {
  return rooms.flatMap(({ jobs = [] }) => jobs);
}

function start(jobs: readonly Job[]): void {
  for (const { work } of jobs) work.open();
}

function stop(jobs: readonly Job[]): Promise<void> {
  return each(jobs.toReversed(), ({ work }) => work.close());
}

function isFor({ when }: Job, { primary, following = false }: Role): boolean {
  return when === "while-active" || (when === "while-primary" && primary && !following);
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
