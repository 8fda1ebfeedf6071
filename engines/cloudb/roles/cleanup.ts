// Takes away single things at the provider, whoever asks for it. "Not there" is success, and nothing else
// is (T-I07).

import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Connection } from "../provider/connection.ts";
import * as failures from "../failures.ts";
import type { Patience } from "../provider/patience.ts";
import { ProviderError } from "../../cloud/provider-error.ts";

/** With what, and for how long. */
export interface Work {
  readonly connection: Connection;
  readonly patience: Patience;
}

const SEEN_WITHIN = 30n * SECOND; // what was deleted shows up late among the deleted
const SEEN_PAUSE = 2n * SECOND;

/** `forGood`: it could not be restored afterwards. */
export async function deleteObject(
  { connection: { graph }, patience }: Work,
  kind: "principal" | "application",
  id: string,
  forGood: boolean,
): Promise<void> {
  const was = await patience.step((signal) =>
    kind === "principal" ? graph.deletePrincipal(id, signal) : graph.deleteApplication(id, signal),
  );
  if (!forGood) return;
  for (let left = was ? SEEN_WITHIN : 0n; ; left -= SEEN_PAUSE) {
    if (await patience.step((signal) => graph.deleteForGood(id, signal))) return;
    if (left <= 0n || !(await patience.wait(SEEN_PAUSE))) break;
  }
  // What has just been deleted must be somewhere; what was gone before may be gone for good.
  const text = `permanently deleting ${id}: it is not among the deleted`;
  if (was) throw failures.providerFailed(text);
}

/** For good. Its principal would go with it, but could be restored: it is looked up where it is not known,
 *  and goes first. */
export async function deleteApplication(
  work: Work,
  { id, principalId = "" }: { readonly id: string; readonly principalId?: string },
): Promise<void> {
  const principal = principalId === "" ? await principalOf(work, id) : principalId;
  if (principal !== "") await deleteObject(work, "principal", principal, true);
  await deleteObject(work, "application", id, true);
}

/** "" where there is none, or its application is gone. */
async function principalOf({ connection: { graph }, patience }: Work, id: string): Promise<string> {
  const application = await patience.step((signal) => graph.application(id, signal));
  if (application === null) return "";
  const found = await patience.step((signal) => graph.principalOf(application.appId, signal));
  return found?.id ?? "";
}

/** All that bear a name of ours. For good. No name is nobody's: what has none may be anyone's. */
export async function deleteNamed(work: Work, displayName: string, except = ""): Promise<void> {
  if (displayName === "") throw failures.noName();
  const { graph } = work.connection;
  const found = await work.patience.step((signal) => graph.applicationsNamed(displayName, signal));
  for (const { id } of found) if (id !== except) await deleteApplication(work, { id });
}

export async function unassign({ connection, patience }: Work, id: string): Promise<void> {
  await patience.step((signal) => connection.arm.unassign(id, signal));
}

export async function leaveGroup(
  { connection, patience }: Work,
  groupId: string,
  principalId: string,
): Promise<void> {
  await patience.step((signal) => connection.groups.removeMember(groupId, principalId, signal));
}

/** What a principal has been given. */
export interface Rights {
  readonly principalId: string;
  readonly assignments: readonly string[];
  readonly groupIds: readonly string[];
}

export interface RightsLeft extends Rights {
  /** What kept the last of them there; null where none is left. */
  readonly failure: ProviderError | null;
}

/** One try each; a service that has failed `enough` times is not asked again. */
export async function takeRights(
  { connection: { arm, groups }, patience }: Work,
  rights: Rights,
  enough: number,
): Promise<RightsLeft> {
  const { principalId } = rights;
  const { signal } = patience;
  let failure: ProviderError | null = null;
  const tried = async (ids: readonly string[], take: (id: string) => Promise<unknown>) => {
    const left: string[] = [];
    let failures = 0;
    for (const id of ids) {
      try {
        if (failures < enough) await patience.throttledStep(() => take(id));
        else left.push(id);
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        // One that throttles is told of before all: it may be asked again.
        failure = failure?.kind === "throttled" ? failure : error;
        failures++;
        left.push(id);
      }
    }
    return left;
  };
  const assignments = await tried(rights.assignments, (id) => arm.unassign(id, signal));
  const groupIds = await tried(rights.groupIds, (id) =>
    groups.removeMember(id, principalId, signal),
  );
  return { principalId, assignments, groupIds, failure };
}

// --- a principal, for leases and for roles ---

/** A principal that ends. */
export interface Ending extends Rights {
  readonly appObjectId: string;
  /** Whether it could not be restored afterwards. */
  readonly forGood: boolean;
}

interface Left {
  readonly kind: "assign" | "deletedItem";
  readonly data: JsonObject;
  readonly ids: readonly string[];
}

const ENOUGH_FAILURES = 2; // then the application goes first

/** Assignments, memberships, the principal, the application. Only the last must succeed: with it the secret
 *  is dead. Of the others that cannot be removed a record stays, and a warning is given. */
export async function endPrincipal(
  { writeAhead, log }: Pick<EngineNeeds, "writeAhead" | "log">,
  work: Work,
  ending: Ending,
): Promise<string[]> {
  const { appObjectId, principalId, forGood } = ending;
  const first = await takeRights(work, ending, ENOUGH_FAILURES);
  const left: Left[] = [];
  let later: ProviderError | null = null;
  try {
    await deleteObject(work, "principal", principalId, forGood);
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof Failure)) throw error;
    if (error instanceof ProviderError && error.kind === "throttled") later = error;
    // It ends with its application anyhow; what is left of it could still be restored.
    const data = { id: principalId };
    if (forGood) left.push({ kind: "deletedItem", data, ids: [principalId] });
  }
  await deleteObject(work, "application", appObjectId, forGood);
  const rights = await takeRights(work, first, 1);
  if (rights.failure?.kind === "throttled") later ??= rights.failure;
  if (later !== null) throw later; // the secret is dead, and the rest is quick the next time
  const assignments = [...rights.assignments];
  const data = { principalId, assignments };
  if (assignments.length > 0) left.push({ kind: "assign", data, ids: assignments });
  const tenant = work.connection.effective.tenantId;
  const why = rights.failure?.message ?? "it could not be removed";
  for (const { kind, data: about } of left) {
    // Also for a mount that is being disabled: its operator sees the orphan, and decides.
    await writeAhead.orphan(kind, { ...about, tenant }, why);
    log.warn("a lease has ended, but something of it could not be removed yet", { kind });
  }
  const ids = left.flatMap((one) => one.ids);
  return ids.map((id) => `${id} could not be removed yet; it will be tried again`);
}
