// Stores roles, and carries out what that means for those that keep an application of their own:
// made with the first write, changed by adding before taking away, so that nobody is
// without access in between, and removed with the role.

import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import { SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import { hex } from "@holdfast/shared/bytes";
import { isHarmless, ProviderError, errorForCaller } from "../../cloud/provider-error.ts";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import type { Connections } from "../provider/connection.ts";
import type { RoleStore } from "./role-store.ts";
import * as failures from "../failures.ts";
import type { Patience, Patiently } from "../provider/patience.ts";
import { memberPasses, type Principals } from "./principals.ts";
import { leasePlace, type Managed, type Role, roleCodec, roleKey } from "./role.ts";
import { grantKey, isNone, sorted, takeSurplus } from "./held-grants.ts";
import { endPrincipal, leaveGroup, unassign, type Work } from "./cleanup.ts";
import { countedElsewhere } from "../../cloud/leases-elsewhere.ts";
import { namePrefix } from "../../cloud/settings.ts";

const BUDGET = 150n * SECOND;
const UNDO_BUDGET = 28n * SECOND;

export interface PersistenceParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly connections: Connections;
  readonly patiently: Patiently;
  readonly roleStore: RoleStore;
  readonly principals: Principals;
}

export class Persistence {
  readonly #parts: PersistenceParts;

  constructor(parts: PersistenceParts) {
    this.#parts = parts;
  }

  /** Gives warnings. Called by one at a time for each role. */
  async store(
    name: string,
    {
      before,
      role,
      force,
    }: { readonly before: Role; readonly role: Role; readonly force: boolean },
    patience: Patience,
  ): Promise<string[]> {
    const { managed } = before;
    if (role.persistApp && managed === null) return this.#first(name, role, patience);
    if (role.persistApp && managed !== null) return this.#again(name, before, role, patience);
    // The role keeps no application any more.
    await this.checkAbandoned(name, before, force);
    const warnings = await this.#end(before, patience, OWN_WORK);
    await this.#put(name, { ...role, managed: null });
    return warnings;
  }

  /** The application of a role that goes. Throws where it cannot be removed: then the role stays. */
  async remove(role: Role, request: Waiting): Promise<string[]> {
    try {
      return await this.#parts.patiently(BUDGET, (patience) => this.#end(role, patience, request));
    } catch (error) {
      throw errorForCaller(error);
    }
  }

