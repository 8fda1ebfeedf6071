// When a lease that could not be revoked is tried again: 20 to 320 s after
// the first five failures; after the sixth, or at once when the engine says that it never will, it is
// irrevocable and tried once a day. A provider that throttles is waited for; that is no failure.

import { DAY, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Attempted } from "./attempt.ts";
import type { Lease } from "../lease.ts";

const FIRST: Nanos = 10n * SECOND;
const MAX_ATTEMPTS = 6;
const JITTER = 0.25;
const MAX_ERROR = 240; // characters

export function afterAttempt(
  lease: Lease,
  attempted: Exclude<Attempted, { readonly kind: "revoked" | "cut-off" }>,
  { now, random }: { readonly now: Instant; readonly random: Random },
): Lease {
  const error = attempted.failure.message.slice(0, MAX_ERROR);
  // Whoever asked for it to end does not want it to live on because that did not work at once.
  const expires = lease.expires < now ? lease.expires : now;
  if (attempted.kind === "throttled") {
    const { retryAfter } = attempted.failure;
    const requested = retryAfter === null ? 0n : BigInt(Math.ceil(retryAfter * 1e9));
    const wait = requested > 0n ? requested : jittered(pauseAfter(lease.attempts + 1), random);
    return { ...lease, expires, error, due: now + wait };
  }
  const attempts = lease.attempts + 1;
  const irrevocable = lease.irrevocable || attempted.permanent || attempts >= MAX_ATTEMPTS;
  const wait = irrevocable ? DAY : jittered(pauseAfter(attempts), random);
  return { ...lease, expires, error, attempts, irrevocable, due: now + wait };
}

function pauseAfter(attempts: number): Nanos {
  return FIRST * 2n ** BigInt(Math.min(attempts, MAX_ATTEMPTS - 1));
}

/** So that leases that failed together are not tried together for ever. */
function jittered(pause: Nanos, random: Random): Nanos {
  const share = random.bytes(2).readUInt16BE(0) / 0xffff; // 0 to 1
  const factor = 1 - JITTER + 2 * JITTER * share;
  return BigInt(Math.round(Number(pause) * factor));
}
