// Makes an application with a principal and gives it what a role grants. Every step
// is noted before it is taken and tried again on its own while what was just made is not yet seen
// everywhere. What fails for good is undone at once; what cannot be undone is left to its notes.

import { SECOND } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import { isHarmless, ProviderError, errorForCaller } from "../../cloud/provider-error.ts";
import type { Connection } from "../provider/connection.ts";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Application, NewPassword } from "../provider/graph.ts";
import { ownAssignmentId } from "./held-grants.ts";
import { passwordFailure } from "./named-password.ts";
import type { Patience, Patiently } from "../provider/patience.ts";
import {
  audienceMembers,
  type Grant,
  type Managed,
  type ManagedAssignment,
  passwordLife,
  type Role,
} from "./role.ts";
import { deleteApplication, deleteNamed, unassign } from "./cleanup.ts";

export interface MadePrincipal {
  readonly managed: Managed;
  /** Null where none was asked for. */
  readonly password: NewPassword | null;
  /** The notes that whoever stores it settles. */
  readonly records: readonly string[];
}

export interface PrincipalOrder {
  readonly displayName: string;
  readonly role: Role;
  /** Whether its principal gets a password. */
  readonly withPassword: boolean;
}

/** What there is by now; grows with each step. */
interface Progress {
  readonly records: string[];
  readonly displayName: string;
  readonly tenant: string;
  application: Application | null;
  /** Whether there may be one that is not seen yet. */
  uncertain: boolean;
  principalId: string;
  assignments: readonly ManagedAssignment[];
}

const UNDO_BUDGET = 28n * SECOND; // beside those 150 s that the request has, within 180

export class Principals {
  readonly #needs: EngineNeeds;
  readonly #patiently: Patiently;

  constructor(needs: EngineNeeds, patiently: Patiently) {
    this.#needs = needs;
    this.#patiently = patiently;
  }

  async make(
    connection: Connection,
    order: PrincipalOrder,
    patience: Patience,
  ): Promise<MadePrincipal> {
    const { displayName } = order;
    const { tenantId: tenant } = connection.effective;
    const record = await this.#needs.writeAhead.begin("app", { displayName, tenant });
    const made: Progress = {
      records: [record],
      displayName,
      tenant,
      application: null,
      uncertain: false,
      principalId: "",
      assignments: [],
    };
    try {
      return await this.#steps(connection, order, made, patience);
    } catch (error) {
      await this.#undo(made, connection, isHarmless(error));
      throw error;
    }
  }

