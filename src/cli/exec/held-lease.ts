// The lease of credentials that a running command uses: renewed while it runs, ended when it ends.

import { showDuration, SECOND } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import type { Answer, Client } from "@holdfast/client/client";
import * as leases from "@holdfast/client/api/leases";
import type { Context } from "../command.ts";
import { pause } from "../pause.ts";
import { Interrupted } from "../terminal/prompt.ts";

interface HeldLease {
  readonly id: string;
  readonly duration: Nanos;
  readonly renewable: boolean;
}

type LeaseContext = Pick<Context, "client" | "out" | "clock" | "timers">;

const MIN_WAIT = SECOND;
const LONGEST_RETRY = 30n * SECOND;

/** What an answer says of one; null where there is none. */
export function heldLease({ lease }: Pick<Answer, "lease">): HeldLease | null {
  if (lease === null) return null;
  const { id, seconds, renewable } = lease;
  return { id, duration: durationOf(seconds), renewable };
}

/** Until the signal: renews at two thirds of the time left, and says so when no more is to be had. */
export async function keepLease(
  lease: HeldLease,
  surroundings: LeaseContext,
  signal: AbortSignal,
): Promise<void> {
  try {
    await new LeaseKeeping(lease, surroundings, signal).run();
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  }
}

class LeaseKeeping {
  readonly #id: string;
  readonly #surroundings: LeaseContext;
  readonly #client: Client;
  readonly #signal: AbortSignal;
  #until: Nanos;
  #renewable: boolean;

  constructor(lease: HeldLease, surroundings: LeaseContext, signal: AbortSignal) {
    this.#id = lease.id;
    this.#surroundings = surroundings;
    // Whoever looks at the terminal looks at the command that runs.
    this.#client = surroundings.client.unwatched();
    this.#signal = signal;
    this.#until = surroundings.clock.elapsed() + lease.duration;
    this.#renewable = lease.renewable;
  }

  async run(): Promise<void> {
    const { timers, out } = this.#surroundings;
    let failures = 0;
    while (this.#renewable && this.#left() > 0n) {
      const [share, max] = failures === 0 ? [2n, this.#left()] : [1n, LONGEST_RETRY];
      const wait = (this.#left() * share) / 3n;
      await pause(timers, clamped(wait, MIN_WAIT, max), this.#signal);
      failures = (await this.#renewed()) ? 0 : failures + 1;
    }
    const left = this.#left();
    if (left > 0n) await pause(timers, left, this.#signal);
    out.warn(`the credentials of lease ${this.#id} have ended; the command runs on without them`);
  }

  /** Whether an answer came; one that says no is one. */
  async #renewed(): Promise<boolean> {
    const { out, clock } = this.#surroundings;
    const body = { lease_id: this.#id };
    try {
      const granted = heldLease(await leases.renewLease(this.#client, body, { untold: /./ }));
      const until = clock.elapsed() + (granted?.duration ?? 0n);
      // At its longest life every renewal gives what is left anyway.
      this.#renewable = granted?.renewable === true && until > this.#until + SECOND;
      if (until > this.#until) this.#until = until;
      return true;
    } catch (error) {
      const refused = error instanceof ApiError && ["invalid", "denied"].includes(error.kind);
      if (!refused) return false;
      const left = showDuration((this.#left() / SECOND) * SECOND);
      out.warn(`the lease could not be renewed, and ends in ${left}: ${error.message}`);
      this.#renewable = false;
      return true;
    }
  }

  #left(): Nanos {
    const left = this.#until - this.#surroundings.clock.elapsed();
    return left > 0n ? left : 0n;
  }
}

/**
 * Ends it now, so that whoever waits for the command knows that its credentials are gone. Where that
 * fails, or `hurry` comes first, the server is told to go on by itself.
 */
export async function endLease(
  { id }: HeldLease,
  { client, out }: Pick<Context, "client" | "out">,
  hurry: Promise<unknown>,
): Promise<void> {
  const revoke = (sync: boolean) => leases.revokeLease(client, { lease_id: id, sync });
  let why = "it was not waited for";
  try {
    const done = await Promise.race([revoke(true).then(() => true), hurry.then(() => false)]);
    if (done) return;
  } catch (error) {
    why = describe(error);
  }
  try {
    await revoke(false);
    out.warn(`the server ends lease ${id} in its own time: ${why}`);
  } catch (error) {
    out.warn(`lease ${id} could not be ended: ${describe(error)}`);
    out.hint(`Next: \`holdfast lease revoke ${id}\`, or it ends when its time is over`);
  }
}

function durationOf(seconds: number): Nanos {
  return Number.isSafeInteger(seconds) && seconds > 0 ? BigInt(seconds) * SECOND : 0n;
}

function clamped(value: Nanos, min: Nanos, max: Nanos): Nanos {
  if (value < min) return min;
  return value > max ? max : value;
}
