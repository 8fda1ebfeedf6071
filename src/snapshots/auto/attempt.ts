// One attempt: an archive is made beside, put where the configuration says, checked there, and older ones make way.
// Nothing is deleted before the new one is there.

import { describe } from "@holdfast/shared/failure";
import { fromHex, hex } from "@holdfast/shared/bytes";
import type { Source, StoredSnapshot, Target } from "../targets/target.ts";
import { byAge, type PutSnapshot } from "../targets/target.ts";
import { StoreError } from "../targets/store-error.ts";
import type { StoredPut } from "./state.ts";
import type { WrittenSnapshot } from "./written-snapshots.ts";

/** An archive that lies where nobody else sees it until it is put. */
export interface SpooledArchive {
  readonly source: Source;
  /** Of the last write that it holds. */
  readonly index: number;
  close(): Promise<void>;
}

export type Phase = "waiting" | "running" | "uploading" | "rotating";

export interface AttemptPlan {
  readonly name: string;
  readonly target: Target;
  readonly retain: number;
  /** Bytes that it will take as far as one knows. */
  readonly estimate: number;
  /** What an earlier one has left. */
  readonly leftOver: StoredPut | null;
  readonly signal: AbortSignal;
  readonly make: (signal: AbortSignal) => Promise<SpooledArchive>;
  readonly enter: (phase: Phase) => void;
  /** What an earlier one has left could not be cleared away, and why. */
  readonly letGo: (name: string, why: string) => void;
  /** Durable when it resolves. */
  readonly remember: (put: StoredPut | null) => Promise<void>;
  /** It is there, and ours to delete one day. Durable when it resolves. */
  readonly keep: (put: StoredPut) => Promise<void>;
  /** What this configuration has written there. */
  readonly written: () => Promise<readonly WrittenSnapshot[]>;
  /** They are no longer there, or no longer what was written. */
  readonly drop: (names: readonly string[]) => Promise<void>;
}

export interface StoredArchive {
  readonly size: number;
  readonly sha256: string;
  readonly index: number;
  /** What this configuration has there now. */
  readonly stored: readonly StoredSnapshot[];
  /** Bytes of everything there that has such a name. */
  readonly takenBytes: number;
  readonly deleted: readonly string[];
  /** Why older ones could not all be deleted; empty when they were. */
  readonly rotationError: string;
}

export async function attempt(plan: AttemptPlan): Promise<StoredArchive> {
  const { target, estimate, leftOver, signal } = plan;
  plan.enter("running");
  if (leftOver !== null) await settleLeftOver(plan, leftOver);
  await target.checkRoom(estimate, signal);
  const archive = await plan.make(signal);
  try {
    await target.checkRoom(archive.source.size, signal);
    plan.enter("uploading");
    await put(plan, archive.source);
    plan.enter("rotating");
    const { size, sha256 } = archive.source;
    return { size, sha256: hex(sha256), index: archive.index, ...(await rotate(plan)) };
  } finally {
    await archive.close();
  }
}

async function put(plan: AttemptPlan, source: Source): Promise<void> {
  const { name, target, signal } = plan;
  let begun: StoredPut = {
    name,
    size: source.size,
    sha256: hex(source.sha256),
    handle: null,
  };
  await plan.remember(begun);
  const note = async (handle: string) => {
    begun = { ...begun, handle };
    await plan.remember(begun);
  };
  try {
    await target.put(name, source, { signal, note });
    await plan.keep(begun);
  } catch (error) {
    // When the server stops, the next start does this.
    if (!signal.aborted) await settle(plan, begun).catch(() => {});
    throw error;
  }
}

/** What the store refuses for good must not keep every later snapshot from being made: it is told and let go. */
async function settleLeftOver(plan: AttemptPlan, put: StoredPut): Promise<void> {
  try {
    await settle(plan, put);
  } catch (error) {
    if (plan.signal.aborted || (error instanceof StoreError && error.passes)) throw error;
    plan.letGo(put.name, describe(error));
  }
}

async function settle(plan: AttemptPlan, put: StoredPut): Promise<void> {
  const stays = await plan.target.settle({ ...asPut(put), handle: put.handle }, plan.signal);
  if (stays) await plan.keep(put);
  else await plan.remember(null);
}

function asPut({ name, size, sha256 }: Omit<StoredPut, "handle">): PutSnapshot {
  return { name, size, sha256: fromHex(sha256) ?? Buffer.alloc(0) };
}

async function rotate(
  plan: AttemptPlan,
): Promise<Pick<StoredArchive, "stored" | "takenBytes" | "deleted" | "rotationError">> {
  const { name, target, retain, signal } = plan;
  const deleted: string[] = [];
  const dropped = new Set<string>();
  let stored: readonly WrittenSnapshot[] = [];
  let takenBytes = 0;
  let rotationError = "";
  try {
    const listed = await target.list(signal);
    takenBytes = listed.reduce((sum, { size }) => sum + size, 0);
    const sizes = new Map(listed.map((one) => [one.name, one.size]));
    const written = (await plan.written()).toSorted(byAge);
    stored = written.filter((one) => sizes.get(one.name) === one.size);
    for (const one of written) if (sizes.get(one.name) !== one.size) dropped.add(one.name);
    // Its own name is never among them: a clock that went back would make the newest the oldest.
    const older = stored.filter((one) => one.name !== name);
    for (const one of older.slice(0, Math.max(0, older.length + 1 - retain))) {
      // What has taken its place since is somebody else's.
      if (await target.holds(asPut(one), signal)) {
        await target.delete(one.name, signal);
        deleted.push(one.name);
      }
      dropped.add(one.name);
    }
  } catch (error) {
    rotationError = describe(error);
  }
  await plan.drop([...dropped]);
  stored = stored.filter((one) => !dropped.has(one.name));
  return { stored, takenBytes, deleted, rotationError };
}
