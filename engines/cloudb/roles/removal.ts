// Ends what was made outside: for leases that are over, and for records that a crash or a failure has
// left. cleanup.ts has the single steps.

import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { LeaseFacts, WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { failureOf, ProviderError } from "../../cloud/provider-error.ts";
import type { CloudB } from "../engine.ts";
import { removeNamedPassword } from "./named-password.ts";
import { textIn, textsIn } from "../provider/provider-answer.ts";
import {
  deleteApplication,
  deleteNamed,
  deleteObject,
  leaveGroup,
  type Rights,
  takeRights,
  unassign,
  type Work,
} from "./cleanup.ts";

/** A principal that ends. */
export interface Ending extends Rights {
  readonly appObjectId: string;
  /** Whether it could not be restored afterwards. */
  readonly forGood: boolean;
}

interface Kept {
  readonly kind: "assign" | "deletedItem";
  readonly data: JsonObject;
  readonly ids: readonly string[];
}

const JOB = 170n * SECOND; // within those 180 that the server gives
const UNDO = 55n * SECOND; // within the minute that a tick gives
const ENOUGH_FAILURES = 2; // then the application goes first
// A job that is throttled a seventh time in one step goes back to the queue, which then asks for fewer at once.
const TRIES = { throttled: 6, faults: 2 };

export class Removal {
  readonly #engine: CloudB;

  constructor(engine: CloudB) {
    this.#engine = engine;
  }

  // --- leases ---

  async revokePrincipal({ internal }: LeaseFacts, signal: AbortSignal): Promise<void> {
    const ending: Ending = {
      appObjectId: neededIn(internal, "app_object_id"),
      principalId: textIn(internal, "sp_object_id"),
      assignments: textsIn(internal, "role_assignment_ids"),
      groupIds: textsIn(internal, "group_ids"),
      forGood: internal["permanently_delete"] === true,
    };
    const tenant = textIn(internal, "tenant_id");
    return this.#job({ within: JOB, tenant, signal }, async (work) => {
      await this.principal(work, ending);
    });
  }

  async revokePassword({ internal }: LeaseFacts, signal: AbortSignal): Promise<void> {
    const id = neededIn(internal, "app_object_id");
    const keyId = neededIn(internal, "key_id");
    const tenant = textIn(internal, "tenant_id");
    return this.#engine.locks.run(`application/${id}`, () =>
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
    const { locks, roles } = this.#engine;
    return locks.run(`role/${name}`, () =>
      this.#undo(data, signal, async (work) => {
        const managed = name === "" ? null : ((await roles.find(name))?.managed ?? null);
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
    const { locks, persistence } = this.#engine;
    return locks.run(`role/${name}`, () =>
      this.#undo(data, signal, (work) =>
        persistence.takeSurplus(work, name, textIn(data, "principalId")),
      ),
    );
  }

  undoPassword({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const id = textIn(data, "appObjectId");
    const named = { id, displayName: textIn(data, "displayName"), kept: [textIn(data, "except")] };
    return this.#engine.locks.run(`application/${id}`, () =>
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

  // --- a principal, for leases and for roles ---

  /** Assignments, memberships, the principal, the application. Only the last must succeed: with it the
   *  secret is dead. Of the others that cannot be removed a record stays, and a warning is given. */
  async principal(work: Work, ending: Ending): Promise<string[]> {
    const { appObjectId, principalId, forGood } = ending;
    const first = await takeRights(work, ending, ENOUGH_FAILURES);
    const kept: Kept[] = [];
    let later: ProviderError | null = null;
    try {
      await deleteObject(work, "principal", principalId, forGood);
    } catch (error) {
      if (!(error instanceof ProviderError || error instanceof Failure)) throw error;
      if (error instanceof ProviderError && error.kind === "throttled") later = error;
      // It ends with its application anyhow; what is left of it could still be restored.
      const data = { id: principalId };
      if (forGood) kept.push({ kind: "deletedItem", data, ids: [principalId] });
    }
    await deleteObject(work, "application", appObjectId, forGood);
    const left = await takeRights(work, first, 1);
    if (left.failure?.kind === "throttled") later ??= left.failure;
    if (later !== null) throw later; // the secret is dead, and the rest is quick the next time
    const assignments = [...left.assignments];
    const data = { principalId, assignments };
    if (assignments.length > 0) kept.push({ kind: "assign", data, ids: assignments });
    const tenant = work.connection.effective.tenantId;
    for (const one of kept)
      await this.#keep({ ...one, data: { ...one.data, tenant } }, left.failure);
    const ids = kept.flatMap((one) => one.ids);
    return ids.map((id) => `${id} could not be removed yet; it will be tried again`);
  }

  // --- inside ---

  /** Also for a mount that is being disabled: its operator sees the orphan, and decides. */
  async #keep({ kind, data }: Kept, failure: ProviderError | null): Promise<void> {
    const { writeAhead, log } = this.#engine.given;
    await writeAhead.orphan(kind, data, failure?.message ?? "it could not be removed");
    log.warn("a lease has ended, but something of it could not be removed yet", { kind });
  }

  #undo(data: JsonObject, signal: AbortSignal, work: (work: Work) => Promise<void>): Promise<void> {
    return this.#job({ within: UNDO, tenant: textIn(data, "tenant"), signal }, work);
  }

  async #job(
    job: { readonly within: Nanos; readonly tenant: string; readonly signal: AbortSignal },
    work: (work: Work) => Promise<void>,
  ): Promise<void> {
    const { within, tenant, signal } = job;
    const connection = await this.#engine.connections.in(tenant);
    const patience = this.#engine.patience(within, { stop: [signal], ...TRIES });
    try {
      await work({ connection, patience });
    } catch (error) {
      throw error instanceof ProviderError ? failureOf(error) : error;
    } finally {
      patience.done();
    }
  }
}

/** Without it nothing can ever be revoked: there is no point in trying again. */
function neededIn(internal: JsonObject, name: string): string {
  const found = textIn(internal, name);
  if (found === "") throw new PermanentFailure(`the lease does not say its ${name}`);
  return found;
}