  async #first(name: string, role: Role, patience: Patience): Promise<string[]> {
    const { clock, random, settings } = this.#parts.needs;
    const time = clock.now() / SECOND;
    // The random part keeps apart what two mounts make for roles of one name in one second: whatever
    // bears the name may be removed by it after a crash.
    const displayName = `${namePrefix(settings)}${name}-${time}-${hex(random.bytes(4))}`;
    const order = { displayName, role, withPassword: false };
    const { connections, principals } = this.#parts;
    const connection = await connections.current();
    const { managed, records } = await principals.make(connection, order, patience);
    await this.#put(name, { ...role, managed }, records);
    return [];
  }

  /** Adds what is new, stores, takes away what is no more. */
  async #again(name: string, before: Role, role: Role, patience: Patience): Promise<string[]> {
    const { managed } = before;
    if (managed === null) return [];
    // What was surplus until now may be gone, whether or not somebody has seen it go: it is given again.
    const { wanted: kept } = sorted(before, managed);
    const held = new Set(kept.assignments.map(grantKey));
    const grants = role.grants.filter((grant) => !held.has(grantKey(grant)));
    const wantedGroups = role.groups.map(({ objectId }) => objectId);
    const groupIds = wantedGroups.filter((id) => !kept.groupIds.includes(id));
    const connection = await this.#parts.connections.in(managed.tenantId);
    const work = { connection, patience };
    const added = await this.#add(work, managed, { role: name, grants, groupIds });
    const fresh = new Set(added.assignments.map(grantKey));
    const all: Managed = {
      ...managed,
      assignments: [
        ...managed.assignments.filter((one) => !fresh.has(grantKey(one))),
        ...added.assignments,
      ],
      groupIds: [...new Set([...managed.groupIds, ...groupIds])],
    };
    const next = { ...role, managed: all };
    const note = await this.#put(name, next, added.records);
    const failures = note === null ? [] : await this.#trim(work, name, next, [note]);
    const warnings = failures.map((error) => `${describe(error)}; it will be tried again`);
    if (
      role.signInAudience !== before.signInAudience ||
      String(role.tags) !== String(before.tags)
    ) {
      warnings.push("sign_in_audience and tags hold for applications made from now on");
    }
    return warnings;
  }

  /** What the role does not want any more of what this principal has. Called by one at a time for each
   *  role. Throws where some of it stays. */
  async takeSurplus(work: Work, name: string, principalId: string): Promise<void> {
    const role = await this.#parts.roleStore.find(name);
    if (role?.managed?.principalId !== principalId) return; // it went with its application
    if (isNone(sorted(role, role.managed).surplus)) return;
    const [failure] = await this.#trim(work, name, role, []);
    if (failure !== undefined) throw failure;
  }

  /** Gives what stands in the way of some of it. Without any, these records are settled. */
  async #trim(
    work: Work,
    name: string,
    role: Role,
    records: readonly string[],
  ): Promise<readonly Error[]> {
    if (role.managed === null) return [];
    const { managed, failures } = await takeSurplus(work, role, role.managed);
    await this.#parts.needs.storage.write((tx) => {
      tx.put(roleKey(name), { ...role, managed }, roleCodec);
      if (failures.length === 0) for (const record of records) tx.settle(record);
    });
    return failures;
  }

  /** Notes first; undoes at once what it has added when some of it fails. */
  async #add(
    work: Work,
    { principalId, tenantId: tenant }: Managed,
    more: {
      readonly role: string;
      readonly grants: Role["grants"];
      readonly groupIds: readonly string[];
    },
  ) {
    const { needs, principals, patiently } = this.#parts;
    const { connection, patience } = work;
    const { role, grants, groupIds } = more;
    const records: string[] = [];
    let planned: Managed["assignments"] = [];
    try {
      if (groupIds.length > 0) {
        const note = { principalId, groups: groupIds, role, tenant };
        records.push(await needs.writeAhead.begin("assign", note));
      }
      const noted = (record: string, ids: Managed["assignments"]) => {
        records.push(record);
        planned = ids;
      };
      await principals.assign(connection, { principalId, role, grants, noted }, patience);
      for (const id of groupIds) {
        await patience.step(
          (signal) => connection.groups.addMember(id, principalId, signal),
          memberPasses,
        );
      }
      return { assignments: planned, records };
    } catch (error) {
      const cleared = await this.#tried(() =>
        patiently(UNDO_BUDGET, async (undoing) => {
          const undo = { connection, patience: undoing };
          for (const { id } of planned) await unassign(undo, id);
          for (const id of groupIds) await leaveGroup(undo, id, principalId);
        }),
      );
      const sure = cleared && isHarmless(error);
      if (sure) for (const record of records) await needs.writeAhead.drop(record);
      throw error;
    }
  }

  /** Whether the role may keep no application any more: those who have passwords of it would lose them. */
  async checkAbandoned(name: string, { managed }: Role, force: boolean): Promise<void> {
    if (managed === null) return;
    const { leases } = this.#parts.needs;
    const elsewhere = await countedElsewhere(leases, [leasePlace(name)], { force });
    const count = elsewhere + (await leases.count(leasePlace(name)));
    if (count === 0) return;
    const message = `persist_app cannot be switched off while ${count} leases of the role are live`;
    throw failures.invalid(message);
  }

  async #end(
    { managed, permanentlyDelete }: Role,
    patience: Patience,
    request: Waiting,
  ): Promise<string[]> {
    if (managed === null) return [];
    const { appObjectId, principalId, groupIds } = managed;
    const assignments = managed.assignments.map(({ id }) => id);
    const ending = { appObjectId, principalId, assignments, groupIds, forGood: permanentlyDelete };
    const connection = await this.#parts.connections.in(managed.tenantId);
    return this.#parts.locks.run(`application/${appObjectId}`, request, () =>
      endPrincipal(this.#parts.needs, { connection, patience }, ending),
    );
  }

  async #tried(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof ProviderError || error instanceof Failure)) throw error;
      return false;
    }
  }

  /** Gives the record of what the role does not want of that which it has; null where it wants all. */
  #put(name: string, role: Role, settled: readonly string[] = []): Promise<string | null> {
    const { managed } = role;
    return this.#parts.needs.storage.write((tx) => {
      tx.put(roleKey(name), role, roleCodec);
      for (const record of settled) tx.settle(record);
      if (managed === null || isNone(sorted(role, managed).surplus)) return null;
      const { principalId, tenantId: tenant } = managed;
      return tx.begin("surplus", { role: name, principalId, tenant });
    });
  }
}
