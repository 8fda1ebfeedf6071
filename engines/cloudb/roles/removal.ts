// Ends what was made outside: for leases that are over, and for records that a crash or a failure has
// left. cleanup.ts has the single steps.

import { OWN_WORK } from "@holdfast/shared/waiting";
import { SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type {
  EngineNeeds,
  LeaseFacts,
  Revoked,
  WriteAheadRecord,
} from "@holdfast/plugin-sdk/engine";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { failureOf, ProviderError } from "../../cloud/provider-error.ts";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import type { Connections } from "../provider/connection.ts";
import type { Patiently } from "../provider/patience.ts";
import type { Persistence } from "./persistence.ts";
import type { RoleStore } from "./role-store.ts";
import { removeNamedPassword } from "./named-password.ts";
import { textIn, textsIn } from "../provider/provider-answer.ts";
import {
  deleteApplication,
  deleteNamed,
  type Ending,
  endPrincipal,
  leaveGroup,
  unassign,
  type Work,
} from "./cleanup.ts";

const JOB = 170n * SECOND; // within those 180 that the server gives
const UNDO = 55n * SECOND; // within the minute that a tick gives
// A job that is throttled a seventh time in one step goes back to the queue, which then asks for fewer at once.
const TRIES = { throttled: 6, faults: 2 };

export interface RemovalParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly connections: Connections;
  readonly patiently: Patiently;
  readonly roleStore: RoleStore;
  readonly persistence: Persistence;
}

export class Removal {
  readonly #parts: RemovalParts;

  constructor(parts: RemovalParts) {
    this.#parts = parts;
  }

  // --- leases ---

  async revokePrincipal({ internal }: LeaseFacts, signal: AbortSignal): Promise<Revoked> {
    const ending: Ending = {
      appObjectId: neededIn(internal, "app_object_id"),
      principalId: textIn(internal, "sp_object_id"),
      assignments: textsIn(internal, "role_assignment_ids"),
      groupIds: textsIn(internal, "group_ids"),
      forGood: internal["permanently_delete"] === true,
    };
    const tenant = textIn(internal, "tenant_id");
    return this.#job({ within: JOB, tenant, signal }, async (work) => {
      await endPrincipal(this.#parts.needs, work, ending);
    });
  }

  async revokePassword({ internal }: LeaseFacts, signal: AbortSignal): Promise<Revoked> {
    const id = neededIn(internal, "app_object_id");
    const keyId = neededIn(internal, "key_id");
    const tenant = textIn(internal, "tenant_id");
    return this.#parts.locks.run(`application/${id}`, OWN_WORK, () =>
      this.#job({ within: JOB, tenant, signal }, ({ connection: { graph }, patience }) =>
        patience.step((limit) => graph.removePassword("applications", id, keyId, limit)),
      ),
    );
  }

  // --- records ---

  /** By its id where that is known, and by its name: a lost answer may have left a second one. */
  undoApplication({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const id = textIn(data, "appObjectId");
    const displayName = textIn(data, "displayName");
    return this.#undo(data, signal, async (work) => {
      if (id !== "") await deleteApplication(work, { id });
      if (id !== "" && displayName === "") return;
      await deleteNamed(work, displayName, textIn(data, "except"));
    });
  }

  /** A later write of the role may have given the same again, and it stays: assignments have the same id
   *  then, and memberships none at all. */
  undoAssignments({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const principalId = textIn(data, "principalId");
    const name = textIn(data, "role");
    const { locks, roleStore } = this.#parts;
    return locks.run(`role/${name}`, OWN_WORK, () =>
      this.#undo(data, signal, async (work) => {
        const managed = name === "" ? null : ((await roleStore.find(name))?.managed ?? null);
        const held = managed?.principalId === principalId ? managed : null;
        const kept = new Set(held?.assignments.map(({ id }) => id.toLowerCase()));
        for (const id of textsIn(data, "assignments")) {
          if (!kept.has(id.toLowerCase())) await unassign(work, id);
        }
        for (const id of textsIn(data, "groups")) {
          if (held?.groupIds.includes(id) !== true) await leaveGroup(work, id, principalId);
        }
      }),
    );
  }

  /** Whatever that is by now. */
  undoSurplus({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const name = textIn(data, "role");
    const { locks, persistence } = this.#parts;
    return locks.run(`role/${name}`, OWN_WORK, () =>
      this.#undo(data, signal, (work) =>
        persistence.takeSurplus(work, name, textIn(data, "principalId")),
      ),
    );
  }

  undoPassword({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const id = textIn(data, "appObjectId");
    const named = { id, displayName: textIn(data, "displayName"), kept: [textIn(data, "except")] };
    return this.#parts.locks.run(`application/${id}`, OWN_WORK, () =>
      this.#undo(data, signal, ({ connection: { graph }, patience }) =>
        patience.step((limit) => removeNamedPassword(graph, named, limit)),
      ),
    );
  }

  undoDeletedItem({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    return this.#undo(data, signal, async ({ connection: { graph }, patience }) => {
      await patience.step((limit) => graph.deleteForGood(textIn(data, "id"), limit));
    });
  }

  // --- inside ---

  async #undo(
    data: JsonObject,
    signal: AbortSignal,
    work: (work: Work) => Promise<void>,
  ): Promise<void> {
    await this.#job({ within: UNDO, tenant: textIn(data, "tenant"), signal }, work);
  }

  async #job(
    job: { readonly within: Nanos; readonly tenant: string; readonly signal: AbortSignal },
    work: (work: Work) => Promise<unknown>,
  ): Promise<Revoked> {
    const { within, tenant, signal } = job;
    const { connections, patiently } = this.#parts;
    const connection = await connections.in(tenant);
    const options = { stop: [signal], ...TRIES };
    try {
      return await patiently(
        within,
        async (patience) => {
          const ids = connection.noting(patience.signal);
          await work({ connection, patience });
          return { requestIds: ids.last };
        },
        options,
      );
    } catch (error) {
      throw error instanceof ProviderError ? failureOf(error) : error;
    }
  }
}

/** Without it nothing can ever be revoked: there is no point in trying again. */
function neededIn(internal: JsonObject, name: string): string {
  const found = textIn(internal, name);
  if (found === "") throw new PermanentFailure(`the lease does not say its ${name}`);
  return found;
}
