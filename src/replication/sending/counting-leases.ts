// Before a primary deletes a role, or the application that one keeps: how many leases its secondaries have given by it. The question goes by
// the stream of the log, since nobody is called by a primary; the answer comes by a call.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timers } from "@holdfast/shared/world";
import type { LogSession } from "../stream/log-session.ts";
import type { CountedLeases } from "../stream/messages.ts";

const WITHIN: Nanos = 10n * SECOND;
const MAX_COUNT = 1_000_000_000n;

export interface LeaseQuestion {
  readonly mount: string;
  /** Below the mount, as leases are asked for. */
  readonly place: string;
  /** Those that are there are queued for revocation. */
  readonly revoke: boolean;
}

export interface LeasesOfMembers {
  readonly count: number;
  /** By id, who has not answered: it may have some. */
  readonly missing: readonly string[];
}

interface Open {
  readonly member: string;
  readonly end: (count: number) => void;
}

export class CountingLeases {
  readonly #timers: Timers;
  readonly #open = new Map<bigint, Open>();
  #last = 0n;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** When it has applied the entries up to `after`. Null where it has not answered in time, or is gone. */
  async ask(
    member: string,
    session: Pick<LogSession, "ask" | "ended">,
    { mount, place, revoke }: LeaseQuestion,
    after: bigint,
  ): Promise<number | null> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<number | null>();
    const late = () => resolve(null);
    const timer = this.#timers.after(WITHIN, late);
    this.#open.set(id, { member, end: resolve });
    void session.ended.then(late);
    session.ask({ leases: { id, mount, place, isRevoked: revoke } }, after);
    try {
      return await promise;
    } finally {
      timer.cancel();
      this.#open.delete(id);
    }
  }

  /** What nobody waits for any more is passed over. */
  take(member: string, { id, count }: CountedLeases): void {
    const open = this.#open.get(id);
    if (open?.member === member) open.end(Number(count < MAX_COUNT ? count : MAX_COUNT));
  }
}