  async #steps(
    connection: Connection,
    { role, withPassword }: PrincipalOrder,
    made: Progress,
    patience: Patience,
  ): Promise<MadePrincipal> {
    const { groups } = connection;
    const application = await this.#application(connection, role, made, patience);
    made.principalId = await this.#principal(connection, application, patience);
    const password = withPassword
      ? await this.#password(connection, made.principalId, role, patience)
      : null;
    const { principalId } = made;
    const noted = (record: string, planned: readonly ManagedAssignment[]) => {
      made.records.push(record);
      made.assignments = planned;
    };
    await this.assign(connection, { principalId, grants: role.grants, noted }, patience);
    const { assignments } = made;
    const groupIds: string[] = [];
    for (const { objectId } of role.groups) {
      await patience.step(
        (signal) => groups.addMember(objectId, principalId, signal),
        memberPasses,
      );
      groupIds.push(objectId);
    }
    const { id: appObjectId, appId } = application;
    const { tenant: tenantId } = made;
    const ids = { appObjectId, appId, principalId, assignments, groupIds };
    const managed: Managed = { tenantId, made: String(this.#needs.clock.now()), ...ids };
    return { managed, password, records: made.records };
  }

  /** By ids of ours. `noted` is told of them and of their record before the first is made. */
  async assign(
    { arm, effective: { tenantId: tenant } }: Connection,
    order: {
      readonly principalId: string;
      /** The one whose application it is: what that holds is not undone. Default none. */
      readonly role?: string;
      readonly grants: readonly Grant[];
      readonly noted: (record: string, planned: readonly ManagedAssignment[]) => void;
    },
    patience: Patience,
  ): Promise<void> {
    const { principalId, role = "", grants, noted } = order;
    if (grants.length === 0) return;
    const planned = grants.map(({ roleId, scope }) => ({
      id: ownAssignmentId(principalId, { roleId, scope }),
      roleId,
      scope,
    }));
    const note = { principalId, assignments: planned.map(({ id }) => id), role, tenant };
    noted(await this.#needs.writeAhead.begin("assign", note), planned);
    for (const { id, roleId } of planned) {
      await patience.step(
        (signal) => arm.assign(id, { roleId, principalId }, signal),
        (error) => error.has("PrincipalNotFound"),
      );
    }
  }

  /** Noted by its name before, by its id afterwards. */
  async #application(
    { graph }: Connection,
    role: Role,
    made: Progress,
    patience: Patience,
  ): Promise<Application> {
    const { writeAhead } = this.#needs;
    const { displayName, tenant } = made;
    const body: JsonObject = {
      displayName,
      ...audienceMembers(role.signInAudience),
      ...(role.tags.length === 0 ? {} : { tags: role.tags }),
    };
    const application = await patience.step(async (signal) => {
      if (made.uncertain) {
        const [found] = await graph.applicationsNamed(displayName, signal);
        if (found !== undefined) return found;
      }
      try {
        return await graph.createApplication(body, signal);
      } catch (error) {
        made.uncertain ||= error instanceof ProviderError && !error.harmless;
        throw error;
      }
    });
    made.application = application;
    const appObjectId = application.id;
    await writeAhead.note(made.records[0] ?? "", { displayName, appObjectId, tenant });
    // A lost answer may mean a second one of this name that nobody has seen yet. This note is settled by
    // nobody: rollback looks for it later.
    const twin = { displayName, except: appObjectId, tenant };
    if (made.uncertain) await writeAhead.begin("app", twin);
    return application;
  }

  async #principal(
    { graph }: Connection,
    { appId }: Application,
    patience: Patience,
  ): Promise<string> {
    return patience.step(async (signal) => {
      try {
        return await graph.createPrincipal(appId, signal);
      } catch (error) {
        const twice =
          error instanceof ProviderError && error.has("Request_MultipleObjectsWithSameKeyValue");
        if (!twice) throw error;
        const found = await graph.principalOf(appId, signal); // an earlier try has made it
        if (found === null) throw error;
        return found.id;
      }
    }, principalPasses);
  }

  async #password(
    { graph }: Connection,
    principalId: string,
    role: Role,
    patience: Patience,
  ): Promise<NewPassword> {
    const now = this.#needs.clock.now();
    const startDateTime = showTime(now);
    const endDateTime = showTime(now + BigInt(passwordLife(role)) * SECOND);
    const dates = { startDateTime, endDateTime };
    try {
      return await patience.step(
        (signal) => graph.addPassword("servicePrincipals", principalId, dates, signal),
        (error) => error.gone,
      );
    } catch (error) {
      throw passwordFailure(error);
    }
  }

  /** At once, and for good: nobody has used it. Memberships end with the principal. What may have had its
   *  effect unseen keeps its records, and rollback looks again. */
  async #undo(made: Progress, connection: Connection, harmless: boolean): Promise<void> {
    const { writeAhead, log } = this.#needs;
    const { application, principalId, displayName, uncertain } = made;
    try {
      await this.#patiently(UNDO_BUDGET, async (patience) => {
        const work = { connection, patience };
        for (const { id } of made.assignments) await unassign(work, id);
        if (application !== null) {
          await deleteApplication(work, { id: application.id, principalId });
        } else if (uncertain) {
          await deleteNamed(work, displayName);
        }
        const sure = harmless && (application !== null || !uncertain);
        if (sure) for (const record of made.records) await writeAhead.drop(record);
      });
    } catch (error) {
      const cause = describe(errorForCaller(error));
      log.warn("what a failed request has made is still there; it is removed later", { cause });
    }
  }
}

// --- what may stand in the way of a step only because the provider does not see yet, in one place, what was
// just made in another: decided by codes, and by texts where there are none ---

/** The application is not yet seen where its principal is made. A plain refusal of rights is no such
 *  thing: it has the same code, and only the text tells them apart. */
function principalPasses(error: ProviderError): boolean {
  if (error.has("NoBackingApplicationObject", "Request_MultipleObjectsWithSameKeyValue"))
    return true;
  if (error.has("Authorization_RequestDenied")) return error.says(/local tenant/i);
  return error.gone;
}

export function memberPasses(error: ProviderError): boolean {
  if (error.gone) return true;
  return error.status === 400 && error.says(/does not exist/i);
}
