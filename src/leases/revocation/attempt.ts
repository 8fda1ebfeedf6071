// One try to end a secret outside: the engine is asked, has so long for it, and what it says is sorted
// into what the schedule of further tries goes by. Only what the engine calls a success is one (T-I07).

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Timers } from "@holdfast/shared/world";
import type { LeaseFacts } from "@holdfast/plugin-sdk/engine";
import { isPermanent, isThrottled } from "@holdfast/plugin-sdk/failure";
import { isRequestId, MAX_REQUEST_IDS } from "@holdfast/plugin-sdk/request-id";
import * as failures from "../failures.ts";
import type { LeaseMounts } from "../ports.ts";
import type { Lease } from "../lease.ts";

const DEADLINE: Nanos = MINUTE;

export type Attempted =
  | { readonly kind: "revoked"; readonly requestIds: readonly string[] }
  | { readonly kind: "failed"; readonly failure: Failure; readonly permanent: boolean }
  | { readonly kind: "throttled"; readonly failure: Failure }
  /** Nothing is known of it: the node seals. */
  | { readonly kind: "cut-off"; readonly failure: Failure };

export interface AttemptParts {
  readonly mounts: LeaseMounts;
  readonly timers: Timers;
  readonly log: Log;
}

/** Never rejects. `stop`: the node seals. */
export async function attempt(
  lease: Lease,
  { mounts, timers, log }: AttemptParts,
  stop: AbortSignal,
): Promise<Attempted> {
  const mount = mounts.byUuid(lease.mountUuid);
  if (mount === null) {
    const isGone = mounts.isGone?.(lease.mountUuid) === true;
    const failure = isGone ? failures.mountIsGone() : failures.noEngine();
    return { kind: "failed", failure, permanent: isGone };
  }
  const secret = mount.type.secrets?.[lease.secretType];
  if (secret === undefined) {
    const failure = failures.secretTypeUnknown(lease.secretType);
    return { kind: "failed", failure, permanent: true };
  }
  const deadline = mount.type.jobDeadline ?? DEADLINE;
  const { promise: over, reject } = Promise.withResolvers<never>();
  const own = new AbortController();
  const end = (failure: Failure) => {
    own.abort(failure);
    reject(failure); // an engine that does not listen is left behind
  };
  const stopped = () => end(failures.sealing());
  const timer = timers.after(deadline, () => end(failures.tooSlow(deadline / SECOND)));
  stop.addEventListener("abort", stopped);
  try {
    if (stop.aborted) throw failures.sealing();
    const revoked = secret.revoke(mount.ref.engine, factsOf(lease), own.signal);
    const { requestIds = [] } = (await Promise.race([revoked, over])) ?? {};
    return { kind: "revoked", requestIds: requestIds.filter(isRequestId).slice(-MAX_REQUEST_IDS) };
  } catch (error) {
    if (stop.aborted) return { kind: "cut-off", failure: failures.sealing() };
    return sorted(error, log);
  } finally {
    timer.cancel();
    stop.removeEventListener("abort", stopped);
  }
}

export function factsOf({ id, internal, issued, expires }: Lease): LeaseFacts {
  return { leaseId: id, internal, issued, expires };
}

function sorted(error: unknown, log: Log): Attempted {
  if (isThrottled(error)) return { kind: "throttled", failure: error };
  const permanent = isPermanent(error);
  if (error instanceof Failure) return { kind: "failed", failure: error, permanent };
  const name = error instanceof Error ? error.name : typeof error;
  log.error("an engine failed to revoke a lease, by a fault of its own", { name });
  return { kind: "failed", failure: failures.unexpected(error), permanent };
}
