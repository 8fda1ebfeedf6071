// A primary that disables or moves a mount waits for its secondaries: what they have given by it is revoked with the credentials that go
// with the mount. Not for ever, and not for those that are away: the primary is not stopped by a cut link.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { MemberStatus } from "./members.ts";
import type { Evacuation } from "./messages.ts";

const LONGEST: Nanos = 5n * MINUTE;
/** Who is not heard of any more says nothing when that is so. */
const LOOK_EVERY: Nanos = SECOND;

/** A mount that goes, and by which move; empty: it is being disabled. */
export type Leaving = Pick<Evacuation, "mount" | "move">;

export interface Heard extends Pick<MemberStatus, "id" | "isConnected" | "evacuations"> {
  /** Whether a filter keeps a mount from it: then it has nothing of it. Default: none does. */
  readonly lacks?: (mount: string) => boolean;
}

export interface Evacuated {
  /** By id, who may have something of it still: it was away, or it did not get done in time. */
  readonly missing: readonly string[];
}

export class Evacuations {
  readonly #members: () => readonly Heard[];
  readonly #timers: Timers;
  readonly #waiting = new Set<() => void>();

  constructor(members: () => readonly Heard[], timers: Timers) {
    this.#members = members;
    this.#timers = timers;
  }

  /** A member has said how it is. */
  heard(): void {
    for (const look of this.#waiting) look();
  }

  /** Leases that members have not revoked yet, as far as they have said. */
  leftOf(leaving: Leaving): number {
    const said = this.#members().map((member) => saidBy(member, leaving)?.left ?? 0);
    return said.reduce((sum, left) => sum + left, 0);
  }

  /** Resolves when every member that is connected has given up what it had, when the time is over, or when the signal says so. */
  async done(leaving: Leaving, signal: AbortSignal): Promise<Evacuated> {
    const isOpen = (member: Heard) =>
      member.evacuations !== null &&
      member.lacks?.(leaving.mount) !== true &&
      !isDone(member, leaving);
    const isAwaited = () => this.#members().some((one) => one.isConnected && isOpen(one));
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const look = () => {
      if (!isAwaited()) end();
    };
    let ticking: Timer | null = null;
    const tick = () => {
      ticking = this.#timers.after(LOOK_EVERY, tick);
      look();
    };
    const over = this.#timers.after(LONGEST, end);
    this.#waiting.add(look);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    tick();
    await promise;
    ticking!.cancel();
    over.cancel();
    this.#waiting.delete(look);
    signal.removeEventListener("abort", end);
    return { missing: this.#members().flatMap((one) => (isOpen(one) ? one.id : [])) };
  }
}

function saidBy({ evacuations }: Heard, { mount, move }: Leaving): Evacuation | undefined {
  return evacuations?.find((one) => one.mount === mount && one.move === move);
}

function isDone(member: Heard, leaving: Leaving): boolean {
  return saidBy(member, leaving)?.isDone === true;
}
