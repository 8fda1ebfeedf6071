// Takes away single things at the provider, whoever asks for it. "Not there" is success, and nothing else
// is (T-I07).

import { SECOND } from "@holdfast/shared/text/duration";
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
