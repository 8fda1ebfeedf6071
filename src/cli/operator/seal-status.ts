// The state of a server's seal: asked for, waited for, and as people see it. For units, containers and scripts
// that have just started a server: what passes by itself while it starts is tried again; what does not, such as a
// certificate that is not trusted, is told at once.

import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import * as seal from "@holdfast/client/api/seal";
import type { Client } from "@holdfast/client/client";
import { ConnectionFailure, type ConnectionProblem } from "@holdfast/client/connection-failure";
import type { Context } from "../command.ts";
import { pause } from "../pause.ts";
import type { View } from "../terminal/output.ts";
import { showValue } from "../terminal/value.ts";

export type SealStatus = seal.StatusAnswer;

const PACE = SECOND / 5n;

/** Of sys/health, for "reached, but …". */
export const HEALTH_CODES: readonly number[] = [429, 472, 473, 474, 501, 503, 530];

/** A host's name may come up with the host, as in a network of containers. */
const PASSING: readonly ConnectionProblem[] = [
  "refused",
  "no-socket",
  "broken",
  "timed-out",
  "unreachable",
  "unknown-host",
];

export async function sealStatus(client: Client): Promise<SealStatus> {
  return (await seal.status(client)).data;
}

/** What it is among clusters, as sys/health has it; null where the server does not tell. */
export async function roleOf(client: Client): Promise<string | null> {
  try {
    const { data } = await seal.health(client, {}, { accept: HEALTH_CODES });
    const role: unknown = isObject(data) ? data["replication_dr_mode"] : undefined;
    return typeof role === "string" ? role : null;
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

/** The first answer; after `limit` it throws what stood in the way the last time. */
export function awaitedStatus(context: Context, client: Client, limit: Nanos): Promise<SealStatus> {
  const { clock, timers } = context;
  const end = clock.elapsed() + limit;
  return context.untilInterrupted(async (signal) => {
    let late: Failure | null = null;
    for (;;) {
      const left = end - clock.elapsed();
      if (late !== null && left <= 0n) throw late;
      try {
        return await within(left, sealStatus(client), timers, limit);
      } catch (error) {
        if (!isPassing(error)) throw error;
        late = error;
      }
      await pause(timers, PACE, signal);
    }
  });
}

function isPassing(error: unknown): error is Failure {
  if (error instanceof ConnectionFailure) return PASSING.includes(error.problem);
  return error instanceof Failure && error.code === "wait-over";
}

/** One that takes the connection and says nothing must not hold us longer than the whole wait. */
async function within<T>(
  left: Nanos,
  work: Promise<T>,
  timers: Context["timers"],
  limit: Nanos,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = timers.after(left > 0n ? left : 0n, () =>
    late.reject(
      new Failure("timed-out", "wait-over", `no answer came within ${showDuration(limit)}`),
    ),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}

/** Nodes of a cluster tell more. */
type Leader = Partial<seal.LeaderAnswer> & {
  readonly leader_address?: string;
  readonly active_time?: string;
};

export function sealView(
  status: Partial<SealStatus>,
  leader: Leader = {},
  role: string | null = null,
): View {
  const rows: (readonly [string, JsonValue | undefined])[] = [
    ["Seal Type", status.type],
    ["Initialized", status.initialized],
    ["Sealed", status.sealed],
    [status.recovery_seal === true ? "Recovery Shares" : "Total Shares", status.n],
    ["Threshold", status.t],
  ];
  if (status.sealed === true && status.initialized === true) {
    rows.push(["Unseal Progress", `${showValue(status.progress)}/${showValue(status.t)}`]);
    rows.push(["Unseal Nonce", status.nonce]);
  }
  rows.push(["Version", status.version], ["Storage Type", status.storage_type]);
  if (status.cluster_name !== undefined) {
    rows.push(["Cluster Name", status.cluster_name], ["Cluster ID", status.cluster_id]);
  }
  if (role !== null && role !== "disabled") {
    rows.push(["Replication", `disaster-recovery ${role}`]);
  }
  if (status.evidence_key !== undefined) rows.push(["Evidence Key", status.evidence_key]);
  if (leader.ha_enabled === true) {
    rows.push(["Mode", leader.is_self === true ? "active" : "standby"]);
    rows.push(["Active Node Address", leader.leader_address]);
    if (leader.active_time !== undefined) rows.push(["Active Since", leader.active_time]);
  }
  return { pairs: rows };
}
