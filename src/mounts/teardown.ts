// What has to happen outside before a mount can go or move: everything that its engine has made there
// is undone or revoked. Repeated until nothing has come in meanwhile.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Timers } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import { within } from "./deadline.ts";
import * as failures from "./failures.ts";
import type { Mount } from "./open-mount.ts";
import type { MountRecord } from "./table/mount-record.ts";
import type { Rollback } from "./undo/rollback.ts";

/** What this room asks of leases. */
export interface MountLeases {
  /** Revokes all of them; rejects when one cannot be, or when the signal says to stop. `progress` hears
   *  how many are left. */
  revokeMount(uuid: string, signal: AbortSignal, progress: (left: number) => void): Promise<void>;
  countOf(uuid: string): number;
}

/** What this room asks of the tokens that came through a mount. */
export interface MountLogins {
  /** Ends them, and their leases before them, wherever those are from; rejects like `revokeMount`. */
  end(uuid: string, signal: AbortSignal): Promise<void>;
  /** Whether there are any. */
  has(tx: Tx, uuid: string): boolean;
}

export interface EvacuationParts {
  readonly leases: MountLeases;
  readonly logins: MountLogins;
  readonly rollback: Rollback;
  readonly timers: Timers;
  readonly log: Log;
  /** Resolves when no request runs at the mount, or the time is over. */
  readonly requestsLeft: RequestsLeft;
  readonly elsewhere: MountsElsewhere;
}

/** A mount that is on its way out of its place. */
export interface Leaving {
  readonly mount: string; // its uuid
  /** Which move takes it away; empty: it is being disabled. */
  readonly move: string;
}

/** What this room asks of clusters that share its mounts. */
export interface MountsElsewhere {
  /** Resolves when those that can be reached have given up what was given by the mount there, or the time for it is over. Names those
   *  that may have something of it still. */
  evacuated(leaving: Leaving, signal: AbortSignal): Promise<readonly string[]>;
  /** Leases of it there, as far as is known. */
  leftOf(leaving: Leaving): number;
  /** Whoever disables or moves mounts that are shared with this cluster should hear how far it is here. */
  tell(): void;
  /** Whether this cluster is not to have a mount any more that another one shares with others. */
  withholds(uuid: string): boolean;
}

export type RequestsLeft = (uuid: string, max: Nanos, signal: AbortSignal) => Promise<void>;

/** Requests that were running have so long to settle what they have begun, and what one of them makes
 *  afterwards nobody would undo: the longest that a path declares is 180 s, and what fails
 *  at its end is undone then. It is over as soon as none runs. */
const RUNNING_GRACE: Nanos = (180n + 30n) * SECOND;

export async function evacuate(
  mount: Mount,
  parts: EvacuationParts,
  signal: AbortSignal,
  progress: (left: number) => void,
  /** `isOthers`: another cluster disables or moves it, and does what goes with it as a whole. */
  { isOthers = false }: { readonly isOthers?: boolean } = {},
): Promise<void> {
  const { leases, rollback } = parts;
  const { uuid } = mount.record;
  // What a request is about to make must be there, or not, before it is undone.
  await parts.requestsLeft(uuid, RUNNING_GRACE, signal);
  if (mount.record.kind === "auth") await parts.logins.end(uuid, signal);
  if (!isOthers) await leave(mount, parts, signal);
  for (;;) {
    if (mount.writeAhead.isEmpty && leases.countOf(uuid) === 0) return;
    if (mount.opened === null) throw failures.notReady(mount.trouble ?? "it is closed");
    const trouble = await rollback.undoAll(mount, signal);
    if (signal.aborted) throw stopped();
    if (trouble !== null) throw failures.rollbackFailed(trouble);
    await leases.revokeMount(uuid, signal, progress);
    if (signal.aborted) throw stopped();
  }
}

/** Null where it stays. */
export function leavingOf({ uuid: mount, state }: MountRecord): Leaving | null {
  if (state.kind === "active") return null;
  return { mount, move: state.kind === "moving" ? state.id : "" };
}

/** Before what revocations elsewhere need is gone. */
export async function evacuatedElsewhere(
  { record }: Mount,
  { elsewhere, log }: EvacuationParts,
  signal: AbortSignal,
): Promise<void> {
  const leaving = leavingOf(record);
  if (record.local || leaving === null) return;
  const missing = await elsewhere.evacuated(leaving, signal);
  if (signal.aborted) throw stopped();
  if (missing.length === 0) return;
  log.warn("what was given by a mount in other clusters may be left there", {
    path: record.path,
    secondaries: missing.join(),
    remedy: "there, look at sys/leases for those that cannot be revoked",
  });
}

/** What its engine has outside beside leases and records. A mount that moves takes it along. */
async function leave(mount: Mount, parts: EvacuationParts, signal: AbortSignal): Promise<void> {
  const { rollback, timers, log } = parts;
  const { type, opened, record } = mount;
  const { uuid, path, state } = record;
  if (state.kind !== "disabling" || opened === null || type?.leave === undefined) return;
  await rollback.lookedAt(uuid); // its periodic work could still be using it
  const { leave: work, jobDeadline: length = MINUTE } = type;
  try {
    await within({ timers, length, signal }, (limit) => work(opened.ref.engine, limit));
  } catch (error) {
    if (signal.aborted) throw stopped();
    if (!state.abandon) throw error;
    const cause = error instanceof Failure ? describe(error) : "unexpected error";
    log.error("something is left behind: its mount is disabled with abandon", { path, cause });
  }
}

export function stopped(): Failure {
  return failures.mountJobStopped("the work was stopped");
}
